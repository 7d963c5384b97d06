package coordinator

import (
	"slices"
	"sync"

	"rota/internal/record"
	"rota/internal/storage"
)

// fakeLog is a log that does what a test wants of it. Unless it is told
// otherwise, appends are durable before Append returns.
type fakeLog struct {
	mu      sync.Mutex
	batches [][]byte // durable or not, with their offsets
	start   int64
	hw, end int64
	writer  *fakeWriter
	watches []func()

	hold    bool  // appends stay in flight
	full    bool  // Writable says so
	refuse  error // what Append returns
	unread  error // what Read returns
	skew    int64 // how far the next append goes from where it should
	flying  []flying
	appends int // that were taken
	epochs  []int32
}

// flying is an append that is not durable.
type flying struct {
	end  int64
	done func(error)
}

type fakeWriter struct {
	l     *fakeLog
	epoch int32
}

func (l *fakeLog) Bounds() storage.Bounds {
	l.mu.Lock()
	defer l.mu.Unlock()
	return storage.Bounds{Start: l.start, HighWatermark: l.hw, LastStable: l.hw, End: l.end}
}

func (l *fakeLog) Read(dst []byte, offset int64, _ storage.ReadOptions) ([]byte, storage.ReadInfo, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	info := storage.ReadInfo{Bounds: storage.Bounds{Start: l.start, HighWatermark: l.hw, LastStable: l.hw, End: l.end}}
	if l.unread != nil {
		return dst, info, l.unread
	}
	if offset < l.start || offset > l.end {
		return dst, info, storage.ErrOffsetOutOfRange
	}
	for _, b := range l.batches {
		if record.NextOffset(b) > offset && record.NextOffset(b) <= l.hw {
			return append(dst, b...), info, nil // one at a time
		}
	}
	return dst, info, nil
}

func (l *fakeLog) Watch(f func()) func() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.watches = append(l.watches, f)
	return func() {}
}

func (l *fakeLog) Hold() func() { return func() {} }

func (l *fakeLog) Writer(epoch int32) partitionWriter {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writer = &fakeWriter{l, epoch}
	l.epochs = append(l.epochs, epoch)
	return l.writer
}

func (w *fakeWriter) Writable() error {
	w.l.mu.Lock()
	defer w.l.mu.Unlock()
	if w.l.full {
		return storage.ErrFull
	}
	return nil
}

func (w *fakeWriter) Append(batch []byte, done func(error)) (int64, error) {
	l := w.l
	l.mu.Lock()
	if l.refuse != nil {
		defer l.mu.Unlock()
		return 0, l.refuse
	}
	if l.writer != w {
		defer l.mu.Unlock()
		return 0, storage.ErrFenced
	}
	l.end += l.skew
	l.skew = 0
	base := l.end
	l.putLocked(batch, w.epoch)
	l.appends++
	l.flying = append(l.flying, flying{l.end, done})
	hold := l.hold
	l.mu.Unlock()
	if !hold {
		l.land(1 << 30)
	}
	return base, nil
}

func (l *fakeLog) putLocked(batch []byte, epoch int32) {
	b := slices.Clone(batch)
	record.SetBaseOffset(b, l.end)
	record.SetLeaderEpoch(b, epoch)
	l.batches = append(l.batches, b)
	l.end = record.NextOffset(b)
}

// write puts a durable batch into the log without a writer.
func (l *fakeLog) write(epoch int32, batch []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.putLocked(batch, epoch)
	l.hw = l.end
}

// land makes the oldest n appends in flight durable and tells of them.
func (l *fakeLog) land(n int) {
	l.mu.Lock()
	n = min(n, len(l.flying))
	landed := slices.Clone(l.flying[:n])
	l.flying = l.flying[n:]
	if n > 0 {
		l.hw = landed[n-1].end
	}
	watches := slices.Clone(l.watches)
	l.mu.Unlock()
	for _, f := range landed {
		f.done(nil)
	}
	for _, f := range watches {
		f()
	}
}

// landReversed makes everything in flight durable and tells of the newest
// first, as a careless medium might.
func (l *fakeLog) landReversed() {
	l.mu.Lock()
	landed := l.flying
	l.flying, l.hw = nil, l.end
	l.mu.Unlock()
	for _, f := range slices.Backward(landed) {
		f.done(nil)
	}
}

// fail takes back everything in flight, fences the writer and tells.
func (l *fakeLog) fail() {
	l.mu.Lock()
	failed := l.flying
	l.flying, l.end, l.writer = nil, l.hw, nil
	l.batches = slices.DeleteFunc(l.batches, func(b []byte) bool { return record.NextOffset(b) > l.hw })
	watches := slices.Clone(l.watches)
	l.mu.Unlock()
	for _, f := range failed {
		f.done(storage.ErrFlushFailed)
	}
	for _, f := range watches {
		f()
	}
}

func (l *fakeLog) set(f func(*fakeLog)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f(l)
}

// inFlight is the number of appends that are not durable.
func (l *fakeLog) inFlight() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.flying)
}
