package story

import (
	"fmt"
	"strings"
	"time"

	"rota/internal/display"
)

// Clock is how sentences write a time.
func Clock(millis int64) string {
	return time.UnixMilli(millis).UTC().Format("2006-01-02 15:04:05.000 UTC")
}

// Took writes a duration with the precision that a reader cares for.
func Took(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return d.Round(time.Microsecond).String()
	case d < time.Second:
		return d.Round(100 * time.Microsecond).String()
	case d < time.Minute:
		return d.Round(10 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// String says what changed.
func (c *Change) String() string {
	if c == nil {
		return "other protocols or metadata"
	}
	var s []string
	if len(c.ProtocolsBefore)+len(c.ProtocolsAfter) > 0 {
		s = append(s, fmt.Sprintf("other assignors (%s instead of %s)", quoted(c.ProtocolsAfter), quoted(c.ProtocolsBefore)))
	}
	if len(c.TopicsAdded) > 0 {
		s = append(s, "a subscription to "+quoted(c.TopicsAdded))
	}
	if len(c.TopicsRemoved) > 0 {
		s = append(s, "no subscription to "+quoted(c.TopicsRemoved)+" any more")
	}
	if c.Owned {
		s = append(s, "other partitions of its own, having given some up or lost them")
	}
	if c.UserData {
		s = append(s, "other user data of its assignor")
	}
	if c.Opaque || len(s) == 0 {
		s = append(s, "other metadata")
	}
	return strings.Join(s, ", ")
}

func quoted(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	const most = 5
	words := make([]string, 0, most+1)
	for i, s := range list {
		if i == most {
			words = append(words, fmt.Sprintf("and %d more", len(list)-most))
			break
		}
		words = append(words, Quote(s))
	}
	return strings.Join(words, ", ")
}

// Sentence tells the event in one line, without its time.
func (e *Event) Sentence() string {
	m := e.Member.Name()
	switch e.Kind {
	case GroupCreated:
		return "The group was created."
	case GroupLoaded:
		return "A coordinator loaded the group with " + count(e.Members, "member") + "."
	case GroupUnloaded:
		return "The coordinator gave up the group with " + count(e.Members, "member") + "."
	case GroupEmptied:
		return "The last member is gone."
	case GroupDeleted:
		return "The group was deleted by " + map[Cause]string{CauseOperator: "an operator", CauseRetention: "retention"}[e.Cause] + "."
	case RebalanceStarted:
		r := Rebalance{Cause: e.Cause, Trigger: e.Member, Changed: e.Changed}
		return "A rebalance starts. " + r.Why()
	case RebalanceSuperseded:
		r := Rebalance{Cause: e.Cause, Trigger: e.Member}
		return "The rebalance starts over, " + Took(time.Duration(e.Duration)) + " into its sync phase. " + r.Why()
	case JoinCompleted:
		r := Rebalance{Initial: e.Initial, Members: e.Members, WaitedFor: e.WaitedFor, WaitedForMore: e.WaitedForMore, Last: e.Member, Join: &Phase{Took: e.Duration}}
		return strings.Join(r.joinSentences(), " ")
	case AssignmentInstalled:
		s := fmt.Sprintf("The group is stable: %s, the leader, handed in the assignment after %s.", m, Took(time.Duration(e.Duration)))
		if e.Assignment != nil {
			s += " " + e.Assignment.Sentences()[0]
		}
		return s
	case MemberReplaced:
		return capital(m) + " came back under a new member id; the old one is fenced."
	case MemberExpired, MemberDropped:
		return capital(m) + e.lossText()
	case MemberLeft:
		return capital(m) + " left" + reasonText(e.Member) + "."
	case MemberRefused, CommitRefused:
		what := map[Kind]string{MemberRefused: "JoinGroup", CommitRefused: "OffsetCommit"}[e.Kind]
		s := fmt.Sprintf("%s of %s was refused with %s", what, m, display.One(e.Error, maxShown))
		if e.Repeated > 0 {
			s += fmt.Sprintf(", and %d more", e.Repeated)
		}
		return s + "."
	case PendingExpired:
		return capital(m) + " did not come back with the member id that it was given."
	case MemberJoined:
		return capital(m) + " is new" + reasonText(e.Member) + "."
	case MemberRejoined:
		return capital(m) + " joined again" + reasonText(e.Member) + "."
	case OffsetsExpired:
		return count(e.Offsets, "committed offset") + " expired."
	case EventsLost:
		return count(e.Events, "event") + " are not told: their records did not become durable."
	}
	return display.One(string(e.Kind), maxShown)
}

func (e *Event) lossText() string {
	how := " was silent"
	if e.Kind == MemberDropped {
		how = " missed the deadline and was dropped"
	}
	if e.Cause == CauseGroupFull {
		return " was dropped: the group is full."
	}
	if e.LastHeardMillis > 0 {
		how += ", last heard of " + Took(time.Duration(e.TimeMillis-e.LastHeardMillis)*time.Millisecond) + " before"
	}
	if e.Timeout > 0 {
		how += " (timeout " + Took(time.Duration(e.Timeout)) + ")"
	}
	return how + "."
}

func reasonText(m *Member) string {
	if m == nil || m.Reason == "" {
		return ""
	}
	return ", its reason: " + Quote(m.Reason)
}
