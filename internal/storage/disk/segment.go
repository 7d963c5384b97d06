package disk

import (
	"container/list"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"rota/internal/storage"
	"rota/internal/vfs"
)

// The bytes of a segment: docs/format/segment.md.
const (
	segmentMagic   = "ROTASEGM"
	segmentVersion = 1
	segmentHeader  = 64
)

// segmentHead is the header of a segment and, but for the magic and the seed,
// of its indexes.
type segmentHead struct {
	durability Durability
	partition  storage.Partition
	base       int64
	created    int64  // milliseconds
	crc        uint32 // of the header
}

func (h *segmentHead) encode(magic string, version uint16, seed uint32) []byte {
	b := make([]byte, segmentHeader)
	putPreamble(b, magic, version, h.durability)
	copy(b[16:], h.partition.Topic[:])
	binary.BigEndian.PutUint32(b[32:], uint32(h.partition.Index))
	binary.BigEndian.PutUint64(b[40:], uint64(h.base))
	binary.BigEndian.PutUint64(b[48:], uint64(h.created))
	binary.BigEndian.PutUint32(b[56:], seed)
	binary.BigEndian.PutUint32(b[atFileCRC:], crcAround(b, atFileCRC))
	return b
}

// decodeSegmentHead reads a header. Errors: *storage.CorruptError, *VersionError.
func decodeSegmentHead(file string, b []byte, magic string, version int) (h segmentHead, seed uint32, err error) {
	why, err := checkPreamble(file, b, magic, version)
	if err != nil {
		return h, 0, err
	}
	if why == "" && len(b) < segmentHeader {
		why = "the header is cut off"
	}
	if why == "" && binary.BigEndian.Uint32(b[atFileCRC:]) != crcAround(b[:segmentHeader], atFileCRC) {
		why = "the header's checksum is wrong"
	}
	if why != "" {
		return h, 0, &storage.CorruptError{File: file, Reason: why}
	}
	h = segmentHead{
		durability: Durability(b[10]),
		partition:  storage.Partition{Topic: storage.TopicID(b[16:32]), Index: int32(binary.BigEndian.Uint32(b[32:]))},
		base:       int64(binary.BigEndian.Uint64(b[40:])),
		created:    int64(binary.BigEndian.Uint64(b[48:])),
		crc:        binary.BigEndian.Uint32(b[atFileCRC:]),
	}
	return h, binary.BigEndian.Uint32(b[56:]), nil
}

