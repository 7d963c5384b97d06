// Package stories provokes every kind of rebalance with real clients and has
// rota explain tell what happened. Each story is a test of what the command
// says as JSON, and a section of docs/explain.md, which is made by running them:
//
//	go test ./stories -run Page -update
//
// The clients are franz-go over TCP. The broker is package rotatest's, whose
// clock moves on demand, so that sessions of 45 seconds cost no time.
//
// The tales are in tales_test.go and the files after it, what they are told
// with in world_test.go and member_test.go, the page in page_test.go.
package stories
