package interop

import (
	"context"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"rota/member"
)

// beside starts a member of package rota/member in the check's group.
func (w *world) beside(assignors ...member.Assignor) *member.Member {
	w.Helper()
	m, err := member.Start(member.Config{
		Group: w.name, Work: member.Topics(w.name), Assignors: assignors, SessionTimeout: 6 * time.Second,
	}, kgo.SeedBrokers(w.broker.Addr))
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := m.Close(ctx); err != nil {
			w.Errorf("the member beside the client: %v", err)
		}
	})
	return m
}

// shareWith is true when the member and the program own all partitions, each
// once, neither empty-handed.
func shareWith(partitions int, m *member.Member, p *process) func() bool {
	return func() bool {
		all := p.owning()
		mine := m.Owned()
		if len(all) == 0 || len(mine) == 0 {
			return false
		}
		for _, o := range mine {
			all = append(all, o.Shard.Partition)
		}
		slices.Sort(all)
		return len(all) == partitions && len(slices.Compact(all)) == partitions
	}
}

// mixed has the client lead a group that a member of rota/member joins, and
// then the other way round, eager and cooperative.
func mixed(w *world) {
	w.topic(6)
	lead := w.member("session=6000")
	w.eventually("the client owns everything", share(6, lead), lead)
	m := w.beside(member.Range(), member.RoundRobin())
	w.eventually("the client leads and both share", shareWith(6, m, lead), lead)
	lead.say("leave")
	w.eventually("the member owns everything", func() bool { return len(m.Owned()) == 6 })
	follow := w.member("session=6000")
	w.eventually("the member leads and both share", shareWith(6, m, follow), follow)
}

// mixedCooperative is mixed for cooperative members.
func mixedCooperative(w *world) {
	w.topic(6)
	lead := w.member("session=6000", "assignor=cooperative")
	w.eventually("the client owns everything", share(6, lead), lead)
	m := w.beside(member.CooperativeSticky())
	w.eventually("the client leads and both share", shareWith(6, m, lead), lead)
	lead.say("leave")
	w.eventually("the member owns everything", func() bool { return len(m.Owned()) == 6 })
	follow := w.member("session=6000", "assignor=cooperative")
	w.eventually("the member leads and both share", shareWith(6, m, follow), follow)
}
