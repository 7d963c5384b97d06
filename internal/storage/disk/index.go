package disk

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"

	"rota/internal/record"
	"rota/internal/vfs"
)

// The bytes of an index: docs/format/segment.md.
const (
	indexMagic   = "ROTAINDX"
	indexVersion = 1
	entrySize    = 32
	// indexStep is the least distance between two entries.
	indexStep = 32 << 10
	// saveStep is how many entries are written at a time. Losing fewer costs
	// a walk over 2 MiB of batches.
	saveStep = 64
)

// entry says that the batch at pos begins with offset, and that before may is
// the largest timestamp before it.
type entry struct {
	offset int64
	pos    int64
	before int64
}

// index finds batches in a segment. It is exact up to covered; behind that it
// costs a walk.
type index struct {
	mu      sync.Mutex
	entries []entry
	covered int64 // entries have been made up to here
	lastMax int64 // largest timestamp before covered, -1 = none
	saved   int   // entries in the file
	hints   [16]hint
	turn    int
}

// hint is where a reader stopped, and so where it will go on.
type hint struct{ offset, pos int64 }

// add takes the next batch into account.
func (x *index) add(h *record.Header, pos int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if n := len(x.entries); n == 0 || pos-x.entries[n-1].pos >= indexStep {
		x.entries = append(x.entries, entry{h.BaseOffset, pos, x.lastMax})
	}
	if h.Count > 0 { // compaction leaves batches without records
		x.lastMax = max(x.lastMax, h.MaxTimestamp)
	}
	x.covered = pos + int64(h.Size())
}

// rewind forgets what lies at pos and behind. The state is then that before
// the last entry left: a walk from covered to pos brings it up to date.
func (x *index) rewind(pos int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	n := len(x.entries)
	for n > 0 && x.entries[n-1].pos >= pos {
		n--
	}
	x.covered, x.lastMax = 0, -1
	if n > 0 {
		n--
		x.covered, x.lastMax = x.entries[n].pos, x.entries[n].before
	}
	x.entries = x.entries[:n]
	x.saved = min(x.saved, n)
	clear(x.hints[:])
}

// state returns where the next batch is expected and how many entries wait to
// be written.
func (x *index) state() (covered int64, unsaved int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.covered, len(x.entries) - x.saved
}

func (x *index) entryCount() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.entries)
}

// lookup returns the last known place at or before offset.
func (x *index) lookup(offset, size int64) (e entry) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, h := range x.hints {
		if h.offset == offset && h.pos > 0 && h.pos < size {
			return entry{offset: -1, pos: h.pos}
		}
	}
	n, _ := slices.BinarySearchFunc(x.entries, offset, func(e entry, offset int64) int {
		if e.offset <= offset && e.pos < size {
			return -1
		}
		return 1
	})
	if n == 0 {
		return entry{offset: -1}
	}
	return x.entries[n-1]
}

// exactly returns the place of the batch that begins with offset, or is the
// first behind it, if that is known without a walk, and the offset that it must
// begin with, -1 if that is not known.
func (x *index) exactly(offset, size int64) (pos, first int64, ok bool) {
	e := x.lookup(offset, size)
	return e.pos, e.offset, e.offset == offset || e.offset < 0 && e.pos > 0
}

// lastEntry returns the last entry that neither begins behind pos nor with an
// offset above offset: all batches before it end below both. The zero entry
// says that there is none.
func (x *index) lastEntry(pos, offset int64) entry {
	x.mu.Lock()
	defer x.mu.Unlock()
	n, _ := slices.BinarySearchFunc(x.entries, pos, func(e entry, pos int64) int {
		if e.pos <= pos && e.offset <= offset {
			return -1
		}
		return 1
	})
	if n == 0 {
		return entry{}
	}
	return x.entries[n-1]
}

// lookupTime returns the last place before which no timestamp is ts or later.
func (x *index) lookupTime(ts, size int64) (e entry) {
	x.mu.Lock()
	defer x.mu.Unlock()
	n, _ := slices.BinarySearchFunc(x.entries, ts, func(e entry, ts int64) int {
		if e.before < ts && e.pos < size {
			return -1
		}
		return 1
	})
	if n == 0 {
		return entry{offset: -1}
	}
	return x.entries[n-1]
}

// remember notes where a reader stopped.
func (x *index) remember(offset, pos int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for i := range x.hints {
		if x.hints[i].offset == offset {
			x.hints[i].pos = pos
			return
		}
	}
	x.hints[x.turn] = hint{offset, pos}
	x.turn = (x.turn + 1) % len(x.hints)
}

