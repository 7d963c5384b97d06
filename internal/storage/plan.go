package storage

import (
	"slices"

	"rota/internal/record"
)

// plan is what a round does to one log.
type plan struct {
	l         *Log
	entries   int // leave the tail
	pins      pins
	producers producers
	move      Move
	drop      []Segment // when the move is the log's state
}

// plan works out how the log's batches of flushes up to cut get into segments.
// It is nil if there is nothing to do. The entries stay where they are until
// commit: nobody else removes durable ones.
func (w *settler) plan(l *Log, cut uint64, now int64) (*plan, error) {
	l.mu.Lock()
	n := 0
	for n < l.sent && l.entries.at(n).flush <= cut {
		n++
	}
	if l.corrupt || n == 0 && l.start == l.settledStart {
		l.mu.Unlock()
		return nil, nil
	}
	w.scratch = append(w.scratch[:0], l.entries.all()[:n]...)
	p := &plan{l: l, entries: n, producers: l.settledProducers}
	m := &Manifest{Partition: l.p, Start: l.start, End: l.settled, Flush: cut, Cleaned: l.cleaned}
	if n > 0 {
		m.End = w.scratch[n-1].next()
	}
	m.Epochs = epochsWithin(l.epochs, m.Start, m.End)
	segments, sealed := l.segments, l.compaction.sealed
	p.drop = l.compaction.leftOver
	l.mu.Unlock()

	conf := l.Config()
	p.move.Manifest = m
	m.Segments = append(make([]Segment, 0, len(segments)+1), segments...)
	w.slabs.placed = n > 0 && w.scratch[n-1].at-w.scratch[0].at >= placedSlab
	cloned := false
	for i := range w.scratch {
		e := &w.scratch[i]
		h, err := record.ParseHeader(e.batch())
		if err != nil {
			return nil, err
		}
		p.pins.add(e.chunk)
		seg := l.segmentFor(m, e, &conf, sealed, now)
		w.slabs.write(&p.move, seg, e)
		seg.Size += int64(e.size)
		seg.End = e.next()
		if h.MaxTimestamp > seg.MaxTimestamp {
			seg.MaxTimestamp, seg.MaxTimestampOffset = h.MaxTimestamp, e.base
		}
		if h.ProducerID >= 0 {
			if !cloned {
				p.producers, cloned = p.producers.clone(), true
			}
			if err := p.fold(&h, e, seg, now); err != nil {
				return nil, err
			}
		}
		seg.LastStable = p.producers.spans.stable(seg.End)
	}
	m.LastStable = p.producers.spans.stable(m.End)
	m.Producers = p.producers.encode()
	clear(w.scratch)
	return p, nil
}

// fold takes a producer's batch, which has been added to seg, into what the
// manifest says of producers, and what it aborts into the segment's index.
func (p *plan) fold(h *record.Header, e *entry, seg *Segment, now int64) error {
	aborted, err := p.producers.fold(h, e.batch(), e.base, now)
	if err != nil {
		return err
	}
	p.producers.spans.forget(e.next())
	if aborted != nil {
		w := &p.move.Writes[len(p.move.Writes)-1]
		w.Aborted = append(w.Aborted, *aborted)
		seg.Aborted++
	}
	return nil
}

// segmentFor is the segment that the next batch goes to: the last one, or a
// new one behind it. Compaction has, or is about to have, those that are
// cleaned or sealed.
func (l *Log) segmentFor(m *Manifest, e *entry, conf *LogConfig, sealed string, now int64) *Segment {
	if n := len(m.Segments); n > m.Cleaned && m.Segments[n-1].Token != sealed {
		last := &m.Segments[n-1]
		if last.Size+int64(e.size) <= conf.SegmentBytes && now-last.Created < conf.rollAge().Milliseconds() {
			return last
		}
	}
	m.Segments = append(m.Segments, Segment{
		Base: e.base, End: e.base, MaxTimestamp: record.None, MaxTimestampOffset: e.base,
		Created: now, LastStable: e.base, Token: l.token(e.base),
	})
	return &m.Segments[len(m.Segments)-1]
}

// token names the segment that begins at base. A round that is tried again
// uses the names of the first attempt, so that failed ones leave nothing
// behind. Only the settle loop uses l.tokens.
func (l *Log) token(base int64) string {
	token, ok := l.tokens[base]
	if !ok {
		token = l.s.m.NewToken(l.p, base)
		if l.tokens == nil {
			l.tokens = make(map[int64]string)
		}
		l.tokens[base] = token
	}
	return token
}

