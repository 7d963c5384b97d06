package storage

import (
	"sync"
	"sync/atomic"
)

// Log is one partition log. All methods may be called from any goroutine.
type Log struct {
	s    *Store
	p    Partition
	conf atomic.Pointer[LogConfig]

	// removed (the log is on its way out) and hold (the first flush that must
	// stay in the journal for its sake, 0 if none) are guarded by Store.mu.
	removed bool
	hold    uint64
	tokens  map[int64]string // of the settle loop, see token

	mu      sync.Mutex
	err     error // answers every call: the log is closed, removed or damaged
	corrupt bool  // what the medium holds of the log is damaged
	// down: a flush failed and the journal has not been reopened yet.
	down bool
	// closing refuses appends while the store makes the last ones durable.
	closing bool
	epoch   int32   // leader epoch of the next batch
	writer  *Writer // the handle that is not fenced, if any
	start   int64   // log start offset
	hw      int64   // durable end, Kafka's high watermark
	end     int64   // offset of the next record
	epochs  []EpochStart
	// producers is the state at end, but for transactions with a marker that is
	// not durable: these still hold back the last stable offset. aborted are
	// the aborted transactions whose markers are in the tail, and guards the
	// verifications that are asked for.
	producers producers
	aborted   queue[AbortedTransaction]
	guards    map[int64]*verification

	// What the manifest has. The slice and the map never change: each round
	// makes new ones.
	segments         []Segment
	cleaned          int   // of them, from the first, compaction has been over
	settled          int64 // offset after the last record in segments
	settledStart     int64 // log start offset
	settledFlush     uint64
	settledProducers producers // the state at settled

	compaction compaction

	// entries are the batches in the tail, in order: first those that are
	// durable, then those in flushes that are under way, then those that wait
	// for a flush.
	entries queue[entry]
	sent    int   // entries that have been handed to a flush
	bytes   int64 // bytes ever appended to the tail
	queued  bool  // the store's ready list has, or is about to get, this log
	waiters queue[waiter]
	// writtenAcks counts the waiters that are answered when written.
	writtenAcks int
	watches     []*watch
}

// entry is one batch in the tail.
type entry struct {
	base  int64  // offset of the first record
	at    int64  // Log.bytes before this batch
	flush uint64 // the flush that carries it
	chunk *chunk
	pos   int32
	size  int32
	epoch int32 // leader epoch
	count int32 // offsets it takes
}

// batch is the entry's bytes. They are valid while a reference to the chunk is
// held.
func (e *entry) batch() []byte { return e.chunk.buf[e.pos : e.pos+e.size : e.pos+e.size] }

// next is the offset after the batch.
func (e *entry) next() int64 { return e.base + int64(e.count) }

func newLog(s *Store, p Partition) *Log {
	l := &Log{s: s, p: p}
	l.SetConfig(LogConfig{})
	return l
}

// Partition names the log.
func (l *Log) Partition() Partition { return l.p }

// Config is the configuration in force.
func (l *Log) Config() LogConfig { return *l.conf.Load() }

// SetConfig replaces the configuration; later calls follow it.
func (l *Log) SetConfig(c LogConfig) {
	c = c.withDefaults()
	l.conf.Store(&c)
}

// Bounds are the ends of a log.
type Bounds struct {
	Start         int64 // log start offset
	HighWatermark int64 // durable end: what readers see
	LastStable    int64 // what read_committed readers see
	End           int64 // offset of the next record
	Epoch         int32 // leader epoch
}

// Bounds returns the ends of the log as they are now.
func (l *Log) Bounds() Bounds {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.boundsLocked()
}

func (l *Log) boundsLocked() Bounds {
	return Bounds{Start: l.start, HighWatermark: l.hw, LastStable: l.stableLocked(), End: l.end, Epoch: l.epoch}
}

// stableLocked is the last stable offset: everything durable below the first
// transaction that has no durable marker. One that began below the log start
// holds back what is left of it.
func (l *Log) stableLocked() int64 {
	if l.producers.spans.len() == 0 {
		return l.hw
	}
	return max(l.start, l.producers.spans.stable(l.hw))
}

// visibleLocked is the end that a reader may see.
func (l *Log) visibleLocked(committed bool) int64 {
	if committed {
		return l.stableLocked()
	}
	return l.hw
}
