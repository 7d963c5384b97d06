package broker

import (
	"errors"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"rota/internal/catalog"
	"rota/internal/record"
	"rota/internal/storage"
)

// FetchRequest is a Fetch of any version.
type FetchRequest struct {
	MaxWait            time.Duration
	MinBytes, MaxBytes int
	// Committed is isolation level read_committed.
	Committed bool
	// Zstd says that the version of the request knows the codec (KIP-110).
	Zstd bool
	// Session is nil for versions without sessions.
	Session *FetchSession
	// Partitions are those that the request names, in its order.
	Partitions []FetchPartition
}

// FetchPartition is one partition of a Fetch: what is asked, and what is to be
// answered beside the records.
type FetchPartition struct {
	Topic    TopicRef
	Index    int32
	Offset   int64
	MaxBytes int
	// CurrentEpoch is the leader epoch that the consumer knows, LastEpoch that
	// of the last record it has (KIP-320, KIP-595); -1: none.
	CurrentEpoch, LastEpoch int32

	log *storage.Log
	err error
	// diverging is set if the consumer has records that the log does not have.
	diverging *Divergence
	// What the session's consumer was last told; -1: nothing.
	sentHW, sentLogStart int64
}

// Divergence is where a consumer's records and the log part (KIP-595).
type Divergence struct {
	Epoch     int32
	EndOffset int64
}

func (p *FetchPartition) key() partitionKey {
	return partitionKey{name: p.Topic.Name, id: p.Topic.ID, index: p.Index}
}

// Fetch is a Fetch from its arrival until it has been read.
type Fetch struct {
	b           *Broker
	req         FetchRequest
	session     *fetchSession // nil if there is none
	incremental bool          // answer only what is new
	parts       []FetchPartition

	// run hands work to a goroutine, ready hears that the wait is over.
	run   func(func())
	ready func()

	mu    sync.Mutex
	over  bool // the wait is over
	poked bool // a look at the logs is under way
	stops []func()
	timer *time.Timer
}

// NewFetch resolves the session and the partitions of a request. Errors: those
// of the session, which leave everything as it was.
func (b *Broker) NewFetch(req FetchRequest) (*Fetch, *kerr.Error) {
	f := &Fetch{b: b, req: req, parts: req.Partitions}
	f.req.MaxBytes = max(min(req.MaxBytes, b.Config.FetchMaxBytes), 0)
	if req.Session != nil {
		session, incremental, err := b.sessions.resolve(*req.Session, req.Partitions)
		if err != nil {
			return nil, err
		}
		f.session, f.incremental = session, incremental
		if incremental {
			f.parts = session.snapshot(nil)
		}
	}
	view := b.Catalog.View()
	for i := range f.parts {
		f.resolve(view, &f.parts[i])
	}
	return f, nil
}

// SessionID is the session that the answer names, 0 for none.
func (f *Fetch) SessionID() int32 {
	if f.session == nil {
		return noSession
	}
	return f.session.id
}

// resolve finds the log of a partition and checks what needs no look at its
// records.
func (f *Fetch) resolve(view *catalog.View, p *FetchPartition) {
	_, log, err := f.b.Partition(view, p.Topic, p.Index)
	if err != nil {
		p.err = err
		return
	}
	p.log = log
	if c := log.Config(); record.Compression(c.Compression) == record.Zstd && c.Compression > 0 && !f.req.Zstd {
		p.err = kerr.UnsupportedCompressionType
		return
	}
	if err := CheckEpoch(p.CurrentEpoch, log.Bounds().Epoch); err != nil {
		p.err = err
		return
	}
	if p.LastEpoch < 0 {
		return
	}
	switch epoch, end := log.EndOfEpoch(p.LastEpoch); {
	case epoch < 0 || end < 0:
		p.err = storage.ErrOffsetOutOfRange
	case epoch < p.LastEpoch || end < p.Offset:
		p.diverging = &Divergence{epoch, end}
	}
}

// Wait calls ready once, when there is something to answer: as many bytes as
// asked for, anything but records that the consumer must hear of, or the end
// of its patience. That may be before Wait returns. run hands work over to
// another goroutine; it is called from callbacks that must not be held up.
func (f *Fetch) Wait(run func(func()), ready func()) {
	f.run, f.ready = run, ready
	if f.satisfied() {
		f.end(true)
		return
	}
	for i := range f.parts {
		f.keep(f.parts[i].log.Watch(f.poke))
	}
	f.mu.Lock()
	if !f.over {
		f.timer = time.AfterFunc(f.req.MaxWait, f.Expire)
	}
	f.mu.Unlock()
	// What came between the first look and the watches woke nobody.
	if f.satisfied() {
		f.Expire()
	}
}

// keep keeps a watch's stop, or calls it if the wait is over.
func (f *Fetch) keep(stop func()) {
	f.mu.Lock()
	over := f.over
	if !over {
		f.stops = append(f.stops, stop)
	}
	f.mu.Unlock()
	if over {
		stop()
	}
}

// poke is called by a log when it has changed. It must not look at the log
// itself; one goroutine does, however many logs have something to say.
//
// The lock is held across run, which only starts a goroutine. Without it the
// wait could end, and the call that run belongs to be answered and used again,
// between the check and the call.
func (f *Fetch) poke() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.over && !f.poked {
		f.poked = true
		f.run(f.look)
	}
}

func (f *Fetch) look() {
	f.mu.Lock()
	f.poked = false // before the look: what comes later pokes again
	f.mu.Unlock()
	if f.satisfied() {
		f.Expire()
	}
}

// Expire ends the wait, if it is not over yet.
func (f *Fetch) Expire() { f.end(false) }

func (f *Fetch) end(atOnce bool) {
	f.mu.Lock()
	if f.over {
		f.mu.Unlock()
		return
	}
	f.over = true
	stops, timer := f.stops, f.timer
	f.stops = nil
	f.mu.Unlock()
	if !atOnce {
		if timer != nil {
			timer.Stop()
		}
		for _, stop := range stops {
			stop()
		}
	}
	f.ready()
}

// satisfied says whether the answer may leave now.
func (f *Fetch) satisfied() bool {
	if f.req.MaxWait <= 0 || len(f.parts) == 0 {
		return true
	}
	var bytes int64
	for i := range f.parts {
		p := &f.parts[i]
		n, err := f.available(p)
		if err != nil || p.diverging != nil {
			return true
		}
		bytes += n
	}
	return bytes >= int64(f.req.MinBytes)
}

// available is about how many bytes a partition could give.
func (f *Fetch) available(p *FetchPartition) (int64, error) {
	if p.err != nil {
		return 0, p.err
	}
	if p.diverging != nil {
		return 0, nil
	}
	n, err := p.log.Available(p.Offset, f.req.Committed)
	if err != nil {
		return 0, err
	}
	if n > 0 {
		// However small the partition's limit is, it gives at least one batch.
		n = max(min(n, int64(p.MaxBytes)), 1)
	}
	return n, nil
}

// Estimate is about how many bytes of records the answer will have, without
// those that a reader that may lend would not read but lend.
func (f *Fetch) Estimate(lend bool) int {
	var bytes int64
	for i := range f.parts {
		p := &f.parts[i]
		n, err := f.available(p)
		if err == nil && !(lend && n >= leastLent && p.log.Lends(p.Offset)) {
			bytes += n
		}
	}
	return int(min(bytes, int64(f.req.MaxBytes)))
}

// isGone says that a log was closed or removed under a fetch that waited.
func isGone(err error) bool { return errors.Is(err, storage.ErrClosed) }
