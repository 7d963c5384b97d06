package history

import (
	"bytes"
	"maps"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kerr"

	"rota/internal/group"
	"rota/internal/schema"
	"rota/internal/story"
)

// What an event keeps of texts that clients choose.
const (
	maxID     = 256
	maxReason = 1024
	maxNames  = 50
)

// Translate writes an event of the rules as the topic has it.
func Translate(id string, e *group.Event) story.Event {
	s := story.Event{
		Version: story.Version, TimeMillis: e.At, Group: valid(id), Kind: story.Kind(e.Kind.String()), Generation: e.Generation,
		Cause: story.Cause(e.Cause.String()), Replaced: cutID(e.Replaced),
		Duration: story.Millis(e.Duration), Timeout: story.Millis(e.Timeout),
		Initial: e.Initial, ProtocolType: cut(e.ProtocolType, maxID), Protocol: cut(e.Protocol, maxID), WaitedForMore: e.WaitedForMore,
	}
	if e.Member != (group.MemberRef{}) || e.Kind == group.CommitRefused {
		m := memberOf(&e.Member)
		s.Member = &m
	}
	if e.Code != 0 {
		s.ErrorCode = int16(e.Code)
		if known := kerr.TypedErrorForCode(s.ErrorCode); known != nil {
			s.Error = known.Message
		}
	}
	if e.Silent > 0 {
		s.LastHeardMillis = e.At - int64(e.Silent/time.Millisecond)
	}
	switch e.Kind {
	case group.OffsetsExpired:
		s.Offsets = e.Count
	case group.EventsLost:
		s.Events = e.Count
	default:
		s.Members = e.Count
	}
	s.WaitedFor = slices.Grow(s.WaitedFor, len(e.WaitedFor))
	for i := range e.WaitedFor {
		w := &e.WaitedFor[i]
		s.WaitedFor = append(s.WaitedFor, story.Waited{Member: memberOf(&w.MemberRef), Took: story.Millis(w.Took), Outcome: story.Outcome(w.Outcome.String())})
	}
	if e.Cause == group.CauseProtocolsChanged && e.Kind == group.RebalanceStarted {
		s.Changed = changeOf(e.OldProtocols, e.NewProtocols)
		if e.Leader && !matters(s.Changed) {
			s.Cause, s.Changed = story.CauseLeaderRejoined, nil
		}
	}
	if e.After != nil {
		s.Assignment = story.Compare(e.Before, e.After)
		for i := range s.Assignment.Members {
			m := &s.Assignment.Members[i].Member
			*m = story.Member{ID: cutID(m.ID), ClientID: cut(m.ClientID, maxID), Host: cut(m.Host, maxID), InstanceID: cut(m.InstanceID, maxID)}
		}
	}
	return s
}

func memberOf(m *group.MemberRef) story.Member {
	return story.Member{
		ID: cutID(m.ID), ClientID: cut(m.ClientID, maxID), Host: cut(m.ClientHost, maxID),
		InstanceID: cut(m.InstanceID, maxID), Reason: cut(m.Reason, maxReason),
	}
}

// cut keeps at most n bytes, and whole characters. What is cut ends with three dots.
func cut(s string, n int) string {
	if len(s) > n {
		n -= len("...")
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n] + "..."
	}
	return valid(s)
}

// cutID keeps at most maxID bytes of a member id, its end among them: that is
// the part which differs between members of one client id, however long that is.
func cutID(id string) string {
	const end = 40
	if len(id) <= maxID {
		return valid(id)
	}
	from := len(id) - end
	for from < len(id) && !utf8.RuneStart(id[from]) {
		from++
	}
	return cut(id, maxID-end) + valid(id[from:])
}

// valid replaces what is no UTF-8, as JSON would.
func valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}

// changeOf says how what a member offers has changed. Metadata is compared
// where both lists have the protocol; the first one with a difference counts.
func changeOf(before, after []group.Protocol) *story.Change {
	c := &story.Change{}
	names := func(list []group.Protocol) []string {
		var s []string
		for i := range list[:min(len(list), maxNames)] {
			s = append(s, cut(list[i].Name, maxID))
		}
		return s
	}
	if b, a := names(before), names(after); !slices.Equal(b, a) {
		c.ProtocolsBefore, c.ProtocolsAfter = b, a
	}
	for i := range after {
		at := slices.IndexFunc(before, func(p group.Protocol) bool { return p.Name == after[i].Name })
		if at >= 0 && !bytes.Equal(before[at].Metadata, after[i].Metadata) {
			compareMetadata(c, before[at].Metadata, after[i].Metadata)
			return c
		}
	}
	return c
}

func compareMetadata(c *story.Change, before, after []byte) {
	b, errBefore := schema.ParseSubscription(before)
	a, errAfter := schema.ParseSubscription(after)
	if errBefore != nil || errAfter != nil {
		c.Opaque = true
		return
	}
	c.TopicsAdded, c.TopicsRemoved = less(a.Topics, b.Topics), less(b.Topics, a.Topics)
	c.Owned = !sameOwned(a.Owned, b.Owned)
	c.UserData = !bytes.Equal(a.UserData, b.UserData)
	c.Opaque = (a.Rack == nil) != (b.Rack == nil) || a.Rack != nil && *a.Rack != *b.Rack
}

// matters is false if all that changed are bytes that do so whenever a client
// joins again: the generation that it knows, in the subscription (KIP-792) or
// in the user data of a sticky assignor. A leader that comes with those alone
// came for another reason.
func matters(c *story.Change) bool {
	return len(c.ProtocolsBefore)+len(c.ProtocolsAfter)+len(c.TopicsAdded)+len(c.TopicsRemoved) > 0 || c.Owned || c.Opaque
}

// less lists what is in a and not in b, sorted.
func less(a, b []string) []string {
	in := make(map[string]bool, len(b))
	for _, s := range b {
		in[s] = true
	}
	var only []string
	for _, s := range a {
		if !in[s] {
			only = append(only, cut(s, maxID))
		}
	}
	slices.Sort(only)
	return only[:min(len(only), maxNames)]
}

// sameOwned reports whether two lists name the same partitions.
func sameOwned(a, b []schema.TopicPartitions) bool {
	type partition struct {
		topic string
		index int32
	}
	set := func(list []schema.TopicPartitions) map[partition]bool {
		all := map[partition]bool{}
		for _, t := range list {
			for _, p := range t.Partitions {
				all[partition{t.Topic, p}] = true
			}
		}
		return all
	}
	return maps.Equal(set(a), set(b))
}
