package storagetest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"

	"rota/internal/storage"
)

// Ledger keeps what a workload has sent and what it was told, and compares it
// with what a store holds. Each value is sent once, or again by the same
// idempotent producer only.
type Ledger struct {
	mu    sync.Mutex
	parts map[storage.Partition]*account
}

// account is the Ledger of one partition.
type account struct {
	sent     map[string]bool
	acked    map[int64]string // by offset
	txns     []*ledgerTxn
	start    int64 // what DeleteRecords was told
	startMax int64 // what it was asked for
	shrinks  bool  // retention may delete
	removal  bool  // Remove has been called
	removed  bool  // and has succeeded
}

// NewLedger returns an empty one.
func NewLedger() *Ledger { return &Ledger{parts: make(map[storage.Partition]*account)} }

// clone is a Ledger that goes its own way.
func (g *Ledger) clone() *Ledger {
	g.mu.Lock()
	defer g.mu.Unlock()
	c := NewLedger()
	for p, a := range g.parts {
		copied := *a
		copied.sent, copied.acked, copied.txns = maps.Clone(a.sent), maps.Clone(a.acked), cloneTxns(a.txns)
		c.parts[p] = &copied
	}
	return c
}

func (g *Ledger) account(p storage.Partition) *account {
	a, ok := g.parts[p]
	if !ok {
		a = &account{sent: make(map[string]bool), acked: make(map[int64]string)}
		g.parts[p] = a
	}
	return a
}

// Sent notes values before they are appended.
func (g *Ledger) Sent(p storage.Partition, values ...string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, v := range values {
		g.account(p).sent[v] = true
	}
}

// Acked notes that values are durable, the first at offset base.
func (g *Ledger) Acked(p storage.Partition, base int64, values ...string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, v := range values {
		g.account(p).acked[base+int64(i)] = v
	}
}

// Deleting notes that records before start are about to be deleted, Deleted
// that they have been.
func (g *Ledger) Deleting(p storage.Partition, start int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	a := g.account(p)
	a.startMax = max(a.startMax, start)
}

// Deleted notes a log start that the workload was told.
func (g *Ledger) Deleted(p storage.Partition, start int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	a := g.account(p)
	a.start = max(a.start, start)
}

// Shrinks notes that retention may delete records of p.
func (g *Ledger) Shrinks(p storage.Partition) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.account(p).shrinks = true
}

// Removing notes that p is about to be removed, Removed that it has been.
func (g *Ledger) Removing(p storage.Partition) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.account(p).removal = true
}

// Removed notes that p is gone.
func (g *Ledger) Removed(p storage.Partition) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.account(p).removed = true
}

// Check reads every log of the store and compares.
func (g *Ledger) Check(s *storage.Store) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	order := func(a, b storage.Partition) int {
		return cmp.Or(cmp.Compare(a.Topic[0], b.Topic[0]), cmp.Compare(a.Index, b.Index))
	}
	for _, p := range slices.SortedFunc(maps.Keys(g.parts), order) {
		if err := g.parts[p].check(s, p); err != nil {
			return fmt.Errorf("partition %x-%d: %w", p.Topic[:1], p.Index, err)
		}
	}
	return nil
}

func (a *account) check(s *storage.Store, p storage.Partition) error {
	l, ok := s.Log(p)
	switch {
	case a.removed && ok:
		return fmt.Errorf("removed, but it is there: %+v", l.Bounds())
	case !ok && !a.removal && len(a.acked) > 0:
		return fmt.Errorf("%d acknowledged records, but it is gone", len(a.acked))
	case !ok:
		return nil
	case a.removal:
		return nil // between the two
	}
	all, bounds, err := readEverything(l)
	if err != nil {
		return err
	}
	if bounds.Start < a.start {
		return fmt.Errorf("starts at %d, below the %d that was promised", bounds.Start, a.start)
	}
	if bounds.Start > a.startMax && !a.shrinks {
		return fmt.Errorf("starts at %d, beyond %d", bounds.Start, a.startMax)
	}
	if err := checkEpochs(l, all); err != nil {
		return err
	}
	if err := a.compare(all, bounds); err != nil {
		return err
	}
	return a.checkCommitted(l)
}

