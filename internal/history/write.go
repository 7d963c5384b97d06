package history

import (
	"context"
	"sync/atomic"
	"time"

	"rota/internal/record"
	"rota/internal/storage"
)

const (
	// batchBytes is the size from which a batch is closed.
	batchBytes = 256 << 10
	// maxInFlight is how many batches may wait to be durable.
	maxInFlight = 4
	// keepValue is the largest buffer for a value that is kept.
	keepValue = 16 << 10
	// warnAfter is the pause between two warnings.
	warnAfter = time.Minute
)

// writer puts events into the log of the topic. It belongs to the goroutine of
// the History.
type writer struct {
	h    *History
	ctx  context.Context
	room chan struct{} // a token for each batch in flight

	log     *storage.Log
	retryAt time.Time // not before that the topic is tried again
	warnAt  time.Time
	trouble atomic.Pointer[error] // the newest refusal
	buf     []byte

	key, value []byte // of the present record
}

// write appends the events, in as many batches as it takes. It waits while too
// many are in flight; the queue takes what comes meanwhile, or drops it.
func (w *writer) write(list []told) {
	log := w.open()
	if log == nil {
		w.h.counts.Failed.Add(int64(len(list)))
		return
	}
	var b record.Builder
	b.Reset(w.buf[:0])
	for i := range list {
		e := &list[i].event
		w.key, w.value = append(w.key[:0], list[i].group...), e.AppendJSON(w.value[:0])
		if b.Count() > 0 && b.Size()+len(w.value) > batchBytes {
			w.append(log, &b)
			b.Reset(w.buf[:0])
		}
		b.Append(e.TimeMillis, w.key, w.value)
	}
	w.append(log, &b)
	if cap(w.buf) > 2*batchBytes {
		w.buf = nil
	}
	if cap(w.value) > keepValue {
		w.value = nil
	}
	w.warn()
}

// open returns the log of the topic, or nil if it cannot be made.
func (w *writer) open() *storage.Log {
	if w.log != nil {
		return w.log
	}
	now := w.h.config.Now()
	if now.Before(w.retryAt) {
		return nil
	}
	log, err := w.h.config.Open(w.ctx)
	if err != nil {
		w.retryAt = now.Add(retryAfter)
		w.trouble.Store(&err)
		w.warn()
		return nil
	}
	w.log = log
	return log
}

func (w *writer) append(log *storage.Log, b *record.Builder) {
	n := int64(b.Count())
	w.buf = b.Finish()
	w.room <- struct{}{}
	log.Append(w.buf, storage.DurableAck, func(a storage.Appended) {
		if a.Err != nil {
			w.h.counts.Failed.Add(n)
			w.trouble.Store(&a.Err)
		} else {
			w.h.counts.Written.Add(n)
		}
		<-w.room
	})
}

// warn tells an operator of the newest trouble, now and then.
func (w *writer) warn() {
	now := w.h.config.Now()
	if w.trouble.Load() == nil || now.Before(w.warnAt) {
		return
	}
	w.warnAt = now.Add(warnAfter)
	w.h.config.Log.Warn("group events are not written", "err", *w.trouble.Swap(nil), "lost", w.h.counts.Failed.Load())
}

// drain waits until nothing is in flight.
func (w *writer) drain() {
	for range maxInFlight {
		w.room <- struct{}{}
	}
}
