package storagetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"

	"rota/internal/record"
	"rota/internal/storage"
)

// ErrFault is what injected failures fail with.
var ErrFault = errors.New("injected fault")

// Memory is a Medium without files: what it holds lives as long as it does. It
// may be opened again after Close, as a disk would be.
type Memory struct {
	mu        sync.Mutex
	journal   []storage.Flush
	trimmed   uint64 // flushes up to this one have gone
	epoch     int32  // largest number taken in those
	size      int64  // of the journal
	tokens    int
	segments  map[string][]byte
	aborted   map[string][]storage.AbortedTransaction
	manifests map[storage.Partition]*storage.Manifest

	free       int64
	broken     error // flushes are refused until Reopen
	failFlush  int   // fail the flush that brings it to 0
	keepFailed bool  // keep what failed, as if only the answer were lost
	failSettle int
}

var _ storage.Medium = (*Memory)(nil)

// NewMemory returns an empty medium.
func NewMemory() *Memory {
	return &Memory{
		segments:  make(map[string][]byte),
		aborted:   make(map[string][]storage.AbortedTransaction),
		manifests: make(map[storage.Partition]*storage.Manifest),
		free:      math.MaxInt64,
	}
}

// FailFlush fails the n-th flush from now on (1: the next) and all that follow
// until Reopen. kept leaves its frames in the journal: the outcome of the flush
// is not known to whoever asked for it.
func (m *Memory) FailFlush(n int, kept bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failFlush, m.keepFailed = n, kept
}

// FailSettle fails the n-th round of settling from now on (1: the next) after
// half of its moves.
func (m *Memory) FailSettle(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failSettle = n
}

// SetFree sets what Free returns.
func (m *Memory) SetFree(free int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.free = free
}

// Clone returns a medium that holds what m holds now: what another process
// would find if this one died.
func (m *Memory) Clone() *Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := NewMemory()
	c.journal = slices.Clone(m.journal)
	c.trimmed, c.epoch, c.size, c.tokens = m.trimmed, m.epoch, m.size, m.tokens
	for token, data := range m.segments {
		c.segments[token] = slices.Clone(data)
	}
	for token, entries := range m.aborted {
		c.aborted[token] = slices.Clone(entries)
	}
	maps.Copy(c.manifests, m.manifests)
	return c
}

// Recover hands over every manifest, then every frame.
func (m *Memory) Recover(ctx context.Context, into storage.Recovery) (storage.Report, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.broken = nil
	r := storage.Report{LastFlush: m.trimmed}
	for _, manifest := range m.manifests {
		if err := into.Manifest(copyManifest(manifest)); err != nil {
			return r, err
		}
	}
	if m.trimmed > 0 {
		if err := into.Frame(m.trimmed, storage.Frame{Kind: storage.FrameEpoch, Epoch: m.epoch}); err != nil {
			return r, err
		}
	}
	for _, f := range m.journal {
		if err := ctx.Err(); err != nil {
			return r, err
		}
		for _, frame := range f.Frames {
			if err := into.Frame(f.Number, frame); err != nil {
				return r, err
			}
			r.Frames++
			r.Bytes += int64(len(frame.Batch))
		}
		r.LastFlush = f.Number
	}
	return r, nil
}

// Flush keeps a copy of the frames.
func (m *Memory) Flush(f storage.Flush, written func(), done func(error)) {
	err := m.put(f)
	if err == nil {
		written()
	}
	done(err)
}

func (m *Memory) put(f storage.Flush) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.broken != nil {
		return m.broken
	}
	if want := m.lastLocked() + 1; f.Number != want {
		return fmt.Errorf("flush %d where %d was expected", f.Number, want)
	}
	if m.failFlush--; m.failFlush == 0 {
		m.broken = ErrFault
		if !m.keepFailed {
			return m.broken
		}
	}
	kept := storage.Flush{Number: f.Number, Frames: slices.Clone(f.Frames)}
	for i := range kept.Frames {
		kept.Frames[i].Batch = slices.Clone(kept.Frames[i].Batch)
	}
	m.journal = append(m.journal, kept)
	m.size += flushSize(f)
	return m.broken
}

func (m *Memory) lastLocked() uint64 {
	if n := len(m.journal); n > 0 {
		return m.journal[n-1].Number
	}
	return m.trimmed
}

func flushSize(f storage.Flush) int64 {
	size := int64(0)
	for i := range f.Frames {
		size += int64(len(f.Frames[i].Batch)) + 64
	}
	return size
}

// InFlight is 1: a flush is done when Flush returns.
func (m *Memory) InFlight() int { return 1 }

// Reopen forgets every flush from next on.
func (m *Memory) Reopen(next uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for n := len(m.journal); n > 0 && m.journal[n-1].Number >= next; n-- {
		m.size -= flushSize(m.journal[n-1])
		m.journal = m.journal[:n-1]
	}
	m.broken = nil
	return nil
}

// Trim forgets every flush up to n.
func (m *Memory) Trim(n uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.journal) > 0 && m.journal[0].Number <= n {
		f := m.journal[0]
		m.size -= flushSize(f)
		m.trimmed = f.Number
		for _, frame := range f.Frames {
			if frame.Kind == storage.FrameEpoch {
				m.epoch = max(m.epoch, frame.Epoch)
			}
		}
		m.journal = m.journal[1:]
	}
	return nil
}

