// Package story turns the events of a consumer group into what a reader wants
// to know: why it rebalanced, who caused it, how long each phase took, who was
// waited for, what moved, and what to do about it.
//
// It owns the schema of the records of the topic __group_events
// (docs/format/group-events.md) and everything that is computed from them. It
// never reads a clock, a network or a file: events are values, and the same
// events tell the same story in the command line, on the web page and in tests.
//
// # How it is driven
//
//   - Parse and Event.AppendJSON go between records and Events.
//   - Compare says what an assignment changed, from two group records.
//   - Fold makes Rebalances from the events of one group, Causes counts them,
//     Advise looks for what keeps coming back, each finding with its evidence.
//   - Rebalance.Sentences, Event.Sentence and Advice.String say it in plain words.
//
// Everything that comes from clients (ids, reasons) is kept as it was sent,
// cut to a bound. It is made harmless for terminals where it becomes a
// sentence, by Quote; a page must escape it as it does any text.
//
// Start reading at event.go, then fold.go.
package story
