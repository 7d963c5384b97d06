// Package storagetest is for testing storage: media that live in memory, the
// suite that every medium passes, and the walk that crashes a store after
// every call to the file system.
//
// Memory is the simplest medium, with faults on demand. Cloud is Memory behind
// a long wire: a latency of 250 ms, three flushes in flight, failures and
// unknown outcomes from a seed. Gate holds the flushes of any medium back.
//
// Ledger keeps what a workload was promised and compares it with what a store
// holds: every acknowledged record, in order, once.
//
// The tests run in synctest bubbles: time passes only when everybody waits.
//
// Start reading at suite.go.
package storagetest
