// Package storage keeps partition logs.
//
// A Store owns every partition log of a broker and the one append path they
// share: a batch gets its offset, goes into the journal (one ordered, durable
// stream for all partitions), is kept in a tail in memory for consumers that
// keep up, and is later moved in bulk into its partition's segments, after
// which the journal is trimmed. Where the bytes live is the Medium's affair.
//
// The package decides offsets, producer state, visibility (high watermark and
// last stable offset), waiters, retention and compaction. It never opens a
// file and knows no topic names, groups, or requests.
//
// # Answers
//
// An append is answered when its batch is durable (DurableAck), when it is in
// the journal (WrittenAck), or never. Answers of one partition come in offset
// order. Readers see up to the durable end.
//
// # Failure
//
// One failed flush fails every append that is not yet durable, in order. Each
// partition falls back to its durable end before any waiter hears of it, the
// leader epoch rises, and service goes on in a new journal file, if it can.
//
// Start reading at store.go, then log.go, then flush.go.
package storage
