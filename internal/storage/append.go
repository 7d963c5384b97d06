package storage

import (
	"fmt"

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
		w.done(refused(err))
	default:
		w.done(Appended{Base: w.base, LogAppend: w.stamp, Start: start, Duplicate: w.dup})
	}
}

func refused(err error) Appended { return Appended{Base: -1, LogAppend: -1, Start: -1, Err: err} }

// Append verifies the batch, gives it its offset and sends it on its way.
// The order of Append calls on one goroutine is the order in the log. batch is
// copied: the caller may reuse it when Append returns. done is called exactly
// once (never for NoAck unless there is an error), possibly before Append
// returns, from a goroutine that must not be held up: it may not block and
// may not call into the store.
//
// A batch whose producer sequence was seen before is not appended: done hears
// the first one's offset when that one is durable. A transactional batch is
// taken if its transaction is open in this log; see AppendVerified.
func (l *Log) Append(batch []byte, ack Ack, done func(Appended)) {
	l.AppendVerified(batch, Guard{}, ack, done)
}

// AppendVerified is Append for batches that may be transactional: such a one
// begins its producer's transaction in this log, with a good Guard, or belongs
// to the one that is open. Errors beside those of Append: ErrNotVerified, and
// ErrTransactionOpen for a batch that is not transactional.
func (l *Log) AppendVerified(batch []byte, g Guard, ack Ack, done func(Appended)) {
	a := admission{l: l, conf: l.conf.Load(), now: l.s.c.Now().UnixMilli(), stamp: -1, guard: g}
	c, pos, err := a.admit(batch)
	if err != nil {
		done(refused(err))
		return
	}
	w := waiter{ack: ack, stamp: a.stamp, done: done}
	l.mu.Lock()
	push, durable, err := l.appendLocked(&a, c, pos, &w)
	start := l.start
	l.mu.Unlock()
	switch {
	case err != nil:
		c.release()
		done(refused(err))
	case w.dup:
		c.release()
		if durable && ack != NoAck {
			w.answer(start, nil)
		}
	case push:
		l.s.pushReady(l)
	}
}

// admission is what happens to a client's batch before it gets its offset. It
// needs no lock.
type admission struct {
	l     *Log
	conf  *LogConfig
	now   int64 // milliseconds
	stamp int64 // LogAppendTime or -1
	guard Guard
	h     record.Header
	size  int
}

// admit verifies the batch, changes what the topic's configuration wants
// changed, and copies it into the tail.
func (a *admission) admit(batch []byte) (c *chunk, pos int, err error) {
	s := a.l.s
	switch h, err := record.ParseHeader(batch); {
	case err != nil:
		_, err = record.Verify(batch, record.Rules{Client: true}, nil)
		return nil, 0, err
	case len(batch) > a.conf.MaxMessageBytes:
		return nil, 0, ErrTooLarge
	case s.full(a.conf.Internal):
		return nil, 0, ErrFull
	default:
		a.h = h
	}
	var codec *codec
	if a.h.Attributes.Compression() != record.Uncompressed || a.recompresses() {
		codec = s.takeCodec()
		defer s.codecs.Put(codec)
	}
	v, err := record.Verify(batch, record.Rules{Client: true, Keys: a.conf.Compact}, codec.inner())
	if err != nil {
		return nil, 0, err
	}
	if !a.conf.LogAppendTime && !a.timely(&v) {
		return nil, 0, ErrInvalidTimestamp
	}
	if a.recompresses() {
		if batch, err = codec.recompress(batch, record.Compression(a.conf.Compression), a.conf.CompressionLevel); err != nil {
			return nil, 0, err
		}
		if len(batch) > a.conf.MaxMessageBytes {
			return nil, 0, ErrTooLarge
		}
	}
	c, pos = a.l.copyIn(batch)
	a.size = len(batch)
	a.restamp(c.buf[pos:pos+a.size], &v)
	return c, pos, nil
}

func (a *admission) recompresses() bool {
	return a.conf.Compression >= 0 && record.Compression(a.conf.Compression) != a.h.Attributes.Compression()
}

