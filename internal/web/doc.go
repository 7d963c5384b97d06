// Package web serves the web page of a broker, its JSON API, /metrics and the
// probes.
//
// It only reads: no request changes anything. Pages are complete without
// JavaScript; with it they are kept up to date by server-sent events, each of
// which carries the page's main part as it is now (live.go). What comes from
// clients (ids, reasons, metadata) is text to html/template and nothing else, and the
// Content-Security-Policy lets no script, style or address in that is not
// embedded here.
//
// How it is driven: Start serves a listener until Close. Start reading at web.go,
// then pages.go; what is shown is collected by package survey.
package web
