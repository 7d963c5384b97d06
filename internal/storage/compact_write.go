package storage

import (
	"context"
	"slices"

	"rota/internal/record"
)

// cleanOutput is what a pass has written: segments that no manifest lists yet.
type cleanOutput struct {
	c    *cleaning
	done []Segment // in order; some are inputs that stay as they are
	made []Segment // those that the pass has made
	open bool      // the last of made is being written
	buf  []byte    // its end, not written yet
	// aborted are the entries of the markers in buf.
	aborted []AbortedTransaction
	// stable is the last stable offset behind the inputs that have been passed.
	stable int64
}

// add puts a batch behind what there is. Segments are closed at the size of
// the topic, and where the pass ends.
func (o *cleanOutput) add(batch []byte, h *record.Header, created int64) error {
	if o.open {
		seg := &o.made[len(o.made)-1]
		full := seg.Size+int64(len(batch)) > o.c.conf.SegmentBytes
		if full || seg.Base < o.c.mapped && h.BaseOffset >= o.c.mapped {
			if err := o.close(); err != nil {
				return err
			}
		}
	}
	if !o.open {
		o.open = true
		o.made = append(o.made, Segment{
			Base: h.BaseOffset, MaxTimestamp: record.None, MaxTimestampOffset: h.BaseOffset, Created: created,
		})
	}
	if len(o.buf) > 0 && len(o.buf)+len(batch) > cleanStep {
		if err := o.flush(); err != nil {
			return err
		}
	}
	seg := &o.made[len(o.made)-1]
	o.buf = append(o.buf, batch...)
	if o.c.entry != nil {
		o.aborted = append(o.aborted, *o.c.entry)
		seg.Aborted++
	}
	seg.Size += int64(len(batch))
	seg.End = h.NextOffset()
	seg.Created = max(seg.Created, created)
	if h.Count > 0 && h.MaxTimestamp > seg.MaxTimestamp {
		seg.MaxTimestamp, seg.MaxTimestampOffset = h.MaxTimestamp, h.BaseOffset
	}
	return nil
}

// take puts an input behind what there is, as it is.
func (o *cleanOutput) take(seg Segment) error {
	err := o.close()
	o.done = append(o.done, seg)
	o.stable = seg.LastStable
	return err
}

// close ends the segment that is being written, if there is one.
func (o *cleanOutput) close() error {
	if !o.open {
		return nil
	}
	if err := o.flush(); err != nil {
		return err
	}
	o.open = false
	seg := &o.made[len(o.made)-1]
	seg.LastStable = o.stable
	o.done = append(o.done, *seg)
	return nil
}

// flush writes what waits.
func (o *cleanOutput) flush() error {
	if len(o.buf) == 0 {
		return nil
	}
	if o.c.s.full(o.c.conf.Internal) {
		return ErrFull
	}
	if err := o.c.s.inSettler(context.Background(), o.write); err != nil {
		return err
	}
	n := len(o.buf)
	o.buf, o.aborted = o.buf[:0], o.aborted[:0]
	return o.c.rest(n)
}

// write runs on the settle loop.
func (o *cleanOutput) write() error {
	s, l := o.c.s, o.c.l
	l.mu.Lock()
	err := l.err
	l.mu.Unlock()
	if err != nil {
		return err
	}
	seg := &o.made[len(o.made)-1]
	if seg.Token == "" {
		seg.Token = s.m.NewToken(l.p, seg.Base)
	}
	s.wroteBytes(len(o.buf))
	return s.m.Write(l.p, seg.Created, &SegmentWrite{
		Token: seg.Token, Base: seg.Base, At: seg.Size - int64(len(o.buf)), Batches: o.buf,
		AbortedAt: seg.Aborted - int32(len(o.aborted)), Aborted: o.aborted,
	})
}

