// Package display makes text that strangers chose safe to show: group and
// client ids, reasons that members give, topic names of other brokers, keys
// and values of records.
//
// Such text may hold terminal commands, characters that turn the reading
// direction around, line breaks that fake a line of output, and may be as long
// as a request allows. Text shows all of it as visible ASCII escapes, One
// bounds its length as well, and JSON does the same inside of JSON strings
// without changing what a parser reads. Nothing is lost: an escape can be read
// back, since a backslash is escaped too.
//
// The package never writes anything. Start with text.go.
package display
