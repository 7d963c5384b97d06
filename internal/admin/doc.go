// Package admin is what an operator asks of a Kafka cluster, Rota or any
// other, through the protocol: topics and their settings, groups, offsets, lag,
// and the events that tell why groups rebalanced.
//
// It answers with values that print as JSON; each field of them has its
// description in a doc tag, from which docs/CLI.md is made. It never prints and
// never decides how something is shown: that is package cli. What a cluster
// does not offer is left out of the answer, and said in a Missing list.
//
// A Cluster is safe for use by several goroutines. Start with cluster.go.
package admin
