package scenario

import (
	"errors"
	"fmt"

	"rota/internal/group"
)

// Transactions as the rules see them: offsets that wait for a marker, and the
// marker. Producers are numbers. Over TCP each stands for a producer with a
// transactional id of its own, whose transaction begins with its first commit.

// ending is what an "end-txn" asks for.
type ending struct {
	producer int64
	control  group.Control
}

func txnCommitRequest(q *call, o options) (group.Request, error) {
	c := group.TxnCommit{Version: q.version}
	var err error
	if c.ProducerID, err = producerOf(o); err != nil {
		return nil, err
	}
	if c.MemberID, c.InstanceID, err = identity(o); err != nil {
		return nil, err
	}
	n, err := o.number("generation", -1, 32)
	if err != nil {
		return nil, err
	}
	c.Generation = int32(n)
	if c.Version < 3 && (c.Generation >= 0 || c.MemberID != "" || c.InstanceID != nil) {
		return nil, errors.New("before version 3 a transaction's commit names no member")
	}
	c.Offsets, err = offsetsToCommit(o.args)
	return c, err
}

func producerOf(o options) (int64, error) {
	if _, ok := o.values["producer"]; !ok {
		return 0, errors.New("producer= is missing")
	}
	id, err := o.number("producer", 0, 64)
	if err == nil && id < 0 {
		err = fmt.Errorf("%d is no producer", id)
	}
	return id, err
}

func endRequest(o options) (*ending, error) {
	e := &ending{}
	var err error
	if e.producer, err = producerOf(o); err != nil {
		return nil, err
	}
	switch {
	case len(o.args) == 1 && o.args[0] == "commit":
		e.control = group.ControlCommit
	case len(o.args) == 1 && o.args[0] == "abort":
		e.control = group.ControlAbort
	default:
		return nil, errors.New("a transaction ends with commit or abort")
	}
	return e, nil
}

// markerWords writes an end marker as the log shows it.
func markerWords(e *ending) []string {
	word := "abort"
	if e.control == group.ControlCommit {
		word = "commit"
	}
	return []string{word, fmt.Sprintf("producer=%d", e.producer)}
}

// endTransaction appends a marker and tells every group of it, as a shard does.
// The answer leaves when the marker is durable.
func (s *shell) endTransaction(q *call) error {
	if s.state != serving {
		return errors.New("a marker comes to a shard that serves")
	}
	s.put(Line{Kind: LogOutput, Words: markerWords(q.ends)})
	e := s.entry(group.Batch{ProducerID: q.ends.producer}, group.Record{})
	e.Control = q.ends.control
	s.log = append(s.log, e)
	for _, name := range s.names {
		if g, ok := s.groups[name]; ok {
			if err := g.Apply(e); err != nil {
				return err
			}
		}
	}
	o := &open{ticket: s.next, call: q, answered: true}
	s.next++
	s.tickets[o.ticket] = o
	s.held = append(s.held, heldReply{
		reply: group.Reply{Ticket: o.ticket, After: group.DependsStep, Body: group.Beat{}}, upTo: len(s.log),
	})
	if s.fail {
		return s.endShard()
	}
	if !s.hold {
		return s.becomeDurable()
	}
	return nil
}
