package story

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"rota/internal/display"
)

// maxShown is how many characters of an id or reason a sentence shows.
const maxShown = 200

// Quote shows text that came from a client, harmless for a terminal.
func Quote(s string) string { return `"` + display.One(s, maxShown) + `"` }

// Sentences tell the rebalance, each complete in itself: when, why, the
// phases and who was waited for, who came and went, what moved, how it ended.
func (r *Rebalance) Sentences() []string {
	var s []string
	add := func(more ...string) { s = append(s, more...) }
	to := ""
	if r.To != 0 {
		to = fmt.Sprintf(" to %d", r.To)
	}
	if r.Ending == Running {
		add(fmt.Sprintf("Group %s has been rebalancing since %s, from generation %d%s.", Quote(r.Group), Clock(r.StartedMillis), r.From, to))
	} else {
		add(fmt.Sprintf("Group %s rebalanced at %s, from generation %d%s; it took %s.",
			Quote(r.Group), Clock(r.StartedMillis), r.From, to, Took(r.Took())))
	}
	add(r.Why())
	add(r.joinSentences()...)
	add(r.comings()...)
	if r.Sync != nil && r.Ending == Installed {
		add(fmt.Sprintf("Sync phase: %s, the leader, handed in the assignment after %s%s.",
			r.Leader.Name(), Took(time.Duration(r.Sync.Took)), r.byAssignor()))
	}
	if r.Assignment != nil {
		add(r.Assignment.sentences(r.PartitionsAdded)...)
	}
	if end := r.endSentence(); end != "" {
		add(end)
	}
	return s
}

// Why is the cause in one sentence.
func (r *Rebalance) Why() string {
	t := r.Trigger.Name()
	switch r.Cause {
	case CauseMemberJoined:
		return "Cause: " + t + " joined" + r.because() + "."
	case CauseMemberLeft:
		return "Cause: " + t + " left" + r.because() + "."
	case CauseSessionExpired:
		return "Cause: " + t + " was silent" + r.silence("session timeout") + "."
	case CauseNewMemberTimeout:
		return "Cause: " + t + " was new and waited for its first answer for longer than new members may."
	case CauseJoinDeadline:
		return "Cause: " + t + " did not join again in time."
	case CauseSyncDeadline:
		return "Cause: " + t + " did not send SyncGroup in time" + r.silence("rebalance timeout") + "."
	case CauseProtocolsChanged:
		return "Cause: " + t + " joined again with " + r.Changed.String() + r.because() + "."
	case CauseLeaderRejoined:
		if len(r.PartitionsAdded) > 0 {
			return "Cause: partitions were added, and " + t + ", the leader, joined again for them" + r.because() + "."
		}
		return "Cause: " + t + ", the leader, joined again, as leaders do when the partitions of their topics have changed" + r.because() + "."
	case CauseStaticReplaced:
		return "Cause: " + t + " came back under its instance id and could not simply go on."
	case CauseAssignmentTooLarge:
		return "Cause: the assignment of " + t + " does not fit into a record."
	case CauseGroupFull:
		return "Cause: the group has more members than group.max.size allows."
	case CauseMoved:
		return "Cause: the coordinator moved."
	case CauseOperator:
		return "Cause: an operator."
	case CauseRetention:
	}
	return "Cause: " + display.One(string(r.Cause), maxShown) + ", through " + t + "."
}

// because is the member's own reason.
func (r *Rebalance) because() string {
	if r.Trigger == nil || r.Trigger.Reason == "" {
		return ""
	}
	return ", its reason: " + Quote(r.Trigger.Reason)
}

func (r *Rebalance) silence(limit string) string {
	s := ""
	if r.Silent > 0 {
		s += " for " + Took(time.Duration(r.Silent))
	}
	if r.Timeout > 0 {
		s += fmt.Sprintf(" (%s %s)", limit, Took(time.Duration(r.Timeout)))
	}
	return s
}

