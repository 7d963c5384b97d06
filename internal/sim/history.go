package sim

import "rota/internal/group"

// operation is one commit or fetch of one partition, as a client saw it.
type operation struct {
	client       int
	group        int
	part         part
	write        bool
	offset       int64 // committed, or found
	begun, ended int   // steps; ended is forever if nobody knows
	// outcome: known, refused for certain, or unknown.
	outcome outcome
}

type outcome uint8

const (
	open outcome = iota
	succeeded
	refused
	unknown
)

// historyCall notes that a client sends a commit or a fetch.
func (w *World) historyCall(c *call) {
	if !w.o.history {
		return
	}
	op := operation{client: c.actor.number, group: c.group, begun: w.steps}
	switch r := c.req.(type) {
	case group.Commit:
		op.write, op.offset, op.part = true, r.Offsets[0].Offset, partOf(r.Offsets[0].Topic, r.Offsets[0].Partition)
	case group.FetchOffsets:
		if r.All {
			return
		}
		op.part = partOf(r.Partitions[0].Topic, r.Partitions[0].Partition)
	default:
		return
	}
	c.op = len(w.past)
	w.past = append(w.past, op)
}

// historyReturn notes what the client is told.
func (w *World) historyReturn(c *call) {
	if c.op < 0 {
		return
	}
	op := &w.past[c.op]
	op.ended = w.steps
	switch b := c.body.(type) {
	case group.Committed:
		switch b.Codes[0] {
		case 0:
			op.outcome = succeeded
		case codeNotCoordinator:
			op.outcome = unknown
		default:
			op.outcome = refused
		}
	case group.FetchedOffsets:
		op.outcome = refused
		if b.Code == 0 {
			op.outcome, op.offset = succeeded, b.Offsets[0].Offset
		}
	}
}

// historyLost notes that the client will be told nothing.
func (w *World) historyLost(c *call) {
	if c.op >= 0 && w.past[c.op].outcome == open {
		w.past[c.op].outcome = unknown
	}
}
