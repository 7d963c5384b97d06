// Package cli is the part of the rota command that talks to a Kafka cluster,
// Rota or any other: topics, records, groups, and why groups rebalanced.
//
// Each command is a struct whose fields are its flags and whose Run does it. It
// asks package admin, and shows what that says as text or, with --json, as a
// documented value (docs/CLI.md, made from the doc tags). Names and other text
// from the cluster go through package display before they reach a terminal.
// Errors are one line, with a hint what to do about it where there is one:
// HintError and MisuseError tell the main package how the program ends.
//
// Start with cli.go; there is a file for each command.
package cli