func (r *Rebalance) joinSentences() []string {
	if r.Join == nil {
		return nil
	}
	took := Took(time.Duration(r.Join.Took))
	if r.Initial {
		return []string{fmt.Sprintf("Join phase: the group had no members and gathered them for %s (group.initial.rebalance.delay.ms); %s came.", took, count(r.Members, "member"))}
	}
	if len(r.WaitedFor) == 0 {
		return []string{fmt.Sprintf("Join phase: %s, nobody was waited for.", took)}
	}
	how := "the deadline ended it"
	if r.Last != nil {
		how = r.Last.Name() + " was the last"
	}
	const most = 5
	list := r.WaitedFor[max(0, len(r.WaitedFor)-most):]
	waits := make([]string, 0, most)
	for i := len(list) - 1; i >= 0; i-- {
		waits = append(waits, list[i].String())
	}
	more := ""
	if n := len(r.WaitedFor) - len(list) + r.WaitedForMore; n > 0 {
		more = fmt.Sprintf(", and %d more that came earlier", n)
	}
	return []string{
		fmt.Sprintf("Join phase: %s, %s.", took, how),
		"Waited for: " + strings.Join(waits, "; ") + more + ".",
	}
}

// String says how long the wait took and how it ended.
func (w *Waited) String() string {
	took := Took(time.Duration(w.Took))
	switch w.Outcome {
	case OutcomeJoined:
		return fmt.Sprintf("%s, which joined after %s", w.Name(), took)
	case OutcomeLeft:
		return fmt.Sprintf("%s, which left after %s", w.Name(), took)
	case OutcomeExpired:
		return fmt.Sprintf("%s, whose session ended after %s", w.Name(), took)
	case OutcomeDropped:
		return fmt.Sprintf("%s, which had not joined after %s and was dropped", w.Name(), took)
	case OutcomeAbsent:
		if w.InstanceID == "" {
			return fmt.Sprintf("%s, which had not come back after %s with the id that it was given", w.Name(), took)
		}
		return fmt.Sprintf("%s, which had not joined after %s and stays a member because it is static", w.Name(), took)
	case OutcomeRefused:
		return fmt.Sprintf("%s, for which there was no room after %s", w.Name(), took)
	}
	return fmt.Sprintf("%s (%s after %s)", w.Name(), display.One(string(w.Outcome), maxShown), took)
}

// comings says who came and went, but for the trigger.
func (r *Rebalance) comings() []string {
	var s []string
	for _, l := range []struct {
		list []Member
		did  string
	}{
		{r.Joined, "joined"},
		{r.Left, "left"},
		{r.Expired, "expired"},
		{r.Dropped, "dropped for missing the deadline"},
		{r.Refused, "refused for want of room"},
		{r.Replaced, "replaced by a new process with its instance id"},
	} {
		var names []string
		more := 0
		for i := range l.list {
			switch m := &l.list[i]; {
			case r.Trigger != nil && m.ID == r.Trigger.ID:
			case len(names) == 5:
				more++
			default:
				names = append(names, m.Name())
			}
		}
		if len(names) == 0 {
			continue
		}
		if more > 0 {
			names = append(names, fmt.Sprintf("%d more", more))
		}
		s = append(s, "Also "+l.did+": "+strings.Join(names, ", ")+".")
	}
	return s
}

func (r *Rebalance) byAssignor() string {
	if r.Protocol == "" {
		return ""
	}
	return " (assignor " + Quote(r.Protocol) + ")"
}

func (r *Rebalance) endSentence() string {
	switch r.Ending {
	case Running:
		return r.runningSentence()
	case Superseded:
		by := Rebalance{Cause: r.SupersededBy.Cause, Trigger: r.SupersededBy.Trigger}
		return "It was superseded by another rebalance before the assignment had come. " + by.Why()
	case Emptied:
		return "Nobody was left: the group is empty."
	case Interrupted:
		return "It was interrupted: the coordinator moved or restarted, or its log failed."
	case Installed:
	}
	return ""
}

// runningSentence says what a rebalance that runs waits for.
func (r *Rebalance) runningSentence() string {
	const most = 5
	switch {
	case r.Join != nil:
		return "It is still running: it waits for the leader's assignment."
	case r.Initial:
		return "It is still running: the group had no members and gathers them."
	case len(r.Awaited) == 0:
		return "It is still running."
	}
	names := make([]string, 0, most+1)
	for i := range r.Awaited[:min(len(r.Awaited), most)] {
		names = append(names, r.Awaited[i].Name())
	}
	if n := len(r.Awaited) - most; n > 0 {
		names = append(names, fmt.Sprintf("%d more", n))
	}
	limit := ""
	if r.JoinLimit > 0 {
		limit = ", for " + Took(time.Duration(r.JoinLimit)) + " at most"
	}
	return "It is still running: it waits for " + strings.Join(names, ", ") + " to join" + limit + "."
}

