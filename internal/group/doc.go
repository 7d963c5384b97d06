// Package group decides what happens in a consumer group.
//
// It holds the rules of the Kafka group protocols and nothing else: it never
// reads a clock, starts a goroutine, takes a lock, or touches a network or a
// disk. Time comes in as an argument, identity comes in with the request, and
// everything the outside world must do comes back as a value. Given the same
// calls in the same order, a Group returns the same values, byte for byte.
//
// # Driving a group
//
// Three calls move a Group:
//
//   - Step takes one request and returns the Effects it has.
//   - Tick takes the time and returns the Effects of the deadlines it passed.
//   - Apply takes one entry of the group log and returns nothing but an error
//     for an entry that no group can have written.
//
// Effects hold records to append, replies to send and events to publish. The
// caller appends the records first and sends each reply only once the batch it
// names is durable; a reply that overtakes its record tells a member something
// a restart will deny. Replies to heartbeats and at the end of a join phase
// depend on nothing that is written.
//
// Step and Tick change what a restart must remember only by emitting a record
// and folding it in as Apply does. Recovery is therefore the same fold: reading
// the log back yields the group that wrote it, less its open requests, its
// deadlines, and a rebalance that was under way.
//
// If an append fails, the caller throws the Group away and rebuilds it from
// the log. There is no undo, and so none to get wrong. What must be refused, as
// a record that is too large, is refused before it is emitted.
//
// # Sessions
//
// A member that sends nothing for the length of its session is removed. The
// session does not run while the member waits for an answer: while a request of
// it is parked, and from the moment a reply is emitted until the caller says
// with Released that it has left (for the replies that ask for it). A slow disk
// evicts nobody.
//
// # States
//
//	Empty ---join---> PreparingRebalance ---everyone in, or time out---> CompletingRebalance
//	  ^                   ^        ^                                        |
//	  |                   |        +--------join, leave, silence------------+
//	  |                   |                                                 |
//	  +--last one leaves--+---------join, leave, silence---- Stable <--sync-+
//
// Each state's constant says which requests it answers, which it parks, and
// what moves it on. The wire names of the states are the ones Kafka uses,
// because operators read them in other tools.
//
// # Where to start reading
//
// Start with a scenario of testdata, which shows the protocol as a
// conversation; then rebalance.go, which has one function for each arrow in
// it. Each request has a file of its own (join.go, sync.go, heartbeat.go,
// leave.go, offsets_*.go, describe.go); apply.go is what the log remembers,
// load.go how a group comes back from it.
package group
