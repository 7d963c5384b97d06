package rotatest

import (
	"fmt"
	"time"

	"rota/internal/group"
)

// Group is a consumer group, whether or not it exists yet.
type Group struct {
	b  *Broker
	id string
}

// Group returns the group of that id.
func (b *Broker) Group(id string) *Group { return &Group{b, id} }

// GroupState is a group as DescribeGroups shows it.
type GroupState struct {
	// State is Empty, PreparingRebalance, CompletingRebalance, Stable, or Dead
	// if there is no such group.
	State        string
	ProtocolType string
	// Protocol is the assignor, known in a Stable group only.
	Protocol string
	// Generation is that of the newest event.
	Generation int32
	Members    []GroupMember
}

// GroupMember is a member of a group.
type GroupMember struct {
	ID         string
	InstanceID string // "" for a dynamic member
	ClientID   string
	// Metadata and Assignment are known in a Stable group only.
	Metadata, Assignment []byte
}

// State returns the group as it is now.
func (g *Group) State() GroupState {
	answers := make(chan group.Response, 1)
	g.b.rooms.Load().Coordinator.Submit(g.id, group.Describe{}, func(r group.Response) { answers <- r })
	s := GroupState{State: "Dead", Generation: g.b.story.generation(g.id)}
	d, ok := (<-answers).(group.Described)
	if !ok || d.Code != 0 {
		return s
	}
	s.State, s.ProtocolType, s.Protocol = d.State, d.ProtocolType, d.ProtocolData
	for _, m := range d.Members {
		of := GroupMember{ID: m.MemberID, ClientID: m.ClientID, Metadata: m.Metadata, Assignment: m.Assignment}
		if m.InstanceID != nil {
			of.InstanceID = *m.InstanceID
		}
		s.Members = append(s.Members, of)
	}
	return s
}

// WaitFor waits until ok accepts the state of the group and returns it. what
// says, for the failing test, what is waited for.
func (g *Group) WaitFor(what string, ok func(GroupState) bool) GroupState {
	g.b.t.Helper()
	limit := time.NewTimer(g.b.options.patience)
	defer limit.Stop()
	for {
		changed := g.b.story.changes()
		s := g.State()
		if ok(s) {
			return s
		}
		select {
		case <-changed:
		case <-limit.C:
			g.b.t.Fatalf("rotatest: group %s is not %s but %s with %d members\n%s", g.id, what, s.State, len(s.Members), g.Story())
		}
	}
}

// WaitStable waits until the group is Stable with that many members.
func (g *Group) WaitStable(members int) GroupState {
	g.b.t.Helper()
	return g.WaitFor(fmt.Sprintf("Stable with %d members", members), func(s GroupState) bool {
		return s.State == "Stable" && len(s.Members) == members
	})
}

// WaitState waits until the group is in the state.
func (g *Group) WaitState(state string) GroupState {
	g.b.t.Helper()
	return g.WaitFor(state, func(s GroupState) bool { return s.State == state })
}

// WaitEvent waits for an event that ok accepts, past ones included, and
// returns the first.
func (g *Group) WaitEvent(what string, ok func(Event) bool) Event {
	g.b.t.Helper()
	limit := time.NewTimer(g.b.options.patience)
	defer limit.Stop()
	for {
		changed := g.b.story.changes()
		for _, e := range g.Events() {
			if ok(e) {
				return e
			}
		}
		select {
		case <-changed:
		case <-limit.C:
			g.b.t.Fatalf("rotatest: group %s: no %s\n%s", g.id, what, g.Story())
		}
	}
}

// Events returns what has happened to the group, the oldest first.
func (g *Group) Events() []Event { return g.b.story.of(g.id) }

// Story tells what has happened to the group, a line for each event.
func (g *Group) Story() string { return g.b.story.tell(g.id) }