// load fills a new segment's index from its file, and makes what is missing up
// to size.
func (x *index) load(c Config, sg *segment, size int64) error {
	x.lastMax = -1
	x.entries = readIndex(c, sg, size)
	x.saved = len(x.entries)
	first := int64(-1)
	if n := len(x.entries); n > 0 {
		// The last entry is made again with the batches that follow it.
		first = x.entries[n-1].offset
		x.covered, x.lastMax = x.entries[n-1].pos, x.entries[n-1].before
		x.entries = x.entries[:n-1]
	}
	err := sg.extend(size, first)
	if err != nil && x.saved > 0 {
		// The entry may be wrong, or the segment. Without entries the walk tells.
		x.entries, x.saved, x.covered, x.lastMax = nil, 0, 0, -1
		err = sg.extend(size, -1)
	}
	x.saved = min(x.saved, len(x.entries))
	if err == nil && len(x.entries)-x.saved >= c.saveEvery {
		sg.save(c)
	}
	return err
}

// extend walks from where the index ends to the position to. first is the
// offset that must be found where it begins, -1 if that is not known.
func (sg *segment) extend(to, first int64) error {
	from, _ := sg.state()
	return sg.walk(from, to, first, func(h *record.Header, pos int64) bool {
		sg.add(h, pos)
		return true
	})
}

// rebuild makes the whole index again.
func (sg *segment) rebuild(size int64) error {
	fresh := &segment{key: sg.key, f: sg.f, head: sg.head}
	fresh.lastMax = -1
	if err := fresh.extend(size, -1); err != nil {
		return err
	}
	sg.mu.Lock()
	defer sg.mu.Unlock()
	sg.entries, sg.covered, sg.lastMax, sg.saved = fresh.entries, fresh.covered, fresh.lastMax, 0
	clear(sg.hints[:])
	return nil
}

// readIndex returns the entries of an index file that hold; none if there is
// no such file.
func readIndex(c Config, sg *segment, size int64) []entry {
	file := indexPath(sg.key.p, sg.key.token)
	b, err := vfs.ReadFile(c.FS, filepath.Join(c.Dir, file), segmentHeader+entrySize*(size/indexStep+1)+1<<20)
	if err != nil {
		return nil
	}
	h, seed, err := decodeSegmentHead(file, b, indexMagic, indexVersion)
	if err != nil || seed != sg.head.crc || h.partition != sg.key.p {
		return nil
	}
	var entries []entry
	last := entry{offset: -1, pos: -1, before: -1}
	for b = b[segmentHeader:]; len(b) >= entrySize; b = b[entrySize:] {
		e, ok := decodeEntry(b, seed)
		if !ok || e.offset <= last.offset || e.pos <= last.pos || e.before < last.before || e.pos >= size {
			break
		}
		entries = append(entries, e)
		last = e
	}
	return entries
}

func decodeEntry(b []byte, seed uint32) (e entry, ok bool) {
	be := binary.BigEndian
	if be.Uint32(b[28:]) != crc32.Update(seed, castagnoli, b[:28]) {
		return e, false
	}
	return entry{int64(be.Uint64(b)), int64(be.Uint64(b[8:])), int64(be.Uint64(b[16:]))}, true
}

func appendEntry(b []byte, e entry, seed uint32) []byte {
	from := len(b)
	be := binary.BigEndian
	b = be.AppendUint64(b, uint64(e.offset))
	b = be.AppendUint64(b, uint64(e.pos))
	b = be.AppendUint64(b, uint64(e.before))
	b = be.AppendUint32(b, 0)
	return be.AppendUint32(b, crc32.Update(seed, castagnoli, b[from:]))
}

// save writes the entries that the file does not have. A failure costs
// nothing but a walk later.
func (sg *segment) save(c Config) {
	sg.mu.Lock()
	saved, entries := sg.saved, slices.Clone(sg.entries[sg.saved:])
	sg.mu.Unlock()
	if err := sg.writeIndex(c, saved, entries); err != nil {
		c.Log.Warn("index cannot be written", "file", indexPath(sg.key.p, sg.key.token), "err", err)
		return
	}
	sg.mu.Lock()
	defer sg.mu.Unlock()
	sg.saved = max(sg.saved, saved+len(entries))
}

func (sg *segment) writeIndex(c Config, saved int, entries []entry) error {
	path := filepath.Join(c.Dir, indexPath(sg.key.p, sg.key.token))
	f, err := c.FS.Open(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && saved == 0 {
		if err == nil {
			f.Close()
		}
		f, err = c.FS.Create(path)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	var b []byte
	at := int64(segmentHeader + saved*entrySize)
	if saved == 0 {
		b, at = sg.head.encode(indexMagic, indexVersion, sg.head.crc), 0
	}
	for _, e := range entries {
		b = appendEntry(b, e, sg.head.crc)
	}
	_, err = f.WriteAt(b, at)
	return err
}
