package storage

import (
	"sync/atomic"
	"time"

	"rota/internal/meter"
)

// meters counts flushes.
type meters struct {
	latency meter.Durations
	size    meter.Sizes
	failed  atomic.Int64
}

func (m *meters) observe(f *flight, now time.Duration, err error) {
	if err != nil {
		m.failed.Add(1)
		return
	}
	m.latency.Observe(now - f.began)
	m.size.Observe(f.bytes)
}

// Stats are figures of a Store.
type Stats struct {
	// FlushLatency is how long flushes took until they were durable, and
	// FlushSize how large they were. FlushesFailed are in neither.
	FlushLatency, FlushSize meter.Reading
	FlushesFailed           int64
	// JournalBytes is what a restart would have to read, TailBytes the batches
	// in memory, CachedBytes all memory that holds records.
	JournalBytes, TailBytes, CachedBytes int64
	// Partitions is how many logs there are.
	Partitions int
}

// Stats returns the figures as they are now.
func (s *Store) Stats() Stats {
	s.mu.Lock()
	logs := len(s.logs)
	s.mu.Unlock()
	return Stats{
		FlushLatency: s.meters.latency.Read(), FlushSize: s.meters.size.Read(), FlushesFailed: s.meters.failed.Load(),
		JournalBytes: s.m.JournalSize(), TailBytes: s.tail.bytes(), CachedBytes: s.Cached(), Partitions: logs,
	}
}
