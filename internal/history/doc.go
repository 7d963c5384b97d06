// Package history keeps the story of every group: it takes the events of the
// coordinator, writes them to the topic __group_events, keeps the recent ones
// in memory, and counts them.
//
// It never holds up whom it hears from: Take puts events into a bounded queue,
// and what does not fit is dropped and counted. One goroutine does the rest; it
// sleeps while nothing happens. An event is seen by readers of this process a
// few milliseconds after it happened, and is durable some time after that: what
// happened in the last moments before a crash may be missing from the topic.
//
// What the topic held when the broker started is read when somebody first asks
// for it, so that a start costs nothing.
//
// Invariants:
//
//   - the events of a group are in the order in which they happened, in the
//     topic, in the index and for watchers;
//   - memory is bounded, whatever happens: by the queue, by the appends in
//     flight, and by the index, which forgets the oldest events.
//
// Start reading at history.go, then translate.go.
package history
