package story

import "time"

// Ending says how a rebalance ended.
type Ending string

const (
	Running     Ending = "running"     // it has not
	Installed   Ending = "installed"   // every member can have its assignment
	Superseded  Ending = "superseded"  // the next one began first
	Emptied     Ending = "emptied"     // nobody was left
	Interrupted Ending = "interrupted" // the coordinator moved or restarted, or its log failed
)

// Rebalance is one rebalance of a group, from its cause to its end.
type Rebalance struct {
	Group string `json:"group"`
	// StartedMillis and EndedMillis are Unix times by the broker's clock; the
	// end of one that runs is that of its newest event.
	StartedMillis int64  `json:"started_ms"`
	EndedMillis   int64  `json:"ended_ms"`
	Ending        Ending `json:"ending"`
	// From is the generation that ended, To the one that began, 0 if none did.
	From int32 `json:"from_generation"`
	To   int32 `json:"to_generation,omitempty"`

	Cause   Cause   `json:"cause"`
	Trigger *Member `json:"trigger,omitempty"`
	// Changed says what protocols-changed means.
	Changed *Change `json:"changed,omitempty"`
	// Initial is true of the first rebalance of a group without members.
	Initial bool `json:"initial,omitempty"`
	// Silent says of a trigger that was lost how long nothing was heard of it,
	// and Timeout which time ran out.
	Silent  Millis `json:"silent_ms,omitzero"`
	Timeout Millis `json:"timeout_ms,omitzero"`
	// Supersedes is true if it interrupts another one.
	Supersedes bool `json:"supersedes,omitempty"`
	// SupersededBy is the cause and the trigger of the one that interrupted it.
	SupersededBy *Interruption `json:"superseded_by,omitempty"`

	// Join and Sync are the phases, nil if they have not ended.
	Join *Phase `json:"join_phase,omitempty"`
	Sync *Phase `json:"sync_phase,omitempty"`
	// JoinLimit is how long members had to join.
	JoinLimit Millis `json:"join_limit_ms,omitzero"`
	// Last ended the join phase; nil if its deadline did.
	Last          *Member  `json:"last,omitempty"`
	WaitedFor     []Waited `json:"waited_for,omitempty"`
	WaitedForMore int      `json:"waited_for_more,omitempty"`
	// Awaited are those that one that runs still waits for in its join phase, as
	// far as the events tell who was a member; sorted by member id.
	Awaited []Member `json:"awaited,omitempty"`

	// Who came and went in it, the trigger included.
	Joined   []Member `json:"joined,omitempty"`
	Left     []Member `json:"left,omitempty"`
	Expired  []Member `json:"expired,omitempty"`
	Dropped  []Member `json:"dropped,omitempty"`
	Refused  []Member `json:"refused,omitempty"`
	Replaced []Member `json:"replaced,omitempty"`

	Members      int         `json:"members"`
	Leader       *Member     `json:"leader,omitempty"`
	ProtocolType string      `json:"protocol_type,omitempty"`
	Protocol     string      `json:"protocol,omitempty"`
	Assignment   *Assignment `json:"assignment,omitempty"`
	// PartitionsAdded are topics that have more partitions than ever before.
	PartitionsAdded []TopicChange `json:"partitions_added,omitempty"`

	// Events are those that it was made from, for a timeline.
	Events []Event `json:"-"`
}

// Phase is a part of a rebalance.
type Phase struct {
	StartedMillis int64  `json:"started_ms"`
	Took          Millis `json:"took_ms"`
}

// Interruption is what interrupted a rebalance.
type Interruption struct {
	Cause   Cause   `json:"cause"`
	Trigger *Member `json:"trigger,omitempty"`
}

// Took is how long the rebalance took, by its phases if they ended.
func (r *Rebalance) Took() time.Duration {
	var took time.Duration
	if r.Join != nil {
		took += time.Duration(r.Join.Took)
	}
	if r.Sync != nil {
		took += time.Duration(r.Sync.Took)
	}
	return max(took, time.Duration(r.EndedMillis-r.StartedMillis)*time.Millisecond)
}

// Slowest is the one that the join phase waited for longest, nil if it waited
// for nobody.
func (r *Rebalance) Slowest() *Waited {
	var slowest *Waited
	for i := range r.WaitedFor {
		if w := &r.WaitedFor[i]; slowest == nil || w.Took >= slowest.Took {
			slowest = w
		}
	}
	return slowest
}

// Fold makes rebalances from the events of one group, the oldest first. One
// whose start is not among the events is left out. The last may be running.
func Fold(events []Event) []Rebalance {
	var f Folder
	var all []Rebalance
	for i := range events {
		if done := f.Add(&events[i]); done != nil {
			all = append(all, *done)
		}
	}
	if r := f.Running(); r != nil {
		all = append(all, *r)
	}
	return all
}

// Folder makes rebalances from events of one group as they come. The zero value is
// ready.
type Folder struct {
	r *Rebalance
	// before are the events of the newest moment, outside of any rebalance: the
	// loss or arrival that a rebalance-started of the same moment is about.
	before []Event
	// next is set between a rebalance-superseded and the start that follows.
	next bool
	roll roll
	// assigned is the largest number of partitions of a topic that was ever
	// assigned; settled is true if the newest assignment left out none of those
	// before.
	assigned map[string]int
	settled  bool
}

// Running is the rebalance that has not ended, nil if there is none.
func (f *Folder) Running() *Rebalance {
	if f.r != nil {
		f.r.Awaited = nil
		if f.r.Join == nil {
			f.r.Awaited = f.roll.absent()
		}
	}
	return f.r
}

