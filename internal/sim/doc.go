// Package sim proves the coordinator by simulation: shards with their groups,
// a log for each, and members, committers and administrators that talk to them
// over connections that break, all in one goroutine and driven by a seed.
//
// It is exact: a World moves by Events, and an Event is a value that says all
// there is to know about it ("the broker reads from B's connection", "shard 1's
// oldest append fails", "3.2s pass"). A seed chooses the Events, and the same
// Events have the same effects, down to the last byte. So every failure is a
// list of Events, which can be cut down to the few that matter, written to a
// file, and played again.
//
// What is real: coordinator.Shard, group.Group, and for the members
// client.Machine, the code that a client library runs. What is played: the
// network, the log, time, and the people who press buttons.
//
// # What is checked
//
// A probe sits between each shard and each group and sees every call; the
// checks do not rely on what the shard or the group says of itself. After every
// step:
//
//   - A request is answered once, or its connection is gone.
//   - A reply leaves only when the records that it depends on are durable;
//     which ones is worked out from the log.
//   - All members of a generation are told the same leader and protocol, the
//     leader is told a list that has them all, and no member id hears of the
//     same generation twice with other members.
//   - A partition has at most one owner in a generation.
//   - Nobody's session runs out before its time, or while it waits for us.
//   - No two members own a partition at the same time, as rota/member keeps
//     ownership, if they are all of its kind; and whoever is given up owns
//     nothing any more.
//   - A fetched offset is the last that was committed, to the number.
//   - A shard holds no more requests than are open, and no group that is gone.
//
// At times a fresh shard reads the log, and must know what the serving one
// knows. At the end the faults stop, and every group must become Stable with
// all its members agreeing.
//
// A TxnWorld is a world of its own, for transactions: see there.
//
// # Where to start reading
//
// world.go has the World and its Events, choose.go the seed's choices, probe.go
// and check.go what is checked, settle.go the end. shrink.go cuts a failure
// down, and story.go writes it as a scenario. For transactions: txn_world.go has
// the world, txn_mover.go those who use it, txn_broker.go the way of a request,
// txn_fault.go what goes wrong, txn_check.go and txn_history.go what is checked.
package sim
