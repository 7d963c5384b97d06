// Package client is the consumer's side of the classic group protocol: what a
// member of a group does, and in which order.
//
// It owns the rules and nothing else: no connection, clock, goroutine or lock.
// A Machine is told what happened (the application polls, a response arrived,
// a connection broke, time has passed, a callback has returned) and says what
// to do (requests to send, callbacks to run, results of commits, errors to
// throw from the poll). The same inputs in the same order have the same
// outputs. The simulator drives thousands of Machines in one goroutine; a
// client library drives one with a socket and a timer.
//
// # Driving a machine
//
//   - Call Subscribe and Metadata, then Poll for as long as the application
//     polls: it moves the machine as far as it can go. A poll that blocks calls
//     it again after every other input.
//   - Call Answer for each response, Disconnected when a connection ends, Tick
//     at the latest at Deadline, Done when a callback has returned.
//   - After every call do what Take returns, in order.
//
// Poll is the application's thread, Tick is the heartbeat thread: rebalances
// begin and end in the first only, heartbeats and timeouts are found by the
// second.
//
// # Rules
//
// A rebalance runs through three states. Whatever fails on the way, its
// callbacks run once:
//
//	Unjoined --JoinGroup--> Preparing --answer, SyncGroup--> Completing --answer--> Stable
//	   ^                                                                              |
//	   +------- the id or the generation is lost: partitions are lost too ------------+
//
// Eager members give up all partitions before they join, cooperative ones
// (KIP-429) only what the new assignment takes away, after it.
//
// Start reading at machine.go, then join.go and rebalance.go.
package client
