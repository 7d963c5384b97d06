package storage

import (
	"fmt"
	"math"

	"rota/internal/record"
)

// Ack says when an append is answered.
type Ack uint8

const (
	// DurableAck answers when the batch is durable (acks=all).
	DurableAck Ack = iota
	// WrittenAck answers when the batch is in the journal (acks=1).
	WrittenAck
	// NoAck never answers (acks=0): done is not called, errors apart.
	NoAck
)

// Appended is the answer to an append.
type Appended struct {
	Base      int64 // offset of the first record
	LogAppend int64 // LogAppendTime in milliseconds, -1 with CreateTime
	Start     int64 // log start offset
	Duplicate bool  // the batch was there already: Base is the first one's
	Err       error // nil, or one of this package's or of package record
}

// waiter is an append that has not been answered. Waiters of a log are in the
// order of their appends.
type waiter struct {
	end   int64 // durable end that answers it
	ack   Ack
	dup   bool
	base  int64
	stamp int64 // LogAppendTime or -1
	done  func(Appended)
	wrote func(error) // of a Writer, instead of done
}

func (w *waiter) answer(start int64, err error) {
	switch {
	case w.wrote != nil:
		w.wrote(err)
	case err != nil:
		w.done(Appended{Base: -1, LogAppend: -1, Start: -1, Err: err})
	default:
		w.done(Appended{Base: w.base, LogAppend: w.stamp, Start: start, Duplicate: w.dup})
	}
}

// Append verifies the batch, gives it its offset and sends it on its way.
// The order of Append calls on one goroutine is the order in the log. batch is
// copied: the caller may reuse it when Append returns. done is called exactly
// once (never for NoAck unless there is an error), possibly before Append
// returns, from a goroutine that must not be held up: it may not block and
// may not call into the store.
//
// A batch whose producer sequence was seen before is not appended: done hears
// the first one's offset when that one is durable.
func (l *Log) Append(batch []byte, ack Ack, done func(Appended)) {
	h, err := record.ParseHeader(batch)
	if err == nil {
		err = l.appendClient(batch, &h, ack, done)
	}
	if err != nil {
		done(Appended{Base: -1, LogAppend: -1, Start: -1, Err: err})
	}
}

func (l *Log) appendClient(batch []byte, h *record.Header, ack Ack, done func(Appended)) error {
	if h.Size() != len(batch) {
		return fmt.Errorf("%w: bytes follow the batch", record.ErrInvalid)
	}
	if len(batch) > l.Config().MaxMessageBytes {
		return ErrTooLarge
	}
	c, pos := l.copyIn(batch)
	l.mu.Lock()
	if err := l.refusalLocked(); err != nil {
		l.mu.Unlock()
		c.release()
		return err
	}
	base, push := l.pushLocked(c, pos, len(batch), h)
	if ack != NoAck {
		l.waiters.push(waiter{end: l.end, ack: ack, base: base, stamp: -1, done: done})
		if ack == WrittenAck {
			l.writtenAcks++
		}
	}
	l.mu.Unlock()
	if push {
		l.s.pushReady(l)
	}
	return nil
}

// copyIn copies the batch into the tail before the log's lock is taken.
func (l *Log) copyIn(batch []byte) (*chunk, int) {
	c, pos := l.s.tail.alloc(len(batch))
	copy(c.buf[pos:], batch)
	return c, pos
}

// refusalLocked is the error that an append gets whatever is in it.
func (l *Log) refusalLocked() error {
	switch {
	case l.err != nil:
		return l.err
	case l.closing:
		return ErrClosed
	case l.down:
		return ErrFlushFailed
	}
	return nil
}

// pushLocked gives the batch that lies at pos in c its offset and makes it an
// entry. The caller must hand the log to the store if push is true.
func (l *Log) pushLocked(c *chunk, pos, size int, h *record.Header) (base int64, push bool) {
	if size > math.MaxInt32 {
		panic("storage: batch of more than 2 GiB")
	}
	e := entry{base: l.end, at: l.bytes, chunk: c, pos: int32(pos), size: int32(size), epoch: l.epoch, count: h.LastOffsetDelta + 1}
	b := e.batch()
	record.SetBaseOffset(b, l.end)
	record.SetLeaderEpoch(b, l.epoch)
	if n := len(l.epochs); n == 0 || l.epochs[n-1].Epoch < l.epoch {
		l.epochs = append(l.epochs, EpochStart{Epoch: l.epoch, Start: l.end})
	}
	l.entries.push(e)
	l.bytes += int64(size)
	l.end = e.next()
	push = !l.queued
	l.queued = true
	return e.base, push
}

// Writer returns a handle for the log's only writer, a coordinator shard or
// the catalog, and fences earlier handles. epoch is a number from NextEpoch;
// records carry it as their leader epoch.
func (l *Log) Writer(epoch int32) *Writer {
	w := &Writer{l: l, epoch: epoch}
	l.mu.Lock()
	defer l.mu.Unlock()
	if epoch >= l.epoch {
		l.epoch, l.writer = epoch, w
	}
	return w
}

// Writer appends for one shard. It skips producer sequence checks.
type Writer struct {
	l     *Log
	epoch int32
}

// Append gives the batch its offset and returns that at once. done is called
// exactly once, in log order, when the batch is durable or has failed, unless
// Append itself returns an error: then nothing was appended. Errors:
// ErrTooLarge and ErrFull (refused, the log is as it was), ErrFenced, ErrClosed,
// a *CorruptError, or one of package record.
func (w *Writer) Append(batch []byte, done func(error)) (base int64, err error) {
	l := w.l
	h, err := record.ParseHeader(batch)
	if err != nil {
		return 0, err
	}
	if h.Size() != len(batch) {
		return 0, fmt.Errorf("%w: bytes follow the batch", record.ErrInvalid)
	}
	if len(batch) > l.Config().MaxMessageBytes {
		return 0, ErrTooLarge
	}
	c, pos := l.copyIn(batch)
	l.mu.Lock()
	if err := l.refusalLocked(); err != nil || l.writer != w {
		l.mu.Unlock()
		c.release()
		if err == nil || err == ErrFlushFailed {
			err = ErrFenced
		}
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

// Log is the log behind the handle.
func (w *Writer) Log() *Log { return w.l }