// validToken keeps a token from leading out of its folder.
func validToken(token string) bool {
	return token != "" && len(token) < 200 && !strings.ContainsAny(token, `/\`) && token[0] != '.'
}

// NewToken implements storage.Medium.
func (m *Medium) NewToken(_ storage.Partition, base int64) string {
	var b [4]byte
	if _, err := io.ReadFull(m.c.Rand, b[:]); err != nil {
		panic("disk: no random numbers: " + err.Error())
	}
	return fmt.Sprintf("%020d-%s", base, hex.EncodeToString(b[:]))
}

// openSegment opens a segment's file and reads its header.
func openSegment(c Config, p storage.Partition, token string) (vfs.File, segmentHead, error) {
	file := segmentPath(p, token)
	f, err := vfs.OpenDirect(c.FS, segmentFullPath(c, segmentKey{p, token}))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, segmentHead{}, &storage.CorruptError{File: file, Reason: "it is missing"}
	}
	if err != nil {
		return nil, segmentHead{}, err
	}
	var b [segmentHeader]byte
	n, err := f.ReadAt(b[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		f.Close()
		return nil, segmentHead{}, err
	}
	h, _, err := decodeSegmentHead(file, b[:n], segmentMagic, segmentVersion)
	if err == nil && h.partition != p {
		err = &storage.CorruptError{File: file, Offset: 16, Reason: "it is another partition's"}
	}
	if err != nil {
		f.Close()
		return nil, segmentHead{}, err
	}
	return f, h, nil
}

// checkSegment checks that a segment and what belongs to it are there and long
// enough.
func checkSegment(c Config, p storage.Partition, s *storage.Segment) error {
	f, h, err := openSegment(c, p, s.Token)
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := f.Size()
	switch {
	case err != nil:
		return err
	case h.base != s.Base:
		return &storage.CorruptError{File: segmentPath(p, s.Token), Offset: 40, Reason: "it begins at another offset than its manifest says"}
	case size < segmentHeader+s.Size:
		return &storage.CorruptError{File: segmentPath(p, s.Token), Offset: size, Reason: fmt.Sprintf("it ends before byte %d, which its manifest covers", segmentHeader+s.Size)}
	case s.Aborted == 0:
		return nil
	}
	x, err := openAborted(c, p, s.Token, &h, s.Aborted)
	if err != nil {
		return err
	}
	return x.f.Close()
}

// Bounds of what a segmentCache keeps of segments that nobody uses. Each round
// of settling needs the last segment of every partition that is written to: one
// that was closed is opened and walked over again.
const (
	minOpenSegments = 256
	maxOpenSegments = 4096
	maxIndexEntries = 1 << 19 // 12 MiB
	// openShare is the part of what the process may have open, a segment in
	// two ways at most.
	openShare = 4
)

type segmentKey struct {
	p     storage.Partition
	token string
}

// segmentFullPath is the name of a segment's file.
func segmentFullPath(c Config, key segmentKey) string {
	return filepath.Join(c.Dir, segmentPath(key.p, key.token))
}

// segment is an open segment.
type segment struct {
	key   segmentKey
	cache *segmentCache
	once  sync.Once
	err   error // why it could not be opened
	f     vfs.File
	head  segmentHead
	index
	// Guarded by index.mu, nil until they are needed.
	aborted  *abortedFile
	pages    vfs.File // f by way of the page cache
	pageless bool     // which cannot be opened
	// suspect: what was read for later was damaged, or could not be read.
	suspect atomic.Bool

	// Guarded by segmentCache.mu.
	users   int
	evicted bool
	place   *list.Element // in the list of unused ones
	cost    int

	// Guarded by readCache.mu.
	reads  []source // of chunks, see readCache.source
	vetted vetted
}

// segmentCache keeps segments open, the least recently used ones go first.
type segmentCache struct {
	c       Config
	read    *readCache
	maxOpen int // of segments that nobody uses

	mu     sync.Mutex
	open   map[segmentKey]*segment
	unused *list.List // front: used last
	cost   int        // index entries of all unused ones
}

func newSegmentCache(c Config) *segmentCache {
	return &segmentCache{
		c: c, read: newReadCache(), maxOpen: min(max(minOpenSegments, vfs.MaxOpen()/openShare), maxOpenSegments),
		open: map[segmentKey]*segment{}, unused: list.New(),
	}
}

// acquire returns an open segment whose index covers at least s.Size at the
// time it was opened. release must follow.
func (sc *segmentCache) acquire(p storage.Partition, s *storage.Segment) (*segment, error) {
	sg := sc.enter(segmentKey{p, s.Token})
	sg.once.Do(func() {
		if sg.f, sg.head, sg.err = openSegment(sc.c, p, s.Token); sg.err == nil {
			sg.err = sg.load(sc.c, sg, s.Size)
		}
	})
	if sg.err != nil {
		sc.forget(sg.key)
		sc.release(sg)
		return nil, sg.err
	}
	return sg, nil
}

// create makes a new segment's file and returns it as acquire does.
func (sc *segmentCache) create(p storage.Partition, token string, head segmentHead) (*segment, error) {
	sc.forget(segmentKey{p, token})
	sg := sc.enter(segmentKey{p, token})
	sg.once.Do(func() {
		sg.head = head
		if sg.f, sg.err = vfs.CreateDirect(sc.c.FS, segmentFullPath(sc.c, sg.key)); sg.err != nil {
			return
		}
		b := head.encode(segmentMagic, segmentVersion, 0)
		sg.head.crc = binary.BigEndian.Uint32(b[atFileCRC:])
		_, sg.err = sg.f.WriteAt(b, 0)
		sg.lastMax = -1
	})
	if sg.err != nil {
		sc.forget(sg.key)
		sc.release(sg)
		return nil, sg.err
	}
	return sg, nil
}

func (sc *segmentCache) enter(key segmentKey) *segment {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	sg := sc.open[key]
	if sg == nil {
		sg = &segment{key: key, cache: sc}
		sc.open[key] = sg
	}
	if sg.place != nil {
		sc.unused.Remove(sg.place)
		sc.cost -= sg.cost
		sg.place = nil
	}
	sg.users++
	return sg
}

// release gives back what acquire returned.
func (sc *segmentCache) release(sg *segment) {
	cost := sg.entryCount()
	sc.mu.Lock()
	sg.users--
	var gone []*segment
	if sg.users == 0 && sg.evicted {
		gone = append(gone, sg)
	} else if sg.users == 0 {
		sg.cost = cost
		sc.cost += cost
		sg.place = sc.unused.PushFront(sg)
		for sc.unused.Len() > sc.maxOpen || sc.cost > maxIndexEntries && sc.unused.Len() > 1 {
			gone = append(gone, sc.evictLocked(sc.unused.Back()))
		}
	}
	sc.mu.Unlock()
	sc.closeAll(gone)
}

// hold keeps a segment that is in use in use. release must follow.
func (sc *segmentCache) hold(sg *segment) {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	sg.users++
}

// evictLocked takes an unused segment out of the cache.
func (sc *segmentCache) evictLocked(e *list.Element) *segment {
	sg, _ := sc.unused.Remove(e).(*segment)
	sg.place, sg.evicted = nil, true
	sc.cost -= sg.cost
	delete(sc.open, sg.key)
	return sg
}

// forget takes a segment out of the cache; its file stays open while used.
func (sc *segmentCache) forget(key segmentKey) {
	sc.mu.Lock()
	var gone []*segment
	if sg := sc.open[key]; sg != nil {
		if sg.place != nil {
			gone = append(gone, sc.evictLocked(sg.place))
		} else {
			sg.evicted = true
			delete(sc.open, key)
		}
	}
	sc.mu.Unlock()
	sc.closeAll(gone)
}

// forgetPartition takes all segments of a partition out of the cache.
func (sc *segmentCache) forgetPartition(p storage.Partition) {
	sc.mu.Lock()
	var keys []segmentKey
	for key := range sc.open {
		if key.p == p {
			keys = append(keys, key)
		}
	}
	sc.mu.Unlock()
	for _, key := range keys {
		sc.forget(key)
	}
}

func (sc *segmentCache) close() {
	sc.read.close()
	sc.mu.Lock()
	var gone []*segment
	for sc.unused.Len() > 0 {
		gone = append(gone, sc.evictLocked(sc.unused.Back()))
	}
	sc.mu.Unlock()
	sc.closeAll(gone)
}

// closeAll closes segments that are out of the cache and not used.
func (sc *segmentCache) closeAll(gone []*segment) {
	for _, sg := range gone {
		sc.read.forget(sg)
		if sg.f != nil {
			sg.f.Close()
		}
		if sg.pages != nil {
			sg.pages.Close()
		}
		if sg.aborted != nil {
			sg.aborted.f.Close()
		}
	}
}