// Sentences say what moved.
func (a *Assignment) Sentences() []string { return a.sentences(nil) }

// sentences say what moved where partitions were added to some topics.
func (a *Assignment) sentences(added []TopicChange) []string {
	if !a.Decoded {
		size := 0
		for i := range a.Members {
			size += a.Members[i].AssignmentBytes
		}
		return []string{fmt.Sprintf("The assignment is %d bytes for %s that this broker cannot read.", size, count(len(a.Members)+a.MembersMore, "member"))}
	}
	s := []string{fmt.Sprintf("Partitions: %d assigned to %s, %d kept by their owner, %d moved from one member to another%s%s.",
		a.Partitions, count(len(a.Members)+a.MembersMore, "member"), a.Kept, a.Moved, a.notNeeded(), a.others())}
	for i := range a.Topics {
		t := &a.Topics[i]
		if slices.Contains(added, *t) {
			s = append(s, fmt.Sprintf("Topic %s now has %s, it had %d.", Quote(t.Topic), count(t.After, "partition"), t.Before))
			continue
		}
		s = append(s, fmt.Sprintf("Of topic %s %d partitions are assigned, before it were %d.", Quote(t.Topic), t.After, t.Before))
	}
	const most = 10
	shown, more := 0, a.MembersMore
	for i := range a.Members {
		m := &a.Members[i]
		switch {
		case m.GainedN+m.LostN == 0:
		case shown == most:
			more++
		default:
			s = append(s, m.sentence())
			shown++
		}
	}
	if more > 0 {
		s = append(s, fmt.Sprintf("%d more members are not listed.", more))
	}
	return s
}

func (a *Assignment) notNeeded() string {
	if a.MovesNotNeeded == nil || *a.MovesNotNeeded == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d of these moves were not needed)", *a.MovesNotNeeded)
}

func (a *Assignment) others() string {
	s := ""
	if a.Orphaned > 0 {
		s += fmt.Sprintf(", %d taken over from members that are gone", a.Orphaned)
	}
	if a.Added > 0 {
		s += fmt.Sprintf(", %d that nobody had", a.Added)
	}
	if a.Unassigned > 0 {
		s += fmt.Sprintf(", %d given up and not assigned", a.Unassigned)
	}
	return s
}

func (m *MemberAssignment) sentence() string {
	parts := []string{}
	if m.GainedN > 0 {
		parts = append(parts, "gained "+partitionsText(m.Gained, m.GainedN))
	}
	if m.LostN > 0 {
		parts = append(parts, "lost "+partitionsText(m.Lost, m.LostN))
	}
	return fmt.Sprintf("%s %s, kept %d, and has %d.", capital(m.Name()), strings.Join(parts, ", "), m.Kept, m.Partitions)
}

func partitionsText(list []TopicPartitions, n int) string {
	const most = 20
	var words []string
	shown := 0
	for i := range list {
		t := &list[i]
		k := min(len(t.Partitions), most-shown)
		if k == 0 {
			break
		}
		words = append(words, display.One(t.Topic, maxShown)+" "+Ranges(t.Partitions[:k]))
		shown += k
	}
	if n > shown {
		words = append(words, fmt.Sprintf("and %d more", n-shown))
	}
	if len(words) == 0 {
		return strconv.Itoa(n)
	}
	return strings.Join(words, " ")
}

// Ranges writes sorted partition numbers as "0-3,7".
func Ranges(list []int32) string {
	var s strings.Builder
	for i := 0; i < len(list); {
		j := i
		for j+1 < len(list) && list[j+1] == list[j]+1 {
			j++
		}
		if s.Len() > 0 {
			s.WriteByte(',')
		}
		s.WriteString(strconv.Itoa(int(list[i])))
		if j > i {
			s.WriteString("-" + strconv.Itoa(int(list[j])))
		}
		i = j + 1
	}
	return s.String()
}
