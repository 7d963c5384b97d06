// Package schema knows the formats inside internal topics: keys and values of
// the records of __consumer_offsets, byte for byte as Apache Kafka writes
// them, the subscriptions and assignments that members of a consumer group
// hand to each other, and the records of Rota's own catalog.
//
// It turns bytes into values and back and decides nothing: what a record means
// for a group is package group's affair, and which topics exist is package
// catalog's. Decoding never panics and never reserves more memory than the
// input has bytes to fill; what cannot be decoded is an ErrMalformed that says
// where. Decoded values share no memory with the input.
//
// Encoders append to the slice they are given. Their strings are at most
// MaxString bytes long; a longer one is a bug of the caller.
//
// Start reading at key.go.
package schema
