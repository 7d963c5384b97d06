package storage

import (
	"context"
	"fmt"
	"slices"
	"time"

	"rota/internal/record"
)

// cleaning is one pass of compaction over one log.
type cleaning struct {
	s      *Store
	l      *Log
	conf   LogConfig
	forced bool
	now    int64 // wall clock, milliseconds
	step   time.Time

	// What begin took over from the log.
	inputs  []Segment
	cleaned int // of them no record is new
	start   int64
	last    int64              // the last batch that somebody may see ends here; -1 if it is not among inputs
	lastOf  map[int64]struct{} // base offsets of the last batch of each producer
	release bool               // tombstones may go

	keys    *keyTable
	goal    int64 // end of what begin took over
	mapped  int64 // keys has the records below
	thinner record.Thinner
	txns    cleanTransactions
	horizon bool                // the batch at hand has one that has passed
	graves  bool                // it keeps a tombstone
	void    bool                // it is of an aborted transaction
	entry   *AbortedTransaction // it is the marker of this one
	out     cleanOutput
	dropped bool  // a tombstone or a marker has gone
	due     int64 // the earliest horizon that stays
}

// cleanOne runs one pass over a log. more says that another one would find
// work.
func (s *Store) cleanOne(l *Log, forced bool) (more bool, err error) {
	conf := l.Config()
	if !conf.Compact {
		return false, nil
	}
	c := &cleaning{s: s, l: l, conf: conf, forced: forced, now: s.c.Now().UnixMilli(), step: time.Now()}
	if s.full(conf.Internal) {
		return false, ErrFull
	}
	if err := s.inSettler(context.Background(), func() error { return c.begin() }); err != nil || len(c.inputs) == 0 {
		return false, err
	}
	c.out = cleanOutput{c: c, buf: s.cleaner.write[:0]}
	c.thinner = record.Thinner{
		Codec: &s.cleaner.codec, Keep: c.keep, Horizon: c.now + conf.DeleteRetention.Milliseconds(),
	}
	began, before := time.Now(), sizeOf(c.inputs)
	if err = c.gather(); err == nil {
		if err = c.rewrite(); err == nil {
			err = s.inSettler(context.Background(), c.commit)
		}
	}
	if err != nil {
		err = c.reason(err)
	}
	c.end(err)
	if err != nil {
		return false, err
	}
	s.c.Log.Debug("log compacted", "topic", topicText(l.p), "partition", l.p.Index, "keys", c.keys.used,
		"bytes", before, "left", sizeOf(c.out.done), "took", time.Since(began))
	return c.mapped < c.goal, nil
}

func topicText(p Partition) string { return fmt.Sprintf("%x", p.Topic) }

func sizeOf(segments []Segment) (size int64) {
	for i := range segments {
		size += segments[i].Size
	}
	return size
}

// reason is why a pass has failed: what is not there any more when it is read is
// no damage.
func (c *cleaning) reason(err error) error {
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	switch {
	case c.l.err != nil:
		return c.l.err
	case !c.hasInputsLocked():
		return errMoved
	}
	return err
}

// hasInputsLocked reports whether the log still begins with what the pass took
// over.
func (c *cleaning) hasInputsLocked() bool {
	n := len(c.inputs)
	return len(c.l.segments) >= n && slices.Equal(c.l.segments[:n], c.inputs)
}

// begin takes over what is to be cleaned. It runs on the settle loop.
func (c *cleaning) begin() error {
	l := c.l
	w := l.dirt(&c.conf, c.s.c.Now(), c.forced)
	if !w.due {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return l.err
	}
	c.inputs, c.cleaned = slices.Clone(l.segments[:w.segments]), min(l.cleaned, w.segments)
	c.start, c.last, c.release = l.start, -1, l.compaction.holds == 0
	c.txns.cursor = abortedCursor{l: l, segments: slices.Clone(l.segments), tail: slices.Clone(l.aborted.all())}
	switch end := &c.inputs[w.segments-1]; {
	case w.segments == len(l.segments):
		c.last = end.End
		if w.segments > l.cleaned {
			l.compaction.sealed = end.Token
		}
	case end.End == l.stableLocked():
		c.last = end.End
	}
	c.lastOf = make(map[int64]struct{}, len(l.settledProducers.known))
	for _, p := range l.settledProducers.known {
		if p.n > 0 {
			c.lastOf[p.last[p.n-1].base] = struct{}{}
		}
	}
	return nil
}

// batches calls f for each batch of a segment until it returns false. batch is
// valid during the call.
func (c *cleaning) batches(seg *Segment, f func(batch []byte, h *record.Header) (bool, error)) error {
	buf := &c.s.cleaner.read
	for at := seg.Base; at < seg.End; {
		got, err := c.s.m.Read(c.l.p, *seg, at, cleanStep, (*buf)[:0])
		if err != nil {
			return err
		}
		*buf = got
		if len(got) == 0 {
			return nil
		}
		for batch, err := range record.Batches(got) {
			if err != nil {
				return err
			}
			h, err := record.ParseHeader(batch)
			if err != nil {
				return err
			}
			at = h.NextOffset()
			if more, err := f(batch, &h); !more || err != nil {
				return err
			}
		}
		if err := c.rest(len(got)); err != nil {
			return err
		}
	}
	return nil
}

