package scenario

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/group"
)

// The log side of the shell: appends, what waits for them, and reloads.

// at is the offset that the next record gets.
func (s *shell) at() group.Offset { return group.Offset(len(s.log)) }

// effects does what a call of the rules asks for: appends first, then each
// reply as soon as its batch is durable.
func (s *shell) effects(name string, g Machine, e group.Effects) error {
	for _, r := range e.Replies {
		if r.After == group.DependsNothing {
			if err := s.release(g, r); err != nil {
				return err
			}
		}
	}
	start := len(s.log)
	for _, b := range e.Batches {
		if len(b.Records) == 0 {
			return errors.New("a batch without records")
		}
		words := batchWords(b, s.typeOf, s.present().Wall)
		if b.ProducerID >= 0 {
			words = append(words, fmt.Sprintf("producer=%d", b.ProducerID))
		}
		s.put(Line{Kind: LogOutput, Words: words})
		for _, r := range b.Records {
			s.log = append(s.log, s.entry(b, r))
		}
	}
	for _, ev := range e.Events {
		s.lastSegment().events = append(s.lastSegment().events, eventLine(ev))
	}
	for _, r := range e.Replies {
		upTo := 0
		switch r.After {
		case group.DependsStep:
			if len(e.Batches) > 0 {
				upTo = len(s.log)
			}
		case group.DependsGroup:
			upTo = s.lastEntryOf(name)
		default:
			continue
		}
		if o, ok := s.tickets[r.Ticket]; !ok || o.answered {
			return fmt.Errorf("ticket %d is answered, and has no open request", r.Ticket)
		}
		s.tickets[r.Ticket].answered = true
		s.held = append(s.held, heldReply{machine: g, reply: r, upTo: upTo})
	}
	if len(s.log) > start && s.fail {
		return s.endShard()
	}
	if !s.hold {
		return s.becomeDurable()
	}
	return s.releaseHeld()
}

func (s *shell) entry(b group.Batch, r group.Record) group.Entry {
	return group.Entry{
		Offset: s.at(), LeaderEpoch: r.Epoch(s.epoch), ProducerID: b.ProducerID, ProducerEpoch: b.ProducerEpoch,
		Key: r.Key, Value: r.Value,
	}
}

// lastEntryOf returns the end of the last batch of a group. A marker counts as
// one of every group.
func (s *shell) lastEntryOf(name string) int {
	for i, e := range slices.Backward(s.log) {
		if e.Control != group.ControlNone {
			return i + 1
		}
		if of, ok := groupOf(e.Key); ok && of == name {
			return i + 1
		}
	}
	return 0
}

// becomeDurable ends every append in flight.
func (s *shell) becomeDurable() error {
	s.durable = len(s.log)
	return s.releaseHeld()
}

// releaseHeld answers what no longer waits, in the order of the log.
func (s *shell) releaseHeld() error {
	for len(s.held) > 0 && s.held[0].upTo <= s.durable {
		h := s.held[0]
		s.held = s.held[1:]
		if err := s.release(h.machine, h.reply); err != nil {
			return err
		}
	}
	return nil
}

// release lets a reply leave.
func (s *shell) release(g Machine, r group.Reply) error {
	o, ok := s.tickets[r.Ticket]
	if !ok {
		return fmt.Errorf("ticket %d is answered twice, or was never given: %v", r.Ticket, r.Body)
	}
	s.answer(o, r.Body)
	if r.Session {
		g.Released(s.present(), r.Ticket)
	}
	return nil
}

// answer shows the reply and closes the request.
func (s *shell) answer(o *open, body group.Response) {
	delete(s.tickets, o.ticket)
	if j, ok := body.(group.Joined); ok {
		s.given = append(s.given, j.MemberID)
	}
	if s.quiet != nil {
		s.quiet(o.call, body)
		return
	}
	if o.call.client == "" || o.lost {
		return // of the shell itself, or nobody is there to read it
	}
	s.put(Line{Kind: Reply, Who: o.call.client, Words: answerWords(o.call, body)})
}

// endShard is what a failed append comes to: what depends on it is refused,
// memory is thrown away, and the log is read again.
func (s *shell) endShard() error {
	s.fail, s.hold = false, false
	s.put(Line{Kind: LogOutput, Words: []string{"append-failed"}})
	s.lastSegment().events = nil
	return s.reload()
}

func (s *shell) reload() error {
	if err := s.unload(); err != nil {
		return err
	}
	return s.load()
}

