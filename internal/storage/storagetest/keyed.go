package storagetest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
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
}

// keyStory is what happened to one key.
type keyStory struct {
	sent  map[int]bool // numbers; true: a tombstone
	acked int          // the largest that was acknowledged
}

// NewKeyed returns an empty one.
func NewKeyed() *Keyed { return &Keyed{keys: make(map[string]*keyStory)} }

func (k *Keyed) clone() *Keyed {
	k.mu.Lock()
	defer k.mu.Unlock()
	c := &Keyed{keys: make(map[string]*keyStory), n: k.n}
	for key, s := range k.keys {
		c.keys[key] = &keyStory{maps.Clone(s.sent), s.acked}
	}
	return c
}

// Change is one record to write: a number for key, padded, or a tombstone.
type Change struct {
	Key       string
	Tombstone bool
	Padding   int
}

// Batch makes a batch of changes. acked must be called once it is durable.
func (k *Keyed) Batch(codec record.Compression, changes ...Change) (batch []byte, acked func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var b record.Builder
	b.Reset(nil)
	numbers := make([]int, len(changes))
	for i, c := range changes {
		k.n++
		numbers[i] = k.n
		s := k.keys[c.Key]
		if s == nil {
			s = &keyStory{sent: make(map[int]bool)}
			k.keys[c.Key] = s
		}
		s.sent[k.n] = c.Tombstone
		value := fmt.Appendf(nil, "%d:%s", k.n, strings.Repeat("x", c.Padding))
		if c.Tombstone {
			value = nil
		}
		b.Append(int64(1000+k.n), []byte(c.Key), value)
	}
	batch, err := b.FinishCompressed(codec, 0, new(record.Codec))
	if err != nil {
		panic(err)
	}
	return batch, func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		for i, c := range changes {
			s := k.keys[c.Key]
			s.acked = max(s.acked, numbers[i])
		}
	}
}

// Check rebuilds the state from the log as a reader would and compares.
// between, if not nil, is called between two reads.
func (k *Keyed) Check(l *storage.Log, between func()) error {
	k.mu.Lock()
	promised := make(map[string]int)
	for key, s := range k.keys {
		promised[key] = s.acked
	}
	k.mu.Unlock()
	state, err := readState(l, between)
	if err != nil {
		return err
	}
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

// readState reads the log from its start to its high watermark, in small
// steps, and returns the last number of each key.
func readState(l *storage.Log, between func()) (map[string]int, error) {
	defer l.Hold()()
	state := make(map[string]int)
	newest := 0
	// The high watermark of the beginning would not do: compaction drops what
	// has a successor behind it.
	for offset := l.Bounds().Start; offset < l.Bounds().HighWatermark; {
		data, _, err := l.Read(nil, offset, storage.ReadOptions{MaxBytes: 600, Whole: true})
		if err != nil || len(data) == 0 {
			return nil, fmt.Errorf("read offset %d: %d bytes, %w", offset, len(data), err)
		}
		for batch, err := range record.Batches(data) {
			if err != nil {
				return nil, err
			}
			if !record.CheckCRC(batch) || record.NextOffset(batch) <= offset {
				return nil, fmt.Errorf("read offset %d: batch at %d is damaged or does not belong here", offset, record.BaseOffset(batch))
			}
			if _, err := record.Verify(batch, record.Rules{Keys: true, Gaps: true}, new(record.Codec)); err != nil {
				return nil, err
			}
			for r, err := range new(record.Codec).Records(batch) {
				if err != nil {
					return nil, err
				}
				if r.Value == nil {
					delete(state, string(r.Key))
					continue
				}
				number, _, _ := strings.Cut(string(r.Value), ":")
				n, err := strconv.Atoi(number)
				if err != nil || n <= newest || r.Timestamp != int64(1000+n) {
					return nil, fmt.Errorf("offset %d has number %q at time %d after %d", r.Offset, number, r.Timestamp, newest)
				}
				newest = n
				state[string(r.Key)] = n
			}
			offset = record.NextOffset(batch)
		}
		if between != nil {
			between()
		}
	}
	return state, nil
}
