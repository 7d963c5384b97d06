package txn

import (
	"fmt"
	"slices"
)

// check returns the first broken invariant.
func (p *Producer) check() error {
	l := &p.log
	switch {
	case !l.exists && p.timeout != never:
		return fmt.Errorf("a timeout without a transactional id")
	case !l.exists:
		return nil
	case l.ProducerID < 0 || l.ProducerEpoch < 0:
		return fmt.Errorf("producer %d with epoch %d", l.ProducerID, l.ProducerEpoch)
	case l.State != Ongoing && !ending(l.State) && len(l.Partitions) > 0:
		return fmt.Errorf("partitions in %s", l.State)
	case ending(l.State) && len(l.Partitions) == 0:
		return fmt.Errorf("%s without partitions", l.State)
	case l.State == Empty && l.StartedAt != none, l.State != Empty && l.StartedAt == none:
		return fmt.Errorf("%s since %d", l.State, l.StartedAt)
	case l.State != Ongoing && (p.timeout != never || p.needsID):
		return fmt.Errorf("a timeout in %s", l.State)
	case l.State == Ongoing && p.timeout == never && !p.needsID && !p.cfg.TwoPhaseCommit:
		return fmt.Errorf("a transaction without a timeout")
	case len(p.waiting) > 0 && !ending(l.State) && !p.needsID:
		return fmt.Errorf("%d requests wait in %s", len(p.waiting), l.State)
	case l.NextProducerID != none && !ending(l.State):
		return fmt.Errorf("the next producer id is known in %s", l.State)
	}
	for i := range l.Partitions {
		t := &l.Partitions[i]
		if len(t.Partitions) == 0 || !slices.IsSorted(t.Partitions) || i > 0 && l.Partitions[i-1].Topic >= t.Topic {
			return fmt.Errorf("partitions out of order: %v", l.Partitions)
		}
	}
	return nil
}
