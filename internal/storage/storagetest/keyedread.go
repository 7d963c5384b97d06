package storagetest

import (
	"fmt"
	"strconv"
	"strings"

	"rota/internal/record"
	"rota/internal/storage"
)

// change is one record as a reader of a Keyed log finds it.
type change struct {
	key       string
	number    int // of a tombstone: unknown
	tombstone bool
	offset    int64
}

// keyedState is what a reader has made of a log.
type keyedState map[string]change

// apply takes a change, unless there is a later one in the log.
func (st keyedState) apply(c change) {
	if old, ok := st[c.key]; !ok || old.offset < c.offset {
		st[c.key] = c
	}
}

func (st keyedState) numbers() map[string]int {
	numbers := make(map[string]int)
	for key, c := range st {
		if !c.tombstone {
			numbers[key] = c.number
		}
	}
	return numbers
}

// keyedReader reads the changes in batches.
type keyedReader struct {
	newest int // numbers rise
	codec  record.Codec
}

func (k *keyedReader) changes(batch []byte) (all []change, err error) {
	if !record.CheckCRC(batch) {
		return nil, fmt.Errorf("batch at %d is damaged", record.BaseOffset(batch))
	}
	if _, err := record.Verify(batch, record.Rules{Keys: true, Gaps: true}, &k.codec); err != nil {
		return nil, err
	}
	for r, err := range k.codec.Records(batch) {
		if err != nil {
			return nil, err
		}
		c := change{key: string(r.Key), tombstone: r.Value == nil, offset: r.Offset}
		if !c.tombstone {
			text, _, _ := strings.Cut(string(r.Value), ":")
			if c.number, err = strconv.Atoi(text); err != nil || c.number <= k.newest || r.Timestamp != int64(1000+c.number) {
				return nil, fmt.Errorf("offset %d has number %q at time %d after %d", r.Offset, text, r.Timestamp, k.newest)
			}
			k.newest = c.number
		}
		all = append(all, c)
	}
	return all, nil
}

// readState reads the log from its start to its high watermark, in small
// steps, and returns the last number of each key. Of transactions it goes by
// the markers, as a coordinator does that loads its log.
func readState(l *storage.Log, between func()) (map[string]int, error) {
	defer l.Hold()()
	state := make(keyedState)
	open := make(map[int64][]change)
	var reader keyedReader
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
			h, err := record.ParseHeader(batch)
			if err != nil || h.NextOffset() <= offset {
				return nil, fmt.Errorf("read offset %d: batch %+v, %w", offset, h, err)
			}
			offset = h.NextOffset()
			if h.Attributes.Control() {
				m, _, err := record.MarkerOf(batch)
				if err != nil {
					return nil, err
				}
				for _, c := range open[h.ProducerID] {
					if m.Type == record.ControlCommit {
						state.apply(c)
					}
				}
				delete(open, h.ProducerID)
				continue
			}
			changes, err := reader.changes(batch)
			if err != nil {
				return nil, err
			}
			for _, c := range changes {
				if h.Attributes.Transactional() {
					open[h.ProducerID] = append(open[h.ProducerID], c)
				} else {
					state.apply(c)
				}
			}
		}
		if between != nil {
			between()
		}
	}
	return state.numbers(), nil
}

// readCommittedState is readState of a consumer that goes by the lists of
// aborted transactions.
func readCommittedState(l *storage.Log, between func()) (map[string]int, error) {
	defer l.Hold()()
	state := make(keyedState)
	var reader keyedReader
	err := walkCommitted(l, l.Bounds().Start, 600, func() int64 { return l.Bounds().LastStable }, func(batch []byte) error {
		changes, err := reader.changes(batch)
		for _, c := range changes {
			state.apply(c)
		}
		return err
	}, between)
	return state.numbers(), err
}

// keyedTxn is one transaction of a Keyed workload.
type keyedTxn struct {
	wrote [][]written
	acked []int64 // offsets of the batches; -1: not known
	state txnState
}

func (k *Keyed) begin() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.txns = append(k.txns, &keyedTxn{})
	return len(k.txns) - 1
}

func (k *Keyed) batch(txn int, id int64, epoch int16) (batch []byte, acked func(base int64)) {
	codec, changes := k.changes()
	k.mu.Lock()
	defer k.mu.Unlock()
	var b record.Builder
	b.Reset(nil)
	b.SetProducer(id, epoch, 0)
	b.SetTransactional()
	t := k.txns[txn]
	n := len(t.wrote)
	t.wrote, t.acked = append(t.wrote, k.write(&b, changes)), append(t.acked, -1)
	batch, err := b.FinishCompressed(codec, 0, new(record.Codec))
	if err != nil {
		panic(err)
	}
	return batch, func(base int64) {
		k.mu.Lock()
		defer k.mu.Unlock()
		t.acked[n] = base
	}
}

// ending of one that aborts: none of it may be found.
func (k *Keyed) ending(txn int, commit bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	t := k.txns[txn]
	t.state = txnCommits
	if commit {
		return
	}
	t.state = txnAborted
	for _, wrote := range t.wrote {
		for _, w := range wrote {
			delete(k.keys[w.key].sent, w.number)
		}
	}
}

func (k *Keyed) ended(txn int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	t := k.txns[txn]
	if t.state != txnCommits {
		return
	}
	t.state = txnCommitted
	for i, wrote := range t.wrote {
		k.acknowledge(wrote, t.acked[i])
	}
}
