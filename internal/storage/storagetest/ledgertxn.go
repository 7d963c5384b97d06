package storagetest

import (
	"fmt"
	"maps"
	"slices"

	"rota/internal/storage"
)

// ledgerTxn is one transaction of an account. What it wrote is among the
// account's values too.
type ledgerTxn struct {
	values map[string]int64 // with the offset; -1: it is not known
	state  txnState
	over   bool // its marker is durable
}

type txnState int

const (
	txnOpen      txnState = iota // nobody may see anything of it
	txnAborted                   // nobody will ever
	txnCommits                   // all of it or nothing may be seen
	txnCommitted                 // all of it is seen
)

// ledgerBook is the book of the transactions of one partition.
type ledgerBook struct {
	ledger *Ledger
	p      storage.Partition
	values func() []string // never used before
}

func (k *ledgerBook) with(f func(a *account)) {
	k.ledger.mu.Lock()
	defer k.ledger.mu.Unlock()
	f(k.ledger.account(k.p))
}

func (k *ledgerBook) begin() (txn int) {
	k.with(func(a *account) {
		txn = len(a.txns)
		a.txns = append(a.txns, &ledgerTxn{values: make(map[string]int64)})
	})
	return txn
}

func (k *ledgerBook) batch(txn int, id int64, epoch int16) (batch []byte, acked func(base int64)) {
	values := k.values()
	k.ledger.Sent(k.p, values...)
	k.with(func(a *account) {
		for _, v := range values {
			a.txns[txn].values[v] = -1
		}
	})
	batch = Batch{Values: values, ProducerID: id, Epoch: epoch, Transactional: true}.Bytes()
	return batch, func(base int64) {
		k.ledger.Acked(k.p, base, values...)
		k.with(func(a *account) {
			for i, v := range values {
				a.txns[txn].values[v] = base + int64(i)
			}
		})
	}
}

func (k *ledgerBook) ending(txn int, commit bool) {
	k.with(func(a *account) {
		a.txns[txn].state = txnAborted
		if commit {
			a.txns[txn].state = txnCommits
		}
	})
}

func (k *ledgerBook) ended(txn int) {
	k.with(func(a *account) {
		if t := a.txns[txn]; t.state == txnCommits {
			t.state = txnCommitted
		}
		a.txns[txn].over = true
	})
}

func cloneTxns(all []*ledgerTxn) []*ledgerTxn {
	c := slices.Clone(all)
	for i, t := range c {
		copied := *t
		copied.values = maps.Clone(t.values)
		c[i] = &copied
	}
	return c
}

// checkCommitted holds what a read_committed reader sees of a log against what
// was promised.
func (a *account) checkCommitted(l *storage.Log) error {
	if len(a.txns) == 0 {
		return nil
	}
	all, b, err := ReadCommitted(l, 4<<10)
	if err != nil {
		return fmt.Errorf("read committed: %w", err)
	}
	seen := make(map[string]bool)
	for _, r := range all {
		seen[r.Value] = true
	}
	in := make(map[string]bool)
	settled := true
	for i, t := range a.txns {
		if err := t.check(seen, &b); err != nil {
			return fmt.Errorf("transaction %d: %w", i, err)
		}
		settled = settled && t.over
		for v := range t.values {
			in[v] = true
		}
	}
	for offset, v := range a.acked {
		if !in[v] && offset >= b.Start && offset < b.LastStable && !seen[v] {
			return fmt.Errorf("%.20q at offset %d belongs to no transaction and is not seen (log %+v)", v, offset, b)
		}
	}
	if settled && b.LastStable != b.HighWatermark {
		return fmt.Errorf("last stable offset %d of %+v although every transaction is over, open: %+v", b.LastStable, b, l.OpenTransactions())
	}
	return nil
}

func (t *ledgerTxn) check(seen map[string]bool, b *storage.Bounds) error {
	here, missing := 0, 0
	for v, offset := range t.values {
		switch {
		case seen[v]:
			here++
		case offset >= b.Start:
			missing++
		}
		if seen[v] && (t.state == txnOpen || t.state == txnAborted) {
			return fmt.Errorf("%.20q is seen although it is not committed (state %d)", v, t.state)
		}
		if !seen[v] && t.state == txnCommitted && offset >= b.Start && offset < b.LastStable {
			return fmt.Errorf("%.20q at offset %d is committed and not seen (log %+v)", v, offset, *b)
		}
	}
	if here > 0 && missing > 0 && t.state == txnCommits {
		return fmt.Errorf("%d of its records are seen, %d are not", here, missing)
	}
	return nil
}
