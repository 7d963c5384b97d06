// Package catalog keeps what a broker knows about itself: topics and their
// configuration, dynamic broker settings, the cluster id, and which producer
// ids have been given out.
//
// All of it is records of one internal compacted log (package schema has their
// format, docs/format/catalog.md every byte), and a View is what they add up
// to. A View never changes: readers take the newest one from an atomic
// pointer and wait for nobody. Changes are made one at a time: check against
// the newest View, append, wait until the record is durable, publish the next
// View. What was not made durable was never seen, so a failed append leaves
// nothing to undo.
//
// The package also has the table of topic settings: which there are, what they
// may be, and what they mean for a log. It knows nothing of requests, and
// makes, opens and deletes no partition logs: package broker does, in the
// order that Create, BeginDelete and EndDelete allow.
//
// Start reading at catalog.go, then view.go and changes.go.
package catalog