// Add takes the next event and returns the rebalance that it ends, if it ends
// one.
func (f *Folder) Add(e *Event) (done *Rebalance) {
	f.roll.note(e)
	switch e.Kind { //nolint:exhaustive // the others change nothing of this
	case RebalanceStarted:
		if f.r != nil { // its end is missing
			done = f.end(e, Interrupted)
		}
		f.start(e)
		return done
	case RebalanceSuperseded:
		f.next = true
		if f.r == nil {
			return nil
		}
		f.r.SupersededBy = &Interruption{e.Cause, e.Member}
		f.r.Sync = &Phase{e.TimeMillis - whole(e.Duration), e.Duration}
		return f.end(e, Superseded)
	case GroupUnloaded, GroupLoaded, EventsLost, GroupDeleted:
		f.before = nil
		if f.r != nil {
			done = f.end(e, Interrupted)
		}
		return done
	}
	if f.r == nil {
		f.remember(e)
		return nil
	}
	f.r.note(e)
	switch e.Kind { //nolint:exhaustive // the others change nothing of this
	case AssignmentInstalled:
		f.partitions(f.r)
		return f.end(e, Installed)
	case GroupEmptied:
		return f.end(e, Emptied)
	}
	return nil
}

// partitions looks for topics that have more partitions than before. That more
// are assigned than before is no proof: a cooperative assignor holds back what
// another member has yet to give up.
func (f *Folder) partitions(r *Rebalance) {
	a := r.Assignment
	if a == nil || !a.Decoded {
		return
	}
	if f.assigned == nil {
		f.assigned = map[string]int{}
	}
	for _, t := range a.Topics {
		most := max(f.assigned[t.Topic], t.Before)
		if t.Whole && t.Before > 0 && t.After > most && (f.settled || r.Cause == CauseLeaderRejoined) {
			r.PartitionsAdded = append(r.PartitionsAdded, t)
		}
		f.assigned[t.Topic] = max(most, t.After)
	}
	f.settled = a.Unassigned == 0
}

func (f *Folder) start(e *Event) {
	r := &Rebalance{
		Group: e.Group, StartedMillis: e.TimeMillis, Ending: Running, From: e.Generation, Cause: e.Cause, Trigger: e.Member,
		Changed: e.Changed, Initial: e.Initial, JoinLimit: e.Timeout, Members: e.Members, Supersedes: f.next,
	}
	for i := range f.before {
		if b := &f.before[i]; b.TimeMillis == e.TimeMillis {
			r.note(b)
		}
	}
	r.note(e)
	f.r, f.before, f.next = r, nil, false
}

func (f *Folder) end(e *Event, how Ending) *Rebalance {
	r := f.r
	r.Ending = how
	if how == Superseded {
		r.Events = append(r.Events, *e)
	}
	if how != Interrupted {
		r.EndedMillis = e.TimeMillis
	}
	f.r = nil
	r.Awaited = nil
	if how == Superseded {
		f.before = moment(r.Events, e.TimeMillis)
	}
	return r
}

// moment is the end of the list that happened at one time. What ends one
// rebalance begins the next.
func moment(events []Event, at int64) []Event {
	i := len(events)
	for i > 0 && events[i-1].TimeMillis == at && events[i-1].Kind != JoinCompleted {
		i--
	}
	return events[i : len(events)-1 : len(events)-1]
}

// remember keeps the events of one moment only.
func (f *Folder) remember(e *Event) {
	if len(f.before) > 0 && f.before[0].TimeMillis != e.TimeMillis {
		f.before = nil
	}
	f.before = append(f.before, *e)
}

// note takes in what happens within a rebalance.
func (r *Rebalance) note(e *Event) {
	r.Events = append(r.Events, *e)
	r.EndedMillis = max(r.EndedMillis, e.TimeMillis)
	switch e.Kind { //nolint:exhaustive // the others change nothing of this
	case MemberJoined:
		r.Joined = with(r.Joined, e.Member)
	case MemberLeft:
		r.Left = with(r.Left, e.Member)
	case MemberExpired:
		r.Expired = with(r.Expired, e.Member)
		r.blame(e)
	case MemberDropped:
		r.Dropped = with(r.Dropped, e.Member)
		r.blame(e)
	case MemberRefused:
		r.Refused = with(r.Refused, e.Member)
	case MemberReplaced:
		r.Replaced = with(r.Replaced, e.Member)
	case JoinCompleted:
		r.To, r.Last, r.Members = e.Generation, e.Member, e.Members
		r.Join = &Phase{r.StartedMillis, e.Duration}
		r.WaitedFor, r.WaitedForMore = e.WaitedFor, e.WaitedForMore
		r.ProtocolType, r.Protocol = e.ProtocolType, e.Protocol
	case AssignmentInstalled:
		r.Sync = &Phase{e.TimeMillis - whole(e.Duration), e.Duration}
		r.Leader, r.Members, r.Assignment = e.Member, e.Members, e.Assignment
		if e.Protocol != "" {
			r.ProtocolType, r.Protocol = e.ProtocolType, e.Protocol
		}
	}
}

// blame notes how long the trigger was silent.
func (r *Rebalance) blame(e *Event) {
	if r.Trigger == nil || e.Member == nil || e.Member.ID != r.Trigger.ID {
		return
	}
	r.Timeout = e.Timeout
	if e.LastHeardMillis > 0 {
		r.Silent = Millis(time.Duration(e.TimeMillis-e.LastHeardMillis) * time.Millisecond)
	}
}

func with(list []Member, m *Member) []Member {
	if m == nil {
		return list
	}
	return append(list, *m)
}

func whole(m Millis) int64 { return time.Duration(m).Milliseconds() }