// JournalSize counts batches and a little for each frame.
func (m *Memory) JournalSize() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.size
}

// Free is what SetFree said, or unbounded.
func (m *Memory) Free() (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.free, nil
}

// Settle makes the round's new state, all of it unless a fault ends it.
func (m *Memory) Settle(moves []storage.Move) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var err error
	if m.failSettle--; m.failSettle == 0 {
		err = ErrFault
		if err := m.writeLocked(moves); err != nil {
			return err
		}
		moves = moves[:len(moves)/2]
	} else if err := m.writeLocked(moves); err != nil {
		return err
	}
	for _, move := range moves {
		m.manifests[move.Manifest.Partition] = copyManifest(move.Manifest)
	}
	return err
}

// Drop forgets segments.
func (m *Memory) Drop(_ storage.Partition, segments []storage.Segment) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range segments {
		delete(m.segments, s.Token)
		delete(m.aborted, s.Token)
	}
}

func (m *Memory) writeLocked(moves []storage.Move) error {
	for i := range moves {
		for j := range moves[i].Writes {
			if err := m.writeOneLocked(&moves[i].Writes[j]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *Memory) writeOneLocked(w *storage.SegmentWrite) error {
	old := m.segments[w.Token]
	if have := int64(len(old)); w.At > have {
		return fmt.Errorf("write at %d of segment %s, which has %d bytes", w.At, w.Token, have)
	}
	if w.At < int64(len(old)) { // readers may hold the old bytes
		old = old[:w.At:w.At]
	}
	m.segments[w.Token] = append(old, w.Batches...)
	entries := m.aborted[w.Token]
	if w.AbortedAt > int32(len(entries)) {
		return fmt.Errorf("write at entry %d of the index of segment %s, which has %d", w.AbortedAt, w.Token, len(entries))
	}
	if len(w.Aborted) > 0 {
		m.aborted[w.Token] = append(slices.Clip(entries[:w.AbortedAt]), w.Aborted...)
	}
	return nil
}

// Write keeps a copy of the batches.
func (m *Memory) Write(_ storage.Partition, _ int64, w *storage.SegmentWrite) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.writeOneLocked(w)
}

// NewToken counts.
func (m *Memory) NewToken(p storage.Partition, base int64) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tokens++
	return fmt.Sprintf("%x-%d-%d-%d", p.Topic, p.Index, base, m.tokens)
}

// Read walks the segment from its beginning.
func (m *Memory) Read(_ storage.Partition, s storage.Segment, offset int64, limit int, dst []byte) ([]byte, error) {
	data, err := m.segment(s)
	if err != nil {
		return dst, err
	}
	first := true
	for batch, err := range record.Batches(data) {
		if err != nil {
			return dst, &storage.CorruptError{File: s.Token, Reason: err.Error()}
		}
		if record.NextOffset(batch) <= offset {
			continue
		}
		if len(batch) > limit && !first {
			break
		}
		dst = append(dst, batch...)
		limit -= len(batch)
		first = false
	}
	return dst, nil
}

// Aborted hands out three entries at a time.
func (m *Memory) Aborted(_ storage.Partition, s storage.Segment, from int64, dst []storage.AbortedTransaction) ([]storage.AbortedTransaction, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.aborted[s.Token]
	if _, ok := m.segments[s.Token]; !ok || int(s.Aborted) > len(all) {
		return dst, &storage.CorruptError{File: s.Token, Reason: "entries of aborted transactions are missing"}
	}
	n := 0
	for _, a := range all[:s.Aborted] {
		if a.Last >= from && n < 3 {
			dst = append(dst, a)
			n++
		}
	}
	return dst, nil
}

// Seek walks the segment from its beginning.
func (m *Memory) Seek(_ storage.Partition, s storage.Segment, ts int64) (int64, error) {
	data, err := m.segment(s)
	if err != nil {
		return 0, err
	}
	for batch, err := range record.Batches(data) {
		if err != nil {
			return 0, &storage.CorruptError{File: s.Token, Reason: err.Error()}
		}
		if h, err := record.ParseHeader(batch); err == nil && h.MaxTimestamp >= ts && h.Count > 0 {
			return h.BaseOffset, nil
		}
	}
	return s.End, nil
}

func (m *Memory) segment(s storage.Segment) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	data, ok := m.segments[s.Token]
	if !ok || int64(len(data)) < s.Size {
		return nil, &storage.CorruptError{File: s.Token, Offset: int64(len(data)), Reason: "bytes are missing"}
	}
	return data[:s.Size], nil
}

// Remove forgets the partition.
func (m *Memory) Remove(p storage.Partition) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if manifest := m.manifests[p]; manifest != nil {
		for _, s := range manifest.Segments {
			delete(m.segments, s.Token)
			delete(m.aborted, s.Token)
		}
	}
	delete(m.manifests, p)
	return nil
}

// Close does nothing: the medium can be opened again.
func (m *Memory) Close() error { return nil }

func copyManifest(m *storage.Manifest) *storage.Manifest {
	c := *m
	c.Segments = slices.Clone(m.Segments)
	c.Epochs = slices.Clone(m.Epochs)
	c.Producers = slices.Clone(m.Producers)
	return &c
}
