// Package disk is the medium of a broker with a disk of its own: a journal, a
// set of segments per partition and one manifest per partition, in a data
// folder of a vfs.FS. It implements storage.Medium.
//
// It owns every byte in the data folder and the order in which bytes become
// durable. It decides no offsets, knows no topic names and never repairs
// anything in silence: only the journal's torn tail is cut, and reported.
//
// The formats are docs/format/{folder,journal,segment,manifest}.md; read
// journal.md first.
//
// # How it is driven
//
// By the store above: Recover once, then Flush, Reopen and Trim from one
// goroutine at a time, Settle and Remove from one at a time, Read and Seek
// from any. Flush writes, syncs and answers before it returns. With interval
// durability there is one goroutine here, which syncs the journal.
//
// # Invariants
//
//   - A flush begins only when the last one is durable, or has failed, or
//     (interval, never) is with the operating system.
//   - A file whose write or sync failed is never written or synced again by the
//     process that has seen it. What is acknowledged in it and not synced is
//     carried on by the next one (interval, never).
//   - A manifest counts only when the bytes that it covers are durable.
//   - The journal gives up a flush only when manifests cover it.
//
// Start reading at disk.go, then journal.go, replay.go and settle.go.
package disk