// unload answers everything that is open and forgets the groups. What was not
// durable is lost.
func (s *shell) unload() error {
	const notCoordinator = 16
	s.log = s.log[:s.durable]
	for _, h := range s.held {
		o := s.tickets[h.reply.Ticket]
		if o.call.ends != nil {
			s.answer(o, group.Beat{Code: notCoordinator})
			continue
		}
		s.answer(o, group.Refuse(o.call.request, notCoordinator))
	}
	s.held = nil
	for _, name := range s.names {
		g, ok := s.groups[name]
		if !ok {
			continue
		}
		e := g.Unload(s.present())
		for _, r := range e.Replies {
			if err := s.release(g, r); err != nil {
				return err
			}
		}
		if len(e.Batches) > 0 {
			return errors.New("unloading appends records")
		}
	}
	if len(s.tickets) > 0 {
		return fmt.Errorf("%d requests are left without an answer by Unload", len(s.tickets))
	}
	s.groups = map[string]Machine{}
	s.state = loading
	return nil
}

// load reads the log into new groups, under the next leader epoch.
func (s *shell) load() error {
	s.epoch++
	var damage error
	if s.groups, damage = s.replay(); damage != nil {
		s.groups, s.state = map[string]Machine{}, failed
		s.put(Line{Kind: LogOutput, Words: []string{"load-failed"}})
	} else {
		s.state = serving
	}
	for _, name := range s.names {
		if g, ok := s.groups[name]; ok {
			if err := s.effects(name, g, g.Loaded(s.present(), s.at(), s.epoch)); err != nil {
				return err
			}
		}
	}
	return s.settle()
}

// replay folds the durable log into new groups.
func (s *shell) replay() (map[string]Machine, error) {
	groups := map[string]Machine{}
	for _, e := range s.log[:s.durable] {
		if e.Control != group.ControlNone {
			for _, g := range groups { // a marker belongs to all groups of the shard
				if err := g.Apply(e); err != nil {
					return nil, err
				}
			}
			continue
		}
		name, ok := groupOf(e.Key)
		if !ok {
			continue // a type that no reader of this version knows
		}
		g, ok := groups[name]
		if !ok {
			g = s.newMachine(name, s.config)
			groups[name] = g
			if !slices.Contains(s.names, name) {
				s.names = append(s.names, name)
			}
		}
		if err := g.Apply(e); err != nil {
			return nil, err
		}
	}
	return groups, nil
}

// groupOf returns the group that a record belongs to.
func groupOf(key []byte) (string, bool) {
	if len(key) < 2 {
		return "", false
	}
	switch binary.BigEndian.Uint16(key) {
	case typeOldOffset, typeOffset:
		var k kmsg.OffsetCommitKey
		err := k.ReadFrom(key)
		return k.Group, err == nil
	case typeGroup:
		var k kmsg.GroupMetadataKey
		err := k.ReadFrom(key)
		return k.Group, err == nil
	}
	return "", false
}

// appendByHand puts the records of a "log =" line into the log, as if another
// broker had written them: the groups in memory learn of them at the next load.
func (s *shell) appendByHand(st *step) error {
	if s.durable < len(s.log) {
		return errors.New("appends are in flight")
	}
	records, err := st.byHand.encode(s.present().Wall)
	if err != nil {
		return err
	}
	for _, r := range records {
		e := s.entry(group.Batch{ProducerID: st.byHand.producer}, r)
		e.Control = st.byHand.control
		s.log = append(s.log, e)
	}
	s.durable = len(s.log)
	return nil
}

// checkParked compares the requests that the rules hold with those that the
// shell knows to be open.
func (s *shell) checkParked() error {
	parked := map[group.Ticket]bool{}
	for _, g := range s.groups {
		for _, t := range g.Parked() {
			parked[t] = true
		}
	}
	for t, o := range s.tickets {
		if !o.answered && !parked[t] {
			return fmt.Errorf("the %s of %s is neither answered nor parked", o.call.verb, o.call.client)
		}
		delete(parked, t)
	}
	if len(parked) > 0 {
		return fmt.Errorf("the rules hold %d requests that are not open", len(parked))
	}
	return nil
}

// compareWithReplay reads the log back and compares what the groups know, less
// open requests and deadlines.
func (s *shell) compareWithReplay() error {
	if s.state != serving {
		return nil
	}
	if s.durable < len(s.log) {
		return errors.New("appends are still in flight")
	}
	read, err := s.replay()
	if err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	for _, name := range s.names {
		served, ok := s.groups[name]
		if !ok {
			served = s.newMachine(name, s.config)
		}
		again, ok := read[name]
		if !ok {
			again = s.newMachine(name, s.config)
		}
		a, err := durableText(served)
		if err != nil {
			return err
		}
		b, err := durableText(again)
		if err != nil {
			return err
		}
		if a != b {
			return fmt.Errorf("group %q does not come back from its log:\n%s", name, diffText(a, b))
		}
	}
	return nil
}

func (s *shell) typeOf(name string) string { return s.compiler.named(name).protocolType }

// panicSite returns the part of the stack that lies in the rules.
func panicSite() string {
	var b strings.Builder
	for line := range bytes.SplitSeq(debug.Stack(), []byte("\n")) {
		if bytes.Contains(line, []byte("/internal/")) {
			b.Write(bytes.TrimSpace(line))
			b.WriteByte('\n')
		}
	}
	return b.String()
}
