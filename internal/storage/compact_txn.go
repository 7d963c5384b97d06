package storage

import (
	"maps"
	"slices"

	"rota/internal/record"
)

// cleanTransactions is what a pass knows of transactions at a point of its walk
// over the log. All that begin in what it cleans have ended.
type cleanTransactions struct {
	cursor abortedCursor
	// begun are aborted transactions whose markers are ahead, by producer,
	// oldest first.
	begun map[int64][]AbortedTransaction
	// live are the producers of whose transaction at hand a batch stays.
	live map[int64]struct{}
}

// clone is the state at the same point. Each goes its own way.
func (x *cleanTransactions) clone() cleanTransactions {
	c := cleanTransactions{cursor: x.cursor.clone(), begun: maps.Clone(x.begun), live: maps.Clone(x.live)}
	for id, list := range c.begun {
		c.begun[id] = slices.Clip(list)
	}
	return c
}

// aborted returns the aborted transaction that a batch is part of, or the marker
// of, and false if it is none's. Batches come in order.
func (x *cleanTransactions) aborted(h *record.Header) (a AbortedTransaction, ok bool, err error) {
	for {
		a, ok, err := x.cursor.next(h.BaseOffset + 1)
		if err != nil {
			return a, false, err
		}
		if !ok {
			break
		}
		if x.begun == nil {
			x.begun = make(map[int64][]AbortedTransaction)
		}
		x.begun[a.ProducerID] = append(x.begun[a.ProducerID], a)
	}
	list, known := x.begun[h.ProducerID]
	if !known {
		return a, false, nil
	}
	for len(list) > 0 && list[0].Last < h.BaseOffset {
		list = list[1:]
	}
	if len(list) == 0 {
		delete(x.begun, h.ProducerID)
		return a, false, nil
	}
	x.begun[h.ProducerID] = list
	return list[0], list[0].First <= h.BaseOffset, nil
}

// stays notes that a batch of a transaction does.
func (x *cleanTransactions) stays(h *record.Header) {
	if x.live == nil {
		x.live = make(map[int64]struct{})
	}
	x.live[h.ProducerID] = struct{}{}
}

// ends reports, at the marker of a transaction, whether a batch of it stays.
func (x *cleanTransactions) ends(h *record.Header) bool {
	_, ok := x.live[h.ProducerID]
	delete(x.live, h.ProducerID)
	return ok
}

// marker is what stays of a control batch: all of it while anything of its
// transaction is there, and until the delete horizon that it gets then. c.entry
// becomes its entry in the index of aborted transactions, which goes with it.
func (c *cleaning) marker(batch []byte, h *record.Header, must bool) ([]byte, error) {
	a, aborted, err := c.txns.aborted(h)
	if err != nil {
		return nil, err
	}
	if aborted && a.Last == h.BaseOffset {
		c.entry = &a
	}
	if h.BaseOffset >= c.mapped {
		return batch, nil
	}
	live := c.txns.ends(h)
	switch {
	case must || live:
		return batch, nil
	case h.NextOffset() <= c.start || h.Count == 0:
		return nil, nil
	case c.release && h.Attributes.DeleteHorizon() && h.BaseTimestamp <= c.now:
		c.dropped = true
		return nil, nil
	}
	dated, err := c.thinner.Date(c.s.cleaner.thin[:0], batch)
	if err != nil {
		return nil, err
	}
	c.s.cleaner.thin = dated
	c.expires(h)
	return dated, nil
}

// expires notes the delete horizon of a batch that stays for a while.
func (c *cleaning) expires(h *record.Header) {
	horizon := c.thinner.Horizon
	if h.Attributes.DeleteHorizon() {
		horizon = h.BaseTimestamp
	}
	if c.due == 0 || horizon < c.due {
		c.due = max(horizon, 1)
	}
}
