package history

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"rota/internal/group"
	"rota/internal/storage"
	"rota/internal/story"
)

const (
	// queueLimit is how many events may wait to be dealt with.
	queueLimit = 8192
	// keepLength is how many events there is room for between turns.
	keepLength = 512
	// linger is how long events gather before they are dealt with.
	linger = 10 * time.Millisecond
	// DefaultMaxBytes is the default of Config.MaxBytes.
	DefaultMaxBytes = 16 << 20
	// retryAfter is the pause after the topic could not be made.
	retryAfter = 5 * time.Second
)

// Config says what a History runs on.
type Config struct {
	// Existing returns the log of the topic, nil if there is no topic yet.
	Existing func() *storage.Log
	// Open returns the log of the topic, which it makes if there is none.
	Open func(ctx context.Context) (*storage.Log, error)
	// MaxBytes is how much memory the recent events may take, about: beyond it the
	// oldest are in the topic alone. A group may have a quarter of it.
	// Default DefaultMaxBytes.
	MaxBytes int
	// Now is the wall clock. Default time.Now.
	Now func() time.Time
	// Log receives what an operator must know. Default: discarded.
	Log *slog.Logger
}

// History is the story of the groups of one broker.
type History struct {
	config Config
	end    int64 // of the topic at the start: what is before it is loaded when asked for

	mu     sync.Mutex
	queue  []lot
	queued int   // events in queue
	spare  []lot // to be the next queue; empty
	closed bool

	list []told // of the goroutine; empty between turns

	wake    chan struct{} // has a token if there may be something in queue
	closing chan struct{}
	running sync.WaitGroup
	cancel  context.CancelFunc

	counts Counts
	writer writer

	loading loading

	indexMu  sync.Mutex // guards what follows
	index    *index
	watchers []*watcher
	counters *counters
}

// lot is what happened to a group in one step.
type lot struct {
	group  string
	events []group.Event
}

// Counts are what has been counted since the start.
type Counts struct {
	// Dropped are events that did not fit into the queue, Written those that are
	// durable, Failed those that the log did not take.
	Dropped, Written, Failed atomic.Int64
}

// Start begins to take events.
func Start(c Config) *History {
	if c.MaxBytes == 0 {
		c.MaxBytes = DefaultMaxBytes
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	h := &History{config: c, wake: make(chan struct{}, 1), closing: make(chan struct{}), index: newIndex(c.MaxBytes), counters: newCounters()}
	if log := c.Existing(); log != nil {
		h.end = log.Bounds().HighWatermark
	}
	ctx, cancel := context.WithCancel(context.Background())
	h.cancel = cancel
	h.writer = writer{h: h, ctx: ctx, room: make(chan struct{}, maxInFlight)}
	h.running.Go(h.run)
	return h
}

// Take is coordinator.Config.Events: it never blocks. The events must not be
// changed afterwards.
func (h *History) Take(id string, events []group.Event) {
	if len(events) == 1 && uninteresting(&events[0]) {
		return
	}
	h.mu.Lock()
	if h.closed || h.queued+len(events) > queueLimit {
		h.mu.Unlock()
		h.counts.Dropped.Add(int64(len(events)))
		return
	}
	first := h.queued == 0
	h.queue = append(h.queue, lot{id, events})
	h.queued += len(events)
	h.mu.Unlock()
	if first {
		select {
		case h.wake <- struct{}{}:
		default:
		}
	}
}

// uninteresting are loads and moves of groups without members: there are as
// many at every start as there are groups.
func uninteresting(e *group.Event) bool {
	return (e.Kind == group.GroupLoaded || e.Kind == group.GroupUnloaded) && e.Count == 0
}

// Counts returns the counters of the history itself.
func (h *History) Counts() *Counts { return &h.counts }

// Close deals with what is queued, waits until it is durable or refused, and
// ends. Take drops what comes later.
func (h *History) Close() {
	h.mu.Lock()
	again := h.closed
	h.closed = true
	h.mu.Unlock()
	if !again {
		close(h.closing)
	}
	h.running.Wait()
}

func (h *History) run() {
	defer h.cancel()
	pause := time.NewTimer(linger)
	pause.Stop()
	for {
		select {
		case <-h.wake:
		case <-h.closing:
			h.turn()
			h.writer.drain()
			return
		}
		pause.Reset(linger)
		select {
		case <-pause.C:
		case <-h.closing:
		}
		h.turn()
	}
}

// told is one event as it is written and kept.
type told struct {
	group string // as it is, which an event can not always say
	event story.Event
}

// turn deals with all that is queued.
func (h *History) turn() {
	h.mu.Lock()
	queue := h.queue
	h.queue, h.queued, h.spare = h.spare, 0, nil
	h.mu.Unlock()
	list := h.list
	for _, l := range queue {
		for i := range l.events {
			if !uninteresting(&l.events[i]) {
				list = h.add(list, l.group, &l.events[i])
			}
		}
	}
	if len(list) > 0 {
		h.publish(list)
		h.writer.write(list)
	}
	h.keep(queue, list)
}

// keep keeps the memory of a turn for the next, unless it is much.
func (h *History) keep(queue []lot, list []told) {
	if cap(list) <= keepLength {
		clear(list)
		h.list = list[:0]
	}
	if cap(queue) > keepLength {
		return
	}
	clear(queue)
	h.mu.Lock()
	h.spare = queue[:0]
	h.mu.Unlock()
}

// add appends an event, or counts it where the one before is the same.
func (h *History) add(list []told, id string, e *group.Event) []told {
	ev := Translate(id, e)
	if ev.TimeMillis == 0 {
		ev.TimeMillis = h.config.Now().UnixMilli()
	}
	if n := len(list); n > 0 && list[n-1].group == id && repeats(&list[n-1].event, &ev) {
		list[n-1].event.Repeated++
		return list
	}
	return append(list, told{group: id, event: ev})
}

// repeats reports whether a refused commit is the same again. A client that
// does not give up would fill the topic.
func repeats(a, b *story.Event) bool {
	return a.Kind == story.CommitRefused && b.Kind == story.CommitRefused &&
		a.Generation == b.Generation && a.ErrorCode == b.ErrorCode && a.Member.ID == b.Member.ID && a.Member.InstanceID == b.Member.InstanceID
}