// commit makes the plan the log's state after the medium has done its part.
func (p *plan) commit() {
	l, m := p.l, p.move.Manifest
	l.mu.Lock()
	l.entries.pop(p.entries)
	l.sent -= p.entries
	l.segments = m.Segments
	l.settled, l.settledStart, l.settledFlush = m.End, m.Start, m.Flush
	l.settledProducers = p.producers
	n := 0
	for n < l.aborted.len() && l.aborted.at(n).Last < m.End {
		n++
	}
	l.aborted.pop(n)
	l.epochs = epochsSince(l.epochs, m.Start)
	p.dropUnusedLocked()
	l.compaction.leftOver = nil
	l.mu.Unlock()
	p.pins.release()
}

// dropUnusedLocked drops the segments that an earlier attempt has made and this
// one had no use for: its batches went elsewhere.
func (p *plan) dropUnusedLocked() {
	for _, token := range p.l.tokens {
		if !slices.ContainsFunc(p.move.Manifest.Segments, func(s Segment) bool { return s.Token == token }) {
			p.drop = append(slices.Clip(p.drop), Segment{Token: token})
		}
	}
	p.l.tokens = nil
}

const (
	// slabSize bounds one write to a segment unless a batch is larger.
	slabSize = 1 << 20
	// smallBatch is the size below which batches are copied together: listing
	// each would cost more.
	smallBatch = 4 << 10
	// placedSlab is how much of a log a round must have before the gap that
	// is left in memory, of half a block on average, is worth it.
	placedSlab = 64 << 10
)

// slabs is the memory in which a round gathers small batches.
type slabs struct {
	blocks blocks
	all    [][]byte
	used   int  // all[:used] have been begun in this round
	most   int  // largest used since the last trim
	placed bool // what is copied next is enough to be put into its place
}

func (g *slabs) reset() {
	for i := range g.all[:g.used] {
		g.all[i] = g.all[i][:0]
	}
	g.used = 0
}

// trim gives back what has not been needed since the last trim.
func (g *slabs) trim() {
	g.reset()
	clear(g.all[g.most:])
	g.all = g.all[:g.most]
	g.most = 0
}

// write adds the batch to the move's writes: to the last one if it continues
// there.
func (g *slabs) write(m *Move, seg *Segment, e *entry) {
	b := e.batch()
	last := len(m.Writes) - 1
	if last >= 0 && m.Writes[last].Token == seg.Token && len(m.Writes[last].Batches)+len(b) <= slabSize {
		w := &m.Writes[last]
		switch {
		case adjoins(w.Batches, b): // one behind the other in a chunk
			w.Batches = w.Batches[:len(w.Batches)+len(b)]
			return
		case len(b) < smallBatch && g.extend(w, b):
			return
		}
	}
	if len(b) < smallBatch {
		b = g.copy(b, seg.Size)
	} else {
		b = e.chunk.buf[e.pos : e.pos+e.size] // with the capacity to be extended
	}
	m.Writes = append(m.Writes, SegmentWrite{Token: seg.Token, Base: seg.Base, At: seg.Size, Batches: b, AbortedAt: seg.Aborted})
}

// adjoins reports whether b lies directly behind a in memory that a may be
// extended over.
func adjoins(a, b []byte) bool {
	return cap(a)-len(a) >= len(b) && &a[:len(a)+1][len(a)] == &b[0]
}

// extend copies b behind w, if w is what was copied last and has room.
func (g *slabs) extend(w *SegmentWrite, b []byte) bool {
	if g.used == 0 {
		return false
	}
	slab := &g.all[g.used-1]
	if cap(*slab)-len(*slab) < len(b) || cap(w.Batches)-len(w.Batches) < len(b) || &(*slab)[len(*slab)-1] != &w.Batches[len(w.Batches)-1] {
		return false
	}
	*slab = append(*slab, b...)
	w.Batches = w.Batches[:len(w.Batches)+len(b)]
	return true
}

// copy keeps b, which goes to that position of its segment, in a slab.
func (g *slabs) copy(b []byte, position int64) []byte {
	place := nowhere
	if g.placed {
		place = g.blocks.place(position)
	}
	if g.used == 0 || g.blocks.next(len(g.all[g.used-1]), place)+len(b) > cap(g.all[g.used-1]) {
		if g.used == len(g.all) {
			g.all = append(g.all, make([]byte, 0, slabSize))
		}
		g.used++
		g.most = max(g.most, g.used)
	}
	slab := &g.all[g.used-1]
	at := g.blocks.next(len(*slab), place)
	*slab = append((*slab)[:at], b...)
	return (*slab)[at:]
}
