package storagetest

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"rota/internal/record"
	"rota/internal/storage"
)

// Keyed is a workload of records with keys on one compacted log, and knows
// what a reader may find: of each key the last value that was acknowledged, or
// a later one. Every value is another number, and rises.
type Keyed struct {
	mu   sync.Mutex
	keys map[string]*keyStory
	n    int
	txns []*keyedTxn
	// changes makes up what transactions write.
	changes func() (record.Compression, []Change)
}

// keyStory is what happened to one key.
type keyStory struct {
	sent  map[int]bool  // numbers that may be found; true: a tombstone
	acked map[int]int64 // those that were acknowledged, with their offsets
}

// NewKeyed returns an empty one.
func NewKeyed() *Keyed { return &Keyed{keys: make(map[string]*keyStory)} }

func (k *Keyed) clone() *Keyed {
	k.mu.Lock()
	defer k.mu.Unlock()
	c := &Keyed{keys: make(map[string]*keyStory), n: k.n, changes: k.changes}
	for key, s := range k.keys {
		c.keys[key] = &keyStory{maps.Clone(s.sent), maps.Clone(s.acked)}
	}
	for _, t := range k.txns {
		copied := *t
		copied.wrote, copied.acked = slices.Clone(t.wrote), slices.Clone(t.acked)
		c.txns = append(c.txns, &copied)
	}
	return c
}

// Change is one record to write: a number for key, padded, or a tombstone.
type Change struct {
	Key       string
	Tombstone bool
	Padding   int
}

// Batch makes a batch of changes. acked must be called with its offset once it
// is durable.
func (k *Keyed) Batch(codec record.Compression, changes ...Change) (batch []byte, acked func(base int64)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var b record.Builder
	b.Reset(nil)
	wrote := k.write(&b, changes)
	batch, err := b.FinishCompressed(codec, 0, new(record.Codec))
	if err != nil {
		panic(err)
	}
	return batch, func(base int64) {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.acknowledge(wrote, base)
	}
}

// written is one record.
type written struct {
	key    string
	number int
}

func (k *Keyed) write(b *record.Builder, changes []Change) (wrote []written) {
	for _, c := range changes {
		k.n++
		wrote = append(wrote, written{c.Key, k.n})
		s := k.keys[c.Key]
		if s == nil {
			s = &keyStory{sent: make(map[int]bool), acked: make(map[int]int64)}
			k.keys[c.Key] = s
		}
		s.sent[k.n] = c.Tombstone
		value := fmt.Appendf(nil, "%d:%s", k.n, strings.Repeat("x", c.Padding))
		if c.Tombstone {
			value = nil
		}
		b.Append(int64(1000+k.n), []byte(c.Key), value)
	}
	return wrote
}

func (k *Keyed) acknowledge(wrote []written, base int64) {
	for i, w := range wrote {
		k.keys[w.key].acked[w.number] = base + int64(i)
	}
}

// promised is the newest number that a reader finds of each key when it reads
// up to end.
func (k *Keyed) promised(end int64) map[string]int {
	k.mu.Lock()
	defer k.mu.Unlock()
	promised := make(map[string]int)
	for key, s := range k.keys {
		for n, offset := range s.acked {
			if offset < end {
				promised[key] = max(promised[key], n)
			}
		}
	}
	return promised
}

// Check rebuilds the state from the log as a reader would, once by the markers
// and once as a read_committed consumer, and compares. between, if not nil, is
// called between two reads.
func (k *Keyed) Check(l *storage.Log, between func()) error {
	promised := k.promised(math.MaxInt64)
	state, err := readState(l, between)
	if err == nil {
		err = k.compare(state, promised)
	}
	if err != nil {
		return err
	}
	promised = k.promised(l.Bounds().LastStable)
	state, err = readCommittedState(l, between)
	if err == nil {
		err = k.compare(state, promised)
	}
	if err != nil {
		return fmt.Errorf("read committed: %w", err)
	}
	return nil
}

func (k *Keyed) compare(state, promised map[string]int) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(k.keys)) {
		s := k.keys[key]
		got, there := state[key]
		delete(state, key)
		if !there {
			if !s.mayBeGone(promised[key]) {
				return fmt.Errorf("key %q is gone, %d was acknowledged", key, promised[key])
			}
			continue
		}
		tombstone, sent := s.sent[got]
		if got < promised[key] || tombstone || !sent {
			return fmt.Errorf("key %q has %d, %d was acknowledged", key, got, promised[key])
		}
	}
	if len(state) > 0 {
		return fmt.Errorf("keys that were never sent: %v", state)
	}
	return nil
}

// mayBeGone reports whether a reader may find nothing.
func (s *keyStory) mayBeGone(acked int) bool {
	for n, tombstone := range s.sent {
		if tombstone && n >= acked {
			return true
		}
	}
	return acked == 0
}