// rest lets others have the processor and the disk after a step.
func (c *cleaning) rest(bytes int) error {
	pause := min(max(cleanRest*time.Since(c.step), cleanRestMin), cleanRestMax)
	if rate := c.s.c.CleanRate; rate > 0 {
		pause = max(0, time.Duration(float64(bytes)/float64(rate)*float64(time.Second))-time.Since(c.step))
	}
	if c.forced {
		pause = 0
	}
	defer func() { c.step = time.Now() }()
	if pause == 0 {
		select {
		case <-c.s.closed:
			return ErrClosed
		default:
			return nil
		}
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-c.s.closed:
		return ErrClosed
	}
}

// gather notes the last offset of each key in the part that no pass has seen.
// Records of aborted transactions hide nothing. If the table fills up, c.mapped is where it does, or where a segment begins
// before that, so that none need be cut.
func (c *cleaning) gather() error {
	c.keys = newKeyTable(c.s.c.CleanMemory)
	c.goal = c.inputs[len(c.inputs)-1].End
	c.mapped = c.goal
	txns := c.txns.clone()
	txns.cursor.segments = txns.cursor.segments[c.cleaned:]
	for i := c.cleaned; i < len(c.inputs); i++ {
		full := int64(-1)
		err := c.batches(&c.inputs[i], func(batch []byte, h *record.Header) (bool, error) {
			if h.Attributes.Control() {
				return true, nil
			}
			if h.Attributes.Transactional() {
				if _, aborted, err := txns.aborted(h); aborted || err != nil {
					return err == nil, err
				}
			}
			if !c.keys.fits(int(h.Count)) {
				full = h.BaseOffset
				return false, nil
			}
			for r, err := range c.s.cleaner.codec.Records(batch) {
				if err != nil {
					return false, err
				}
				if r.Key != nil {
					c.keys.put(r.Key, r.Offset)
				}
			}
			return true, nil
		})
		switch {
		case err != nil:
			return err
		case full >= 0 && i > c.cleaned:
			c.mapped = c.inputs[i].Base
			c.inputs = c.inputs[:i]
			return nil
		case full >= 0:
			c.mapped = full
			c.inputs = c.inputs[:i+1]
			return nil
		}
	}
	return nil
}

// keep decides on a record below c.mapped. Records without a key are from
// before the log was compacted.
func (c *cleaning) keep(r record.Record) bool {
	if c.void || r.Key == nil || c.keys.last(r.Key) > r.Offset {
		return false
	}
	if r.Value == nil {
		if c.horizon {
			c.dropped = true
			return false
		}
		c.graves = true
	}
	return true
}

// rewrite writes what stays.
func (c *cleaning) rewrite() error {
	for i := range c.inputs {
		seg := &c.inputs[i]
		if seg.End <= c.mapped && (seg.Size >= c.conf.SegmentBytes/2 || len(c.inputs) == 1) {
			same, txns := true, c.txns.clone()
			err := c.filter(seg, func(_ []byte, _ *record.Header, changed bool) error {
				same = !changed
				return nil
			}, &same)
			if err != nil {
				return err
			}
			if same {
				if err := c.out.take(*seg); err != nil {
					return err
				}
				continue
			}
			c.txns = txns // the segment is read again
		}
		err := c.filter(seg, func(batch []byte, h *record.Header, _ bool) error {
			if batch == nil {
				return nil
			}
			return c.out.add(batch, h, seg.Created)
		}, nil)
		if err != nil {
			return err
		}
		c.out.stable = seg.LastStable
	}
	return c.out.close()
}

// filter calls emit with what stays of each batch of a segment, nil if nothing
// does, and with whether that differs from the batch. It ends early when
// *unless becomes false.
func (c *cleaning) filter(seg *Segment, emit func(batch []byte, h *record.Header, changed bool) error, unless *bool) error {
	return c.batches(seg, func(batch []byte, h *record.Header) (bool, error) {
		left, err := c.remains(batch, h)
		if err != nil {
			return false, err
		}
		changed := len(left) != len(batch)
		if len(left) > 0 {
			after, err := record.ParseHeader(left)
			if err != nil {
				return false, err
			}
			changed = changed || after.Attributes != h.Attributes || after.Count != h.Count
			h = &after
		} else {
			left = nil
		}
		if err := emit(left, h, changed); err != nil {
			return false, err
		}
		return unless == nil || *unless, nil
	})
}

// remains is what stays of a batch. The last batch of the log, and the last one
// below the last stable offset, stay in any case, so that a reader gets to its
// end, and so does the last one of each producer, which tells its sequence;
// without records if need be.
func (c *cleaning) remains(batch []byte, h *record.Header) ([]byte, error) {
	must := h.NextOffset() == c.last
	if _, ok := c.lastOf[h.BaseOffset]; ok && h.ProducerID >= 0 {
		must = true
	}
	c.entry, c.void = nil, false
	switch {
	case h.Attributes.Control():
		return c.marker(batch, h, must)
	case h.BaseOffset >= c.mapped:
		return batch, nil
	case !must && (h.NextOffset() <= c.start || h.Count == 0):
		return nil, nil
	}
	c.horizon = c.release && h.Attributes.DeleteHorizon() && h.BaseTimestamp <= c.now
	c.graves = false
	if h.Attributes.Transactional() {
		var err error
		if _, c.void, err = c.txns.aborted(h); err != nil {
			return nil, err
		}
	}
	thin, kept, err := c.thinner.Thin(c.s.cleaner.thin[:0], batch)
	if err != nil {
		return nil, fmt.Errorf("batch at offset %d: %w", h.BaseOffset, err)
	}
	c.s.cleaner.thin = thin
	if kept == 0 && !must {
		return nil, nil
	}
	if h.Attributes.Transactional() {
		c.txns.stays(h)
	}
	if c.graves {
		c.expires(h)
	}
	return thin, nil
}
