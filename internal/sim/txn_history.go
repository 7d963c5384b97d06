package sim

import "fmt"

// txnHistory is what transactions have done, as read_committed readers can tell:
// the writes that they see, in the order of each partition, and which writes
// were read by which transactions. Its check finds Adya's anomalies of the
// lower levels:
//
//	G0   transactions of one producer, which come one after the other, write in
//	     different orders in two partitions. Those of different producers may:
//	     a log interleaves them, and no write takes another's place.
//	G1a  somebody has read a write of a transaction that is not committed.
//	G1b  somebody sees writes of a transaction, and not those that it has made
//	     last, though it sees later ones of the same partition.
//	G1c  transactions have read from each other in a circle, or from their
//	     producer's later ones.
type txnHistory struct {
	txns   []historyTxn
	writes [][]historyWrite // of each partition, visible ones only
}

type historyTxn struct {
	name      string
	producer  int
	committed bool
	reads     []int       // transactions
	wrote     map[int]int // how many writes in each partition
}

type historyWrite struct{ txn int }

// check returns the first anomaly.
func (h *txnHistory) check() error {
	for i := range h.txns {
		for _, from := range h.txns[i].reads {
			if !h.txns[from].committed {
				return fmt.Errorf("G1a: %s has read %s, which is not committed", h.txns[i].name, h.txns[from].name)
			}
		}
	}
	if err := h.checkWrites(); err != nil {
		return err
	}
	return h.checkCircles()
}

// checkWrites looks at each partition for itself: G1a and G1b.
func (h *txnHistory) checkWrites() error {
	for p, list := range h.writes {
		seen := map[int]int{}
		for _, wr := range list {
			t := &h.txns[wr.txn]
			if !t.committed {
				return fmt.Errorf("G1a: partition %d shows %s, which is not committed", p, t.name)
			}
			seen[wr.txn]++
		}
		for i := range h.txns {
			if t := &h.txns[i]; t.committed && seen[i] != t.wrote[p] {
				return fmt.Errorf("G1b: partition %d shows %d of %d writes of %s", p, seen[i], t.wrote[p], t.name)
			}
		}
	}
	return nil
}

// checkCircles looks for a circle of reads and of writes of one producer.
func (h *txnHistory) checkCircles() error {
	after := make([][]int, len(h.txns)) // edges from what comes first
	for i := range h.txns {
		for _, from := range h.txns[i].reads {
			after[from] = append(after[from], i)
		}
	}
	for _, list := range h.writes {
		last := map[int]int{}
		for _, wr := range list {
			producer := h.txns[wr.txn].producer
			if before, ok := last[producer]; ok && before != wr.txn {
				after[before] = append(after[before], wr.txn)
			}
			last[producer] = wr.txn
		}
	}
	const underWay, done = 1, 2
	state := make([]uint8, len(h.txns))
	var visit func(i int) error
	visit = func(i int) error {
		state[i] = underWay
		for _, next := range after[i] {
			if state[next] == underWay {
				return fmt.Errorf("G0 or G1c: %s comes before %s, and after it", h.txns[next].name, h.txns[i].name)
			}
			if state[next] != done {
				if err := visit(next); err != nil {
					return err
				}
			}
		}
		state[i] = done
		return nil
	}
	for i := range h.txns {
		if state[i] == 0 {
			if err := visit(i); err != nil {
				return err
			}
		}
	}
	return nil
}

// history is that of the world, read from its partitions once all is over.
func (w *TxnWorld) history() *txnHistory {
	h := &txnHistory{writes: make([][]historyWrite, len(w.partitions))}
	for _, a := range w.attempts {
		t := historyTxn{name: a.String(), producer: a.of, committed: a.outcome == committed, wrote: map[int]int{}}
		for _, from := range a.reads {
			t.reads = append(t.reads, from.number)
		}
		h.txns = append(h.txns, t)
	}
	for p, part := range w.partitions {
		for i := range part.batches {
			if b := &part.batches[i]; !b.marker && b.attempt.outcome == committed {
				h.txns[b.attempt.number].wrote[p]++
			}
		}
		seen, _ := part.read(0, len(part.batches))
		for _, a := range seen {
			h.writes[p] = append(h.writes[p], historyWrite{a.number})
		}
	}
	return h
}
