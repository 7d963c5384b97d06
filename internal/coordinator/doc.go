// Package coordinator runs pure state machines over the logs of internal topics:
// consumer groups over __consumer_offsets, transactional ids over
// __transaction_state.
//
// It owns the shards: one for each partition of such a topic, each with the
// machines whose ids hash to it. It knows no rule of the protocols (packages group
// and txn do) and no file (package storage does). What it decides is when
// things may happen: which answer waits for which batch, what a failed append
// means, who is evicted when the broker itself was late. It also brings the
// markers of a decided transaction to its partitions.
//
// # Two halves
//
// A Shard decides and does nothing: it takes requests, outcomes of appends and
// the time, and says what to append, whom to answer and when to wake it. It
// has no goroutine, lock or clock, so a simulator can drive it through any
// order of events, and the same events have the same outcome.
//
// A runner drives one Shard. It has no goroutine of its own either: whoever
// brings an input runs the shard for one turn, if nobody else is at it; what
// has piled up meanwhile is left to a goroutine that ends when nothing is
// left. An idle shard costs memory only, a lone request never changes hands,
// and under load the requests of a turn share one batch of the log.
//
// # The life of a commit
//
//	Submit -> queue -> turn: Step -> records into the open batch
//	                         end of the turn: Append, not waited for
//	store: durable -> complete -> Completed -> the answer leaves
//
// # Invariants
//
//   - Every request is answered once, and every answer that names a batch
//     after that batch is durable, in the order of the log.
//   - A shard is the only writer of its partition and knows every offset it
//     will be given; one that is given another ends.
//   - There is no undo: after a failed append or a panic the shard ends, what
//     is open is answered with NOT_COORDINATOR, and the machines are read anew
//     from the log under the next leader epoch.
//
// Start reading at shard.go, then flight.go, end.go, run.go, lifecycle.go; for
// transactions at transactions.go, then markers.go, mark.go.
package coordinator
