package history

import (
	"errors"
	"slices"
	"sync"
	"time"

	"rota/internal/record"
	"rota/internal/storage"
	"rota/internal/story"
)

const (
	// loadSince is how far back a load goes. It reads as many bytes of the topic
	// at most as events may take in memory, where they take more: the newest part.
	loadSince = 24 * time.Hour
	readBytes = 1 << 20
)

// Events returns the recent events of a group, the oldest first, as far as
// they are kept in memory: of what the topic held at the start the last 24 hours,
// 2,000 events at most, and fewer if Config.MaxBytes does not suffice. The list must
// not be changed.
func (h *History) Events(group string) []story.Event {
	h.Load()
	h.indexMu.Lock()
	defer h.indexMu.Unlock()
	return h.index.of(group)
}

// Forgotten returns the time, in milliseconds of Unix time, of the newest event
// of a group that may be missing in Events though it happened in the last 24
// hours, because Config.MaxBytes did not suffice; 0 if none is.
func (h *History) Forgotten(group string) int64 {
	h.Load()
	h.indexMu.Lock()
	defer h.indexMu.Unlock()
	if at := h.index.forgottenOf(group); at > h.config.Now().Add(-loadSince).UnixMilli() {
		return at
	}
	return 0
}

// Rebalances returns the recent rebalances of a group, the oldest first; the
// last may be running. The list is the caller's, what it refers to must not be
// changed.
func (h *History) Rebalances(group string) []story.Rebalance {
	return story.Fold(h.Events(group))
}

// Watch calls f with each event from now on, on the goroutine that deals with
// all events: f must not block, and must not change the event nor keep the
// pointer. It may still be called while stop runs.
func (h *History) Watch(f func(*story.Event)) (stop func()) {
	w := &watcher{f}
	h.indexMu.Lock()
	h.watchers = append(h.watchers, w)
	h.indexMu.Unlock()
	return func() {
		h.indexMu.Lock()
		h.watchers = slices.DeleteFunc(h.watchers, func(o *watcher) bool { return o == w })
		h.indexMu.Unlock()
	}
}

type watcher struct{ f func(*story.Event) }

// publish makes events known to readers of this process.
func (h *History) publish(list []told) {
	h.indexMu.Lock()
	for i := range list {
		t := &list[i]
		h.index.add(t.group, &t.event)
		h.counters.count(t.group, &t.event)
	}
	watchers := slices.Clone(h.watchers)
	h.indexMu.Unlock()
	for _, w := range watchers {
		for i := range list {
			w.f(&list[i].event)
		}
	}
}

// loadTries is how often a load begins anew that the system refuses something.
// After the last one what could be read has to do.
const loadTries = 3

// loading is how far the load of the topic has come.
type loading struct {
	mu      sync.Mutex
	over    bool
	tries   int
	retryAt time.Time // not before
}

// Load reads what the topic held when the broker started, the first time it is
// called. Whoever asks for events calls it; a server of pages may do so ahead.
// If the system refuses something a later call tries again.
func (h *History) Load() {
	l := &h.loading
	l.mu.Lock()
	defer l.mu.Unlock()
	now := h.config.Now()
	if l.over || now.Before(l.retryAt) {
		return
	}
	old := newIndex(h.config.MaxBytes)
	if h.end > 0 {
		if err := h.readTopic(old); err != nil && l.tries < loadTries-1 {
			l.tries++
			l.retryAt = now.Add(retryAfter)
			h.config.Log.Warn("earlier group events are not loaded", "err", err)
			return
		}
	}
	l.over = true
	h.indexMu.Lock()
	defer h.indexMu.Unlock()
	old.addAll(h.index)
	h.index = old
}

// readTopic adds the events of the topic up to its end at the start. Of what is
// damaged, and of all behind it, nothing is added: it is history. The error is
// one that may not come again.
func (h *History) readTopic(to *index) error {
	log := h.config.Existing()
	if log == nil {
		return nil
	}
	from, ok, err := log.FirstSince(h.config.Now().Add(-loadSince).UnixMilli(), false)
	if err != nil || !ok {
		return unlessDamage(err)
	}
	at := from.Offset
	// The newest part: about as many records as bytes allow.
	if n, err := log.Available(at, false); err == nil && n > int64(h.config.MaxBytes) && h.end > at {
		at += int64(float64(h.end-at) * (1 - float64(h.config.MaxBytes)/float64(n)))
	}
	skipped := at > from.Offset
	var buf []byte
	codec := new(record.Codec)
	for at < h.end {
		batches, _, err := log.Read(buf[:0], at, storage.ReadOptions{MaxBytes: readBytes, Whole: true})
		if start := log.Bounds().Start; errors.Is(err, storage.ErrOffsetOutOfRange) && start > at {
			at = start // retention has deleted what was to be read
			continue
		}
		if err != nil || len(batches) == 0 {
			return unlessDamage(err)
		}
		buf = batches
		for batch, err := range record.Batches(batches) {
			if err != nil {
				return nil
			}
			if skipped {
				skipped = !h.noteSkipped(to, batch, at, codec)
			}
			h.readBatch(to, batch, at, codec)
			at = record.NextOffset(batch)
		}
	}
	return nil
}

// unlessDamage is err, nil if that is damage or the end of the log.
func unlessDamage(err error) error {
	if _, damaged := errors.AsType[*storage.CorruptError](err); damaged || errors.Is(err, storage.ErrClosed) {
		return nil
	}
	return err
}

// noteSkipped says that what is before the first event of a batch from an offset
// on was not read, and reports whether there is one.
func (h *History) noteSkipped(to *index, batch []byte, from int64, codec *record.Codec) bool {
	for r, err := range codec.Records(batch) {
		if err != nil {
			break
		}
		if r.Offset >= from {
			to.forgotten = max(to.forgotten, r.Timestamp)
			return true
		}
	}
	return false
}

// readBatch adds the events of a batch from an offset on.
func (h *History) readBatch(to *index, batch []byte, from int64, codec *record.Codec) {
	for r, err := range codec.Records(batch) {
		if err != nil {
			return
		}
		if r.Offset < from || r.Offset >= h.end {
			continue
		}
		if e, err := story.Parse(r.Value); err == nil {
			to.add(string(r.Key), &e)
		}
	}
}
