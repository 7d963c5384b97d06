package vfs

import (
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
)

// sectorSize is what a disk writes whole or not at all.
const sectorSize = 512

// track is what a file of a tracked Mem remembers of its past.
type track struct {
	synced  chunks           // what has been synced
	pending []change         // what happened since, in order
	doubt   map[int64][]byte // sectors whose sync failed, as they were then
}

// change is a write or, without data, a truncation to off.
type change struct {
	off      int64
	data     []byte
	truncate bool
}

// wrote begins the record of a write of n bytes.
func (t *track) wrote(off, n int64) {
	t.pending = append(t.pending, change{off: off, data: make([]byte, 0, n)})
}

// copied adds bytes to the write that wrote began.
func (t *track) copied(b []byte) {
	last := &t.pending[len(t.pending)-1]
	last.data = append(last.data, b...)
}

func (t *track) truncated(size int64) {
	t.pending = append(t.pending, change{off: size, truncate: true})
}

// sectors yields the sectors that a write touches.
func (c *change) sectors(yield func(int64) bool) {
	for s := c.off / sectorSize; s*sectorSize < c.off+int64(len(c.data)); s++ {
		if !yield(s) {
			return
		}
	}
}

// settle is a sync that succeeds. Every sector written since the last one is
// now as it is in now, also what an earlier sync left in doubt there: the
// system writes whole pages.
func (t *track) settle(now *chunks) {
	for i := range t.pending {
		c := &t.pending[i]
		if c.truncate {
			t.synced.truncate(c.off)
			maps.DeleteFunc(t.doubt, func(s int64, _ []byte) bool { return s*sectorSize >= c.off })
			continue
		}
		for s := range c.sectors {
			t.synced.writeAt(sector(now, s), s*sectorSize)
			delete(t.doubt, s)
		}
	}
	t.synced.truncate(now.size)
	t.pending = nil
}

// cutsAny reports whether a truncation is not durable.
func (t *track) cutsAny() bool {
	return slices.ContainsFunc(t.pending, func(c change) bool { return c.truncate })
}

// settleRange is a sync of the sectors that n bytes at off touch. No truncation
// is pending.
func (t *track) settleRange(now *chunks, off, n int64) {
	from, to := off/sectorSize*sectorSize, (off+n+sectorSize-1)/sectorSize*sectorSize
	for s := from / sectorSize; s < to/sectorSize; s++ {
		t.synced.writeAt(sector(now, s), s*sectorSize)
		delete(t.doubt, s)
	}
	var rest []change
	for _, c := range t.pending {
		end := c.off + int64(len(c.data))
		if c.off < from {
			rest = append(rest, change{off: c.off, data: c.data[:min(end, from)-c.off]})
		}
		if end > to {
			at := max(c.off, to)
			rest = append(rest, change{off: at, data: c.data[at-c.off:]})
		}
	}
	t.pending = rest
}

// fail is a sync that fails: the system takes the pages for written, so no
// later sync will write them, yet they may or may not be on the disk.
func (t *track) fail(now *chunks) {
	if t.doubt == nil {
		t.doubt = map[int64][]byte{}
	}
	rest := t.pending[:0]
	for i := range t.pending {
		c := t.pending[i]
		if c.truncate {
			rest = append(rest, c)
			continue
		}
		for s := range c.sectors {
			t.doubt[s] = sector(now, s)
		}
	}
	t.pending = rest
}

// sector copies a sector, shorter at the end of the file.
func sector(c *chunks, s int64) []byte {
	b := make([]byte, sectorSize)
	return b[:c.readAt(b, s*sectorSize)]
}

// CrashClone returns the file system as a power loss at this moment could
// leave it: all that was synced, and of what was not, whatever the seed says:
// each write kept, lost or torn by sectors, each change of a name kept or
// lost. The clone has no locks, no faults and nothing unsynced. The Mem must be
// one of NewCrashMem and stays as it is.
//
// Seeds that are 0 modulo 4 lose everything unsynced, 1 keeps everything, 2
// keeps or loses each change whole, 3 also tears writes.
func (m *Mem) CrashClone(seed uint64) *Mem {
	if !m.tracked {
		panic("vfs: CrashClone of a Mem that does not track what is synced")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return &Mem{tracked: true, locks: map[string]bool{}, root: survive(m.root, seed, ".")}
}

// survive returns what is left of a folder or file. Chance depends on the path
// only, not on the order of the walk.
func survive(n *node, seed uint64, path string) *node {
	h := fnv.New64a()
	h.Write([]byte(path))
	luck := &luck{mode: seed % 4, rand: rand.New(rand.NewPCG(seed, h.Sum64()))}
	if !n.isDir() {
		return surviveFile(n, luck)
	}
	names := maps.Clone(n.durable)
	for _, c := range n.moves {
		if luck.keeps() {
			// A file never has two names, whatever was lost before.
			maps.DeleteFunc(names, func(_ string, n *node) bool { return n == c.node || c.other != nil && n == c.other })
			c.apply(names)
		}
	}
	d := newDirNode()
	for _, name := range slices.Sorted(maps.Keys(names)) {
		d.names[name] = survive(names[name], seed, path+"/"+name)
	}
	d.durable = maps.Clone(d.names)
	return d
}

func surviveFile(n *node, luck *luck) *node {
	n.mu.RLock()
	defer n.mu.RUnlock()
	t := n.track
	left := t.synced.clone()
	for _, s := range slices.Sorted(maps.Keys(t.doubt)) {
		if luck.keeps() {
			left.writeAt(t.doubt[s], s*sectorSize)
		}
	}
	for i := range t.pending {
		c := &t.pending[i]
		switch {
		case c.truncate:
			if luck.keeps() {
				left.truncate(c.off)
			}
		case luck.tears():
			for s := range c.sectors {
				if luck.keeps() {
					from, to := max(s*sectorSize, c.off), min((s+1)*sectorSize, c.off+int64(len(c.data)))
					left.writeAt(c.data[from-c.off:to-c.off], from)
				}
			}
		case luck.keeps():
			left.writeAt(c.data, c.off)
		}
	}
	return &node{bytes: left, track: &track{synced: left.clone()}}
}

// luck decides what a crash keeps.
type luck struct {
	mode uint64
	rand *rand.Rand
}

func (l *luck) keeps() bool {
	switch l.mode {
	case 0:
		return false
	case 1:
		return true
	}
	return l.rand.IntN(2) == 0
}

func (l *luck) tears() bool { return l.mode == 3 && l.rand.IntN(2) == 0 }
