package storage

// blocks says how batches should lie in memory so that settling them costs no
// copy: a medium that writes whole blocks past the page cache takes them from
// where they are if their place in a block of memory is that in the file. Large
// pieces of memory begin with a block; if one did not, they would be copied.
// The zero value knows of no blocks.
type blocks struct {
	size int // a power of two
	lead int // what segments have before their first batch
	// page returns memory for a chunk from which the medium writes at a lower
	// price, and what it lives as long as; nil if there is none.
	page func(size int) (b []byte, keep any)
}

// blockMedium is a Medium that writes whole blocks. lead is what its segments
// have before their first batch.
type blockMedium interface {
	Blocks() (size, lead int)
}

// pageMedium is a blockMedium that has memory from which its writes cost less.
// It may lie outside of the heap, and goes when keep does.
type pageMedium interface {
	Page(size int) (b []byte, keep any)
}

func blocksOf(m Medium) (b blocks) {
	if bm, ok := m.(blockMedium); ok {
		b.size, b.lead = bm.Blocks()
	}
	if pm, ok := m.(pageMedium); ok {
		b.page = pm.Page
	}
	return b
}

// nowhere is no particular place.
const nowhere = -1

// placedBatch is the size from which a batch is worth the gap, of half a block
// on average, that is left in memory to put it into its place.
const placedBatch = 32 << 10

// place is where in a block the byte goes that is at a position of a segment's
// batches.
func (b blocks) place(at int64) int {
	if b.size == 0 {
		return nowhere
	}
	return int((at + int64(b.lead)) & int64(b.size-1))
}

// next is the first position from pos on that has the place.
func (b blocks) next(pos, place int) int {
	if place == nowhere || b.size == 0 {
		return pos
	}
	return pos + (place-pos)&(b.size-1)
}

// placeFor is where in a block the next batch of the log should lie: where it
// will be in its segment, unless another one is begun before.
func (l *Log) placeFor(size int) int {
	b := l.s.tail.blocks
	if b.size == 0 || size < placedBatch {
		return nowhere
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	at := int64(0)
	if n := len(l.segments); n > l.cleaned && l.segments[n-1].Token != l.compaction.sealed {
		at = l.segments[n-1].Size
	}
	if l.entries.len() > 0 {
		at += l.bytes - l.entries.at(0).at
	}
	return b.place(at)
}
