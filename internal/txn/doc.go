// Package txn decides what happens to a transactional id.
//
// It holds the rules of Kafka's transaction coordinator (KIP-98, 360, 588, 664,
// 890) and nothing else: values in, values out. See package machine for the
// way it is driven, and package group for its sister.
//
// A Producer is one transactional id: the producer that holds it now, known by
// producer id and epoch, and the transaction that it has open, known by the
// partitions that were added to it.
//
// # States
//
//	        add partitions            end (commit)                 all markers are written
//	Empty ------------------> Ongoing ------------> PrepareCommit ------------------------> CompleteCommit
//	  ^                        |  ^  \                                                          |
//	  |                        |  |   \ end (abort), fence, time out                            |
//	  |                        |  |    +-----------> PrepareAbort ------------------------> CompleteAbort
//	  |                     add partitions                                                      |  |
//	  |                           +------------------------------ add partitions ---------------+  |
//	  +---------------------------------------------------------- init producer id -----------------+
//
// The one step that counts is that into PrepareCommit or PrepareAbort: once its
// record is durable the outcome is decided, whatever breaks. The shell is then
// told to write markers, the same again after a restart, until every partition
// has its own. Nothing of a transaction is visible to readers of committed data
// before that, and no marker leaves before the decision is durable.
//
// # Fencing
//
// A producer id and epoch are good for one holder of the transactional id. A
// new holder gets a higher epoch, after the transaction of the old one was
// aborted with that higher epoch in its markers: partitions refuse what the old
// one still sends. With Version2 every end raises the epoch as well, so that a
// late batch of one transaction cannot land in the next one.
//
// # Waiting
//
// A request that has come while markers are being written waits for them, for
// Config.Wait at most and no longer than its client does, before it is answered with CONCURRENT_TRANSACTIONS. A
// producer that begins its next transaction right behind the last one does not
// have to come back.
//
// # Where to start reading
//
// Start with the conversations of testdata, then end.go, which has the one
// decision. Each request has a file of its own: init.go, add.go, end.go,
// describe.go, expire.go; complete.go is what follows when markers are
// written, apply.go what the log remembers, load.go how it comes back.
package txn
