package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"rota/internal/admin"
	"rota/internal/display"
	"rota/internal/story"
)

// explainCommand is rota explain.
type explainCommand struct {
	connection
	Name   string        `arg:"" name:"group" help:"Group to explain."`
	Number int           `short:"n" default:"1" placeholder:"N" help:"Tell the last N rebalances; those that belong together count as one."`
	Since  time.Duration `default:"24h" help:"How far back to count causes and to look for what keeps coming back."`
}

// explainAnswer is what explain prints with --json.
type explainAnswer struct {
	Group   string `json:"group" doc:"Group id."`
	State   string `json:"state" doc:"State of the group now, Dead if it is no more."`
	Members *int   `json:"members" doc:"How many members it has now, null if the cluster does not tell."`
	// Rebalances has those that are told.
	Rebalances []told             `json:"rebalances" doc:"The rebalances that are told, oldest first: the last one with those that it belongs to, and with -n those before."`
	After      []toldEvent        `json:"after" doc:"What has happened since the last of them, oldest first, at most 50 events."`
	SinceHours float64            `json:"since_hours" doc:"How far back causes and advice go."`
	Causes     []story.CauseCount `json:"causes" doc:"How often rebalances had which cause, the commonest first."`
	Advice     []story.Advice     `json:"advice" doc:"What keeps coming back and what to do about it, each with its evidence."`
	Missing    []string           `json:"missing,omitempty" doc:"What the cluster does not tell, a sentence each."`
}

// told is a rebalance and its story.
type told struct {
	story.Rebalance
	FollowsUp bool     `json:"follows_up,omitempty" doc:"It belongs to the one before: it interrupts it, or gives out what members of a cooperative assignor gave up in it."`
	Story     []string `json:"story" doc:"The rebalance in plain sentences."`
}

// toldEvent is an event and its sentence.
type toldEvent struct {
	story.Event
	Sentence string `json:"sentence" doc:"The event in a plain sentence."`
}

// maxAfter is how many events after the last rebalance are told.
const maxAfter = 50

// Run tells the story of the group.
func (c *explainCommand) Run(ctx context.Context, s *Streams) error {
	if c.Number < 1 || c.Since <= 0 {
		return MisuseError("-n and --since must be more than 0")
	}
	cluster, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer cluster.Close()
	g, events, missing, err := groupHistory(ctx, cluster, c.Name)
	if err != nil {
		return explain(err)
	}
	answer := explainAnswer{Group: c.Name, State: g.State, SinceHours: c.Since.Hours(), Missing: missing, Rebalances: []told{}, After: []toldEvent{}}
	if g.Known() {
		n := len(g.Members)
		answer.Members = &n
	}
	answer.tell(events, c.Number, time.Now().Add(-c.Since).UnixMilli())
	if c.JSON {
		return printJSON(s.Out, answer)
	}
	answer.print(s.Out)
	return nil
}

// groupHistory is a group as it is now, and its events. A group that is not
// there and has none is an error.
func groupHistory(ctx context.Context, cluster *admin.Cluster, group string) (admin.Group, []story.Event, []string, error) {
	g, err := cluster.Find(ctx, group)
	if err != nil {
		return g, nil, nil, err
	}
	groups := []admin.Group{g}
	if err := cluster.Describe(ctx, groups); err != nil {
		return g, nil, nil, err
	}
	g = groups[0]
	kept, err := cluster.HasHistory(ctx)
	if err != nil {
		return g, nil, nil, err
	}
	if !kept {
		if g.State == "Dead" {
			return g, nil, nil, noGroup(group)
		}
		return g, nil, []string{noHistory}, nil
	}
	var events []story.Event
	err = cluster.History(ctx, group, time.Time{}, false, func(e story.Event) bool {
		events = append(events, e)
		return true
	})
	if err == nil && g.State == "Dead" && len(events) == 0 {
		err = noGroup(group)
	}
	return g, events, nil, err
}

// tell fills in what the events say.
func (a *explainAnswer) tell(events []story.Event, number int, since int64) {
	rebalances := story.Fold(events)
	begin := len(rebalances)
	for ; begin > 0 && number > 0; number-- {
		for begin--; begin > 0 && story.FollowsUp(&rebalances[begin-1], &rebalances[begin]); begin-- {
		}
	}
	for i := begin; i < len(rebalances); i++ {
		r := &rebalances[i]
		a.Rebalances = append(a.Rebalances, told{*r, i > 0 && story.FollowsUp(&rebalances[i-1], r), r.Sentences()})
	}
	for _, e := range after(events, rebalances) {
		a.After = append(a.After, toldEvent{e, e.Sentence()})
	}
	a.Causes = story.Causes(rebalances, since)
	recent := 0
	for recent < len(events) && events[recent].TimeMillis < since {
		recent++
	}
	a.Advice = story.Advise(events[recent:])
	if a.Advice == nil {
		a.Advice = []story.Advice{}
	}
}

