// Package api turns Kafka's requests into calls of the broker and of the group
// coordinator, and their answers into responses: one file for each API, named
// by its key.
//
// The folder listing is the table of what is served. Each file opens with the
// versions it serves, what each of them added, and what is not done; a test
// compares these headers with Table, and docs/PROTOCOL.md is made from both.
//
// A handler never reads from or writes to a connection: it gets a decoded
// request in a Call and answers it, at once or later. It decides no protocol
// rule: those of groups are package group's, those of logs package broker's. Faults
// become error codes in one place, errors.go.
//
// Start reading at call.go and table.go, then 12_heartbeat.go, the shortest
// one, and 00_produce.go.
package api
