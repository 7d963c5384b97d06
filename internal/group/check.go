package group

import (
	"errors"
	"fmt"
)

// check looks for broken invariants. It is for tests and the simulator: it
// walks over everything.
func (g *Group) check() error {
	return errors.Join(g.checkState(), g.checkMembers(), g.checkLeases(), g.checkLog())
}

// must returns an error if what should hold does not.
func must(holds bool, format string, args ...any) error {
	if holds {
		return nil
	}
	return fmt.Errorf(format, args...)
}

func (g *Group) checkState() error {
	members := len(g.members)
	var errs []error
	need := func(holds bool, what string) {
		if err := must(holds, "in %s: %s (%d members)", g.state, what, members); err != nil {
			errs = append(errs, err)
		}
	}
	need((g.leader != nil) == (members > 0), "leader without members, or members without a leader")
	need(g.generation >= 0 || g.log.group != nil && g.log.group.Generation == g.generation, "negative generation")
	need((g.joining.by != never) == (g.state == PreparingRebalance), "join deadline")
	need((g.syncing.by != never) == (g.syncing.missing > 0), "sync deadline without anyone to wait for, or the reverse")
	switch g.state {
	case Empty:
		need(members == 0, "members")
		need(g.protocolName == "", "protocol")
	case PreparingRebalance:
		need(g.syncing.missing == 0, "pending syncs")
		need(g.joining.initial || !g.allJoined(), "everyone has joined")
	case CompletingRebalance:
		need(members > 0, "no members")
		need(g.syncing.missing > 0, "everyone has synced and nobody has an assignment")
		need(g.leader == nil || !g.leader.sync.waits, "the leader's sync is parked")
	case Stable:
		need(members > 0, "no members")
		need(g.log.group != nil && g.log.group.Generation == g.generation, "generation is not recorded")
		need(g.log.group != nil && g.recordsMembers(), "members are not recorded")
	case Dead:
		need(members == 0 && len(g.pending) == 0, "members")
	}
	return errors.Join(errs...)
}

// recordsMembers reports whether the last group record has the members and
// assignments of the present.
func (g *Group) recordsMembers() bool {
	recorded := map[string]string{}
	for _, m := range g.log.group.Members {
		if _, twice := recorded[m.ID]; !twice {
			recorded[m.ID] = string(m.Assignment)
		}
	}
	for _, m := range g.order {
		if a, ok := recorded[m.id]; !ok || a != string(m.assignment) {
			return false
		}
	}
	return true
}

func (g *Group) checkMembers() error {
	var errs []error
	statics, waiting, unsynced := 0, 0, 0
	supports := map[string]int{}
	for i, m := range g.order {
		need := func(holds bool, what string) {
			if err := must(holds, "in %s: member %q: %s", g.state, m.id, what); err != nil {
				errs = append(errs, err)
			}
		}
		need(g.members[m.id] == m, "not found by its id")
		need(i == 0 || g.order[i-1].order < m.order, "out of order")
		need(!m.gone, "gone")
		need(g.pending[m.id] == nil, "pending as well")
		need(!m.join.waits || g.state == PreparingRebalance, "parked join")
		need(!m.sync.waits || g.state == CompletingRebalance, "parked sync")
		need(!m.sync.waits || !m.unsynced, "parked sync of an unsynced member")
		need(!m.isNew || m.join.waits, "new, but not waiting")
		need(m.isNew || m.unanswered() == (m.lease.due == never), "session runs while it waits, or the reverse")
		if m.instanceID != nil {
			statics++
			need(g.statics[*m.instanceID] == m, "not found by its instance id")
		}
		if m.join.waits {
			waiting++
		}
		if m.unsynced {
			unsynced++
		}
		for name := range distinctNames(m.protocols) {
			supports[name]++
		}
	}
	for _, s := range g.supports {
		errs = append(errs, must(supports[s.name] == s.members, "%d members support %q, not %d", supports[s.name], s.name, s.members))
	}
	return errors.Join(append(errs,
		must(len(g.members) == len(g.order), "%d members by id, %d in order", len(g.members), len(g.order)),
		must(len(g.statics) == statics, "%d instance ids for %d static members", len(g.statics), statics),
		must(g.joining.waiting == waiting, "%d parked joins are counted as %d", waiting, g.joining.waiting),
		must(g.syncing.missing == unsynced, "%d missing syncs are counted as %d", unsynced, g.syncing.missing),
		must(len(supports) == len(g.supports), "%d protocols are counted as %d", len(supports), len(g.supports)),
		must(g.leader == nil || g.members[g.leader.id] == g.leader, "the leader is no member"),
	)...)
}

func (g *Group) checkLeases() error {
	errs := []error{must(len(g.leases) == len(g.order)+len(g.pending), "%d leases", len(g.leases))}
	for i, l := range g.leases {
		errs = append(errs,
			must(l.at == i, "lease %d believes to be %d", i, l.at),
			must(l.key <= l.due, "lease %d is due at %s, before %s", i, l.due, l.key),
			must(i == 0 || !l.before(g.leases[(i-1)/2]), "lease %d is before its parent", i),
			must(l.member == nil || &l.member.lease == l && g.members[l.member.id] == l.member, "lease %d of no member", i),
			must(l.pending == nil || g.pending[l.pending.ref.ID] == l.pending, "lease %d of no pending id", i),
		)
	}
	unreleased := map[*member]int{}
	for _, a := range g.unreleased.all() {
		unreleased[a.member]++
	}
	for m, n := range unreleased {
		errs = append(errs, must(m.unreleased == n, "member %q has %d unreleased answers, not %d", m.id, n, m.unreleased))
	}
	return errors.Join(errs...)
}

func (g *Group) checkLog() error {
	var errs []error
	unstable := map[TopicPartition]int{}
	for producer, offsets := range g.log.open {
		errs = append(errs, must(len(offsets) > 0, "transaction of producer %d without offsets", producer))
		for tp := range offsets {
			unstable[tp]++
		}
	}
	for tp, n := range unstable {
		errs = append(errs, must(g.log.unstable[tp] == n, "partition %v has %d open offsets, not %d", tp, n, g.log.unstable[tp]))
	}
	return errors.Join(append(errs, must(len(unstable) == len(g.log.unstable), "%d unstable partitions", len(g.log.unstable)))...)
}