// after returns the newest events that do not belong to the last rebalance.
func after(events []story.Event, rebalances []story.Rebalance) []story.Event {
	begin := 0
	if n := len(rebalances); n > 0 {
		inLast := rebalances[n-1].Events
		last := inLast[len(inLast)-1]
		for i := range events {
			if e := &events[i]; e.TimeMillis == last.TimeMillis && e.Kind == last.Kind && e.Generation == last.Generation {
				begin = i + 1
			}
		}
	}
	return events[max(begin, len(events)-maxAfter):]
}

// print writes the story as text.
func (a *explainAnswer) print(w io.Writer) {
	now := "is " + name(a.State)
	if a.Members != nil {
		now += " with " + plural(*a.Members, "member")
	}
	if a.State == "Dead" {
		now = "is no more"
	}
	fmt.Fprintf(w, "Group %s %s.\n", story.Quote(a.Group), now)
	for i, r := range a.Rebalances {
		switch {
		case r.FollowsUp:
			fmt.Fprintln(w, "\nThen, as a consequence:")
		case i == len(a.Rebalances)-1 || a.Rebalances[len(a.Rebalances)-1].FollowsUp && a.rootOf(len(a.Rebalances)-1) == i:
			fmt.Fprintln(w, "\nThe last rebalance:")
		default:
			fmt.Fprintln(w, "\nBefore:")
		}
		for _, sentence := range r.Story {
			wrap(w, "  ", "  ", sentence)
		}
	}
	if len(a.Rebalances) == 0 && len(a.Missing) == 0 {
		fmt.Fprintln(w, "\nIt has not rebalanced as far back as its history goes.")
	}
	if len(a.After) > 0 {
		fmt.Fprintln(w, "\nSince then:")
		for _, e := range a.After {
			wrap(w, "  "+story.Clock(e.TimeMillis)+"  ", "      ", e.Sentence)
		}
	}
	a.printCauses(w)
	a.printAdvice(w)
	for _, m := range a.Missing {
		fmt.Fprintln(w)
		wrap(w, "", "  ", "Missing: "+m+".")
	}
}

// rootOf is the rebalance that another one belongs to.
func (a *explainAnswer) rootOf(i int) int {
	for i > 0 && a.Rebalances[i].FollowsUp {
		i--
	}
	return i
}

func (a *explainAnswer) printCauses(w io.Writer) {
	if len(a.Causes) == 0 {
		return
	}
	total := 0
	t := newTable(">COUNT", "CAUSE", ">MEDIAN", ">LONGEST", "MOST OFTEN THROUGH")
	for _, c := range a.Causes {
		total += c.Count
		through := "-"
		if len(c.Triggers) > 0 {
			through = fmt.Sprintf("%s (%d)", c.Triggers[0].Member.Role(), c.Triggers[0].Count)
		}
		t.add(fmt.Sprint(c.Count), name(string(c.Cause)), story.Took(time.Duration(c.Median)), story.Took(time.Duration(c.Longest)), through)
	}
	fmt.Fprintf(w, "\nThe last %s: %s.\n", window(a.SinceHours), plural(total, "rebalance"))
	t.print(w, 2)
}

// window is a length of time for people.
func window(hours float64) string {
	if hours == float64(int(hours)) {
		return plural(int(hours), "hour")
	}
	return took(time.Duration(hours * float64(time.Hour)))
}

func (a *explainAnswer) printAdvice(w io.Writer) {
	if len(a.Advice) == 0 {
		return
	}
	fmt.Fprintln(w, "\nWhat keeps coming back:")
	for _, advice := range a.Advice {
		wrap(w, "  * ", "    ", advice.Finding)
		wrap(w, "    ", "    ", advice.Text)
		for _, e := range advice.Evidence {
			wrap(w, "    - ", "      ", e)
		}
	}
}

// lineWidth is where text for people is broken.
const lineWidth = 100

// wrap writes a text in lines, with one indentation before the first and
// another one before the others.
func wrap(w io.Writer, first, others, text string) {
	line := first
	begun := false
	for word := range strings.FieldsSeq(display.Prose(text)) {
		if begun && display.Width(line)+1+display.Width(word) > lineWidth {
			fmt.Fprintln(w, line)
			line, begun = others, false
		}
		if begun {
			line += " "
		}
		line += word
		begun = true
	}
	if begun {
		fmt.Fprintln(w, line)
	}
}
