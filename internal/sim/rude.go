package sim

import (
	"strconv"

	"rota/internal/group"
	"rota/internal/schema"
)

// A rude client knows requests and no rules: it sends any of them at any time,
// with what it has heard last, or with something else.

// learn takes what an answer says.
func (a *actor) learn(c *call) {
	if a.role != rude {
		return
	}
	switch b := c.body.(type) {
	case group.Joined:
		if b.Code == codeMemberIDRequired {
			a.id = b.MemberID
		}
		if b.Code == 0 {
			a.id, a.generation, a.lead = b.MemberID, b.Generation, b.Leader == b.MemberID && !b.SkipAssignment
			a.others = a.others[:0]
			for _, m := range b.Members {
				a.others = append(a.others, m.MemberID)
			}
		}
		if b.Code == 25 || b.Code == codeFenced {
			a.id = ""
		}
	case group.Synced:
		if b.Code == 25 {
			a.id = ""
		}
	}
}

func (a *actor) actRude(w *World, r *random) {
	id, generation, instance := a.id, a.generation, a.instance
	switch r.below(12) {
	case 0:
		id = ""
	case 1:
		generation += int32(r.below(3)) - 1
	case 2:
		if other := w.actors[r.below(len(w.actors))]; other.m != nil {
			id, generation = other.m.Generation().MemberID, other.m.Generation().ID
		}
	case 3:
		instance = nil
	}
	switch r.below(8) {
	case 0, 1, 2:
		w.push(a, a.rudeJoin(w, r, id, instance), 0)
	case 3, 4:
		if id != a.id {
			return // only the leader's own plan is known to give each partition once
		}
		w.push(a, a.rudeSync(r, id, instance, generation), 0)
	case 5:
		w.push(a, group.Heartbeat{MemberID: id, InstanceID: instance, Generation: generation}, 0)
	case 6:
		w.offset++
		tp := group.TopicPartition(w.anyPartition(r))
		w.push(a, group.Commit{
			Version: int16(2 + r.below(8)), MemberID: id, InstanceID: instance, Generation: generation, Retention: -1,
			Offsets: []group.CommitOffset{{TopicPartition: tp, Offset: w.offset, LeaderEpoch: -1, Timestamp: -1}},
		}, 0)
	case 7:
		l := group.Leave{Version: int16(r.below(6)), Members: []group.LeavingMember{{MemberID: id, InstanceID: instance}}}
		if l.Version < 3 {
			l.Members[0].InstanceID = nil
		} else if r.oneIn(3) {
			other := w.actors[r.below(len(w.actors))]
			l.Members = append(l.Members, group.LeavingMember{MemberID: other.id})
		}
		w.push(a, l, 0)
	}
}

func (a *actor) rudeJoin(w *World, r *random, id string, instance *string) group.Join {
	j := group.Join{
		Version: a.joinVersion, MemberID: id, InstanceID: instance, ClientID: a.name, ClientHost: "/127.0.0.2",
		SessionTimeout: a.session, RebalanceTimeout: a.rebalance, ProtocolType: "consumer", Reason: "rude",
	}
	if j.Version == 0 {
		j.RebalanceTimeout = 0
	}
	set := w.assignorsOf(a.group)
	for _, x := range set[r.below(len(set))] {
		m := schema.AppendSubscription(nil, schema.Subscription{Topics: topicNames[:1], UserData: []byte(strconv.Itoa(r.below(2)))})
		j.Protocols = append(j.Protocols, group.Protocol{Name: x.Name(), Metadata: m})
	}
	switch r.below(20) {
	case 0:
		j.Protocols[0].Name = "unheard-of"
	case 1:
		j.ProtocolType = "connect"
	}
	return j
}

// rudeSync deals the partitions out without asking what anybody wants. It may
// forget the last member.
func (a *actor) rudeSync(r *random, id string, instance *string, generation int32) group.Sync {
	s := group.Sync{Version: 4, MemberID: id, InstanceID: instance, Generation: generation}
	if !a.lead || generation != a.generation {
		return s
	}
	for i, m := range a.others {
		plan := schema.Assignment{Partitions: []schema.TopicPartitions{{Topic: topicNames[0], Partitions: []int32{int32(i)}}}}
		s.Assignments = append(s.Assignments, group.Assignment{MemberID: m, Data: schema.AppendAssignment(nil, plan)})
	}
	return s
}