// manifestLocked is what the log's manifest says now.
func (l *Log) manifestLocked() *Manifest {
	m := &Manifest{
		Partition: l.p, Start: l.start, End: l.settled, Flush: l.settledFlush, Segments: slices.Clone(l.segments),
		Producers: l.settledProducers.encode(), LastStable: l.settledProducers.spans.stable(l.settled), Cleaned: l.cleaned,
	}
	m.Epochs = epochsWithin(l.epochs, m.Start, m.End)
	return m
}

// commit swaps the segments. It runs on the settle loop.
func (c *cleaning) commit() error {
	l := c.l
	l.mu.Lock()
	n := len(c.inputs)
	var err error
	switch {
	case l.err != nil:
		err = l.err
	case !c.hasInputsLocked():
		err = errMoved
	case c.dropped && l.compaction.holds > 0:
		err = errHeld
	}
	if err != nil {
		l.mu.Unlock()
		return err
	}
	cleaned := 0
	for cleaned < len(c.out.done) && c.out.done[cleaned].End <= c.mapped {
		cleaned++
	}
	if cleaned == l.cleaned && slices.Equal(c.out.done, c.inputs) {
		l.compaction.due = c.due
		l.mu.Unlock()
		return nil
	}
	m := l.manifestLocked()
	m.Segments = append(slices.Clone(c.out.done), l.segments[n:]...)
	m.Cleaned = cleaned
	drop := slices.Clone(l.compaction.leftOver)
	for _, in := range c.inputs {
		if !slices.Contains(c.out.done, in) {
			drop = append(drop, in)
		}
	}
	if c.dropped {
		l.compaction.swapping = make(chan struct{})
	}
	l.mu.Unlock()

	err = c.s.m.Settle([]Move{{Manifest: m}})
	if c.swapped(m, err); err == nil {
		c.s.m.Drop(l.p, drop)
	}
	return err
}

// swapped takes over what the medium has made of the manifest of a swap.
func (c *cleaning) swapped(m *Manifest, err error) {
	l := c.l
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.dropped {
		close(l.compaction.swapping)
		l.compaction.swapping = nil
	}
	if err != nil {
		// The manifest may be the old or the new one. The next one is made from
		// the old state, so nothing of that may go; what was made may go then.
		l.compaction.leftOver = append(slices.Clip(l.compaction.leftOver), c.out.made...)
		c.out.made = nil
		return
	}
	l.segments, l.cleaned, l.settledStart = m.Segments, m.Cleaned, m.Start
	l.compaction.leftOver, l.compaction.due = nil, c.due
	c.out.made = nil
}

// end leaves nothing behind of a pass, however it has ended.
func (c *cleaning) end(err error) {
	w := c.s.cleaner
	w.write = c.out.buf[:0]
	for _, buf := range []*[]byte{&w.read, &w.thin, &w.write} {
		if cap(*buf) > cleanKeep {
			*buf = nil
		}
	}
	made := c.out.made
	if err == nil {
		made = nil // all of it is in use, or was not needed
	}
	for len(made) > 0 && made[len(made)-1].Token == "" {
		made = made[:len(made)-1]
	}
	_ = c.s.inSettler(context.Background(), func() error {
		c.abandon(made)
		return nil
	})
}

// abandon deletes segments that nobody will list. It runs on the settle loop.
func (c *cleaning) abandon(made []Segment) {
	l := c.l
	l.mu.Lock()
	l.compaction.sealed = ""
	if l.err != nil || len(made) == 0 {
		l.mu.Unlock()
		return
	}
	l.compaction.leftOver = append(slices.Clip(l.compaction.leftOver), made...)
	m, drop := l.manifestLocked(), l.compaction.leftOver
	l.mu.Unlock()
	if err := c.s.m.Settle([]Move{{Manifest: m}}); err != nil {
		c.s.c.Log.Warn("unused segments stay for now", "topic", topicText(l.p), "partition", l.p.Index, "err", err)
		return
	}
	l.mu.Lock()
	l.compaction.leftOver, l.settledStart = nil, m.Start
	l.mu.Unlock()
	c.s.m.Drop(l.p, drop)
}
