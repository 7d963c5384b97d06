// Package machine is the vocabulary that pure state machines share with the
// shell that runs them: what they are told (the time, a request, an entry of
// their log) and what they answer (records to append, replies to send, events
// to publish).
//
// A machine never acts. Given the same calls in the same order it returns the
// same values, byte for byte. The shell appends the records first and sends
// each reply only once the batch that it names is durable.
//
// Package group is such a machine for each consumer group, package txn for each
// transactional id; package coordinator is the shell.
package machine