// checkEpochs holds what the log says of leader epochs against its records.
func checkEpochs(l *storage.Log, all []Record) error {
	for i, r := range all {
		if e := l.EpochAt(r.Offset); e != r.Epoch {
			return fmt.Errorf("record %d has epoch %d, the log says %d", r.Offset, r.Epoch, e)
		}
		if i+1 < len(all) && all[i+1].Epoch == r.Epoch {
			continue
		}
		if e, end := l.EndOfEpoch(r.Epoch); e != r.Epoch || end != r.Offset+1 {
			return fmt.Errorf("epoch %d ends behind record %d, the log says epoch %d at %d", r.Epoch, r.Offset, e, end)
		}
	}
	return nil
}

// compare holds the records, read from the log start to the high watermark,
// against what was promised.
func (a *account) compare(all []Record, b storage.Bounds) error {
	at := make(map[string]int64)
	next, epoch := int64(-1), int32(-1)
	for _, r := range all {
		if next >= 0 && r.Offset != next {
			return fmt.Errorf("offset %d follows %d", r.Offset, next-1)
		}
		next = r.Offset + 1
		if r.Epoch < epoch {
			return fmt.Errorf("leader epoch falls from %d to %d at offset %d", epoch, r.Epoch, r.Offset)
		}
		epoch = r.Epoch
		if r.Control {
			continue
		}
		if first, twice := at[r.Value]; twice {
			return fmt.Errorf("%q is at offset %d and again at %d", r.Value, first, r.Offset)
		}
		at[r.Value] = r.Offset
		if !a.sent[r.Value] {
			return fmt.Errorf("%q at offset %d was never sent", r.Value, r.Offset)
		}
	}
	if next >= 0 && next != b.HighWatermark {
		return fmt.Errorf("records end at %d, the high watermark is %d", next, b.HighWatermark)
	}
	for offset, v := range a.acked {
		if got, ok := at[v]; offset >= b.Start && (!ok || got != offset) {
			return fmt.Errorf("%q was acknowledged at offset %d and is at %d (found: %t, log %+v)", v, offset, got, ok, b)
		}
	}
	return nil
}

// ReadAll reads a log from its start to its high watermark. Records of the
// first batch below the start are left out.
func ReadAll(l *storage.Log) ([]Record, storage.Bounds, error) {
	all, b, err := readEverything(l)
	return slices.DeleteFunc(all, func(r Record) bool { return r.Control }), b, err
}

// readEverything is ReadAll with markers.
func readEverything(l *storage.Log) ([]Record, storage.Bounds, error) {
	b := l.Bounds()
	var all []Record
	for offset := b.Start; offset < b.HighWatermark; {
		data, info, err := l.Read(nil, offset, storage.ReadOptions{MaxBytes: 4 << 10, Whole: true})
		if err != nil {
			return all, b, fmt.Errorf("read offset %d: %w", offset, err)
		}
		got, err := recordsAndMarkers(data)
		if err != nil {
			return all, b, fmt.Errorf("read offset %d: %w", offset, err)
		}
		if len(got) == 0 || got[len(got)-1].Offset < offset {
			return all, b, fmt.Errorf("read offset %d: nothing, in log %+v", offset, b)
		}
		if last := got[len(got)-1].Offset; last >= info.HighWatermark {
			return all, b, fmt.Errorf("read offset %d: record %d lies beyond the high watermark %d", offset, last, info.HighWatermark)
		}
		for _, r := range got {
			if r.Offset >= offset && r.Offset < b.HighWatermark {
				all = append(all, r)
			}
		}
		offset = got[len(got)-1].Offset + 1
	}
	return all, b, nil
}
