// Package bank has movers that carry money between accounts in transactions,
// and kills them and their broker while they do.
//
// Every mover keeps four accounts, two in a compacted topic and two in a plain
// one, and works off the orders of one partition of a third topic: it reads an
// order, writes the new balances of the two accounts and commits how far it has
// read, all in one transaction. Now and then it first does the same with wrong
// balances and aborts. Movers are processes of their own, half of them with
// each of the two protocols (transaction.version 1 and 2). They are killed, or
// stopped while an heir with their transactional ids begins, and let go on
// then: zombies, whose balances are out of date.
//
// A record of an account says how many orders its mover had worked off, and at
// which order each of the four accounts was written last. So a reader knows when
// what it has read of a mover is whole, wherever compaction has been and in
// whatever order it reads partitions; whenever that is so, it wants the total
// that was there in the beginning, and the very balances that the orders come
// to if each is carried out once.
//
// BANK=full runs 20 kills of the broker and 12,000 transfers, `make bank`.
package bank