// timely reports whether the records' timestamps lie within the topic's
// bounds (KIP-937). A record without a timestamp does.
func (a *admission) timely(v *record.Verified) bool {
	before, after := a.conf.TimestampBefore.Milliseconds(), a.conf.TimestampAfter.Milliseconds()
	return (before <= 0 || v.MinTimestamp == record.None || a.now-v.MinTimestamp <= before) &&
		(after <= 0 || v.MaxTimestamp-a.now <= after)
}

// restamp sets the timestamps that the broker decides on.
func (a *admission) restamp(b []byte, v *record.Verified) {
	switch {
	case a.conf.LogAppendTime:
		record.SetLogAppendTime(b, a.now)
		a.stamp, a.h.MaxTimestamp = a.now, a.now
	case v.MaxTimestamp != v.Header.MaxTimestamp:
		// Retention and lookups by time go by the header.
		record.SetMaxTimestamp(b, v.MaxTimestamp)
		a.h.MaxTimestamp = v.MaxTimestamp
	}
}

// copyIn copies the batch into the tail before the log's lock is taken.
func (l *Log) copyIn(batch []byte) (*chunk, int) {
	c, pos := l.s.tail.alloc(len(batch), l.placeFor(len(batch)))
	copy(c.buf[pos:], batch)
	return c, pos
}

// appendLocked decides on an admitted batch: it becomes an entry, or is a
// duplicate, or is refused. durable is of a duplicate. The caller keeps its
// reference to the chunk unless the batch has become an entry.
func (l *Log) appendLocked(a *admission, c *chunk, pos int, w *waiter) (push, durable bool, err error) {
	if err := l.refusalLocked(); err != nil {
		return false, false, err
	}
	if a.h.ProducerID >= 0 {
		q, err := l.producers.check(&a.h, a.now, l.s.c.ProducerExpiry.Milliseconds())
		if err != nil {
			return false, false, err
		}
		if q != nil {
			w.dup, w.base, w.end = true, q.base, q.end()
			if w.stamp >= 0 {
				w.stamp = q.stamp
			}
			if w.end <= l.hw {
				return false, true, nil
			}
			l.waitLocked(w)
			return false, false, nil
		}
		if err := l.verifyLocked(a); err != nil {
			return false, false, err
		}
		l.producers.add(&a.h, l.end, a.now)
	}
	w.base, push = l.pushLocked(c, pos, a.size, &a.h)
	w.end = l.end
	l.waitLocked(w)
	return push, false, nil
}

func (l *Log) waitLocked(w *waiter) {
	if w.ack == NoAck {
		return
	}
	l.waiters.push(*w)
	if w.ack == WrittenAck {
		l.writtenAcks++
	}
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
	e := entry{
		base: l.end, at: l.bytes, chunk: c, pos: int32(pos), size: int32(size),
		epoch: l.epoch, count: h.LastOffsetDelta + 1,
	}
	b := e.batch()
	record.SetBaseOffset(b, l.end)
	record.SetLeaderEpoch(b, l.epoch)
	l.beginEpochLocked()
	l.entries.push(e)
	l.bytes += int64(size)
	l.end = e.next()
	push = !l.queued
	l.queued = true
	return e.base, push
}

// codec is the working memory for compressed batches. A nil one does for
// those that are not.
type codec struct {
	record.Codec
	buf []byte
}

func (s *Store) takeCodec() *codec {
	if c, ok := s.codecs.Get().(*codec); ok {
		return c
	}
	return new(codec)
}

func (c *codec) inner() *record.Codec {
	if c == nil {
		return nil
	}
	return &c.Codec
}

// recompress returns the batch with another codec at that level, in memory that
// is valid until the next use of c.
func (c *codec) recompress(batch []byte, to record.Compression, level int) ([]byte, error) {
	out, err := record.Recompress(c.buf[:0], batch, to, level, &c.Codec)
	if cap(out) <= chunkSize {
		c.buf = out[:0]
	}
	if err != nil {
		return nil, fmt.Errorf("recompress: %w", err)
	}
	return out, nil
}
