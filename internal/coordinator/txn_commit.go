package coordinator

import (
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"

	"rota/internal/group"
)

// Permit is the leave to commit a group's offsets within the open transaction
// of a producer. It is taken before the transaction coordinator is asked
// whether there is one, and is void from the moment at which that transaction
// ends: an offset that came behind its marker would be pending for ever.
type Permit struct {
	of  *endings
	key ending
	// void is guarded by of.mu.
	void bool
}

// ending names what a marker ends: a producer's transaction, as far as one
// partition of __consumer_offsets has part in it.
type ending struct {
	partition int32
	producer  int64
}

// endings are the permits that are out.
type endings struct {
	mu      sync.Mutex
	permits map[ending][]*Permit
}

// take gives out a permit.
func (s *endings) take(key ending) *Permit {
	p := &Permit{of: s, key: key}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.permits == nil {
		s.permits = make(map[ending][]*Permit)
	}
	s.permits[key] = append(s.permits[key], p)
	return p
}

// end makes the permits for a transaction void. It is called before the marker
// is brought to the shard.
func (s *endings) end(key ending) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.permits[key] {
		p.void = true
	}
	delete(s.permits, key)
}

// Good reports whether no marker has come since the permit was taken.
func (p *Permit) Good() bool {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	return !p.void
}

// Release gives a permit back, used or not. Every permit is given back once.
func (p *Permit) Release() {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	if p.void {
		return
	}
	list := p.of.permits[p.key]
	for i, other := range list {
		if other == p {
			list[i] = list[len(list)-1]
			list[len(list)-1] = nil
			list = list[:len(list)-1]
			break
		}
	}
	if len(list) == 0 {
		delete(p.of.permits, p.key)
	} else {
		p.of.permits[p.key] = list
	}
}

// TakePermit takes the leave to commit offsets of the group within the
// transaction that the producer has open now. The transaction coordinator is
// to be asked afterwards whether it has one.
func (c *Coordinator) TakePermit(groupID string, producerID int64) *Permit {
	return c.endings.take(ending{c.PartitionOf(groupID), producerID})
}

var codeInvalidTxnState = group.Code(kerr.InvalidTxnState.Code)

// CommitInTransaction is Submit for a TxnCommit. It is refused with
// INVALID_TXN_STATE if the transaction has ended since the permit was taken.
// The caller gives the permit back when done has been called.
func (c *Coordinator) CommitInTransaction(groupID string, req group.TxnCommit, p *Permit, done func(group.Response)) {
	if code := c.refusedAtOnce(groupID, req); code != 0 {
		done(group.Refuse(req, code))
		return
	}
	asked := input[group.Request, group.Response, group.Event]{asked: true, req: req, id: groupID, done: done}
	if !c.runners[c.PartitionOf(groupID)].control(func(r *runner[group.Request, group.Response, group.Event]) {
		if !p.Good() {
			r.refused = append(r.refused, Release[group.Response]{Done: done, Body: group.Refuse(req, codeInvalidTxnState)})
			return
		}
		r.request(&asked)
	}) {
		done(group.Refuse(req, codeCoordinatorNotAvailable))
	}
}
