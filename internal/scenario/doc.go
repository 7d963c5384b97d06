// Package scenario runs conversations with consumer groups that are written
// down in text files.
//
// A scenario is a list of things that clients, the clock and the disk do, each
// followed by what a correct broker does about it. The same file plays in two
// ways:
//
//   - [Run] plays it against the pure rules of package group, in no time at
//     all, with a fake log under them and a small faithful shell around them:
//     it assigns tickets, holds each reply until the batch it depends on is
//     durable, and when the file is done replays the log into new groups and
//     compares. So every scenario is a recovery test as well.
//   - [Play] plays it over TCP against any broker that speaks the Kafka
//     protocol, with a connection for each client and real time.
//
// The language is described in internal/group/testdata/README.md, next to the
// files. In one breath: "A -> join session=10s" is a request, "A <- join
// generation=1" the reply that is expected, "log <- ..." a batch that is
// appended, "+5s" lets time pass, "@ 3s" is the time of something that happened
// meanwhile, "= Stable generation=1" is the state of the group, "! ..." an event
// for its history, and the other lines are commands such as "reload".
//
// The package never decides what is right: it prints what happened in the
// words of the file, and the file says what should have.
//
// Start reading at line.go (what a file is), then core.go (the shell in small).
package scenario
