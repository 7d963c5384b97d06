package storage

import (
	"errors"

	"rota/internal/record"
)

// Writer returns a handle for the log's only writer, a coordinator shard or
// the catalog, and fences earlier handles. epoch is a number from NextEpoch;
// records carry it as their leader epoch. A handle with an epoch older than
// the log's is fenced from the beginning.
func (l *Log) Writer(epoch int32) *Writer {
	w := &Writer{l: l}
	l.mu.Lock()
	defer l.mu.Unlock()
	if epoch >= l.epoch {
		l.epoch, l.writer = epoch, w
	}
	return w
}

// Writer appends for one shard: data, transactional or not, and markers. It
// checks neither sequences nor epochs nor whether a transaction goes on: the
// shard has done so.
type Writer struct{ l *Log }

// Append gives the batch its offset and returns that at once. done is called
// exactly once, in log order, when the batch is durable or has failed, from
// another goroutine and perhaps before Append returns, unless Append itself
// returns an error: then nothing was appended. done may not block and may not
// call into the store. Errors:
// ErrTooLarge and ErrFull (refused, the log is as it was), ErrFenced, ErrClosed,
// a *CorruptError, or one of package record.
func (w *Writer) Append(batch []byte, done func(error)) (base int64, err error) {
	l := w.l
	h, err := record.ParseHeader(batch)
	if err != nil {
		return 0, err
	}
	conf := l.conf.Load()
	switch {
	case h.Size() != len(batch):
		return 0, &record.InvalidError{Record: record.None, Reason: "more than one batch"}
	case len(batch) > conf.MaxMessageBytes:
		return 0, ErrTooLarge
	case l.s.full(conf.Internal):
		return 0, ErrFull
	}
	now := int64(0)
	if h.ProducerID >= 0 {
		now = l.s.c.Now().UnixMilli()
	}
	c, pos := l.copyIn(batch)
	l.mu.Lock()
	err = l.refusalLocked()
	if err == nil && l.writer != w || err != nil && errors.Is(err, ErrFlushFailed) {
		err = ErrFenced
	}
	if err == nil && h.ProducerID >= 0 {
		err = l.foldLocked(&h, batch, now)
	}
	if err != nil {
		l.mu.Unlock()
		c.release()
		return 0, err
	}
	base, push := l.pushLocked(c, pos, len(batch), &h)
	l.waiters.push(waiter{end: l.end, wrote: done})
	l.mu.Unlock()
	if push {
		l.s.pushReady(l)
	}
	return base, nil
}

// Writable returns ErrFull while Append would return it, else nil. It is
// cheap, and lets a caller refuse what it could not take back once the append
// was refused.
func (w *Writer) Writable() error {
	if w.l.s.full(w.l.conf.Load().Internal) {
		return ErrFull
	}
	return nil
}

// Log is the log behind the handle.
func (w *Writer) Log() *Log { return w.l }
