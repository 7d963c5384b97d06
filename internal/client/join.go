package client

import (
	"slices"

	"rota/internal/client/assignor"
	"rota/internal/schema"
)

// consumerType is the protocol type of consumer groups.
const consumerType = "consumer"

// round is how far the JoinGroup and SyncGroup of a rebalance have come.
type round uint8

const (
	noRound round = iota
	joining       // JoinGroup is on its way
	syncing       // SyncGroup is
	synced        // the assignment is here; the application has not been told
)

// progress is what a poll does: it takes the member through as much of a
// rebalance as needs no waiting.
func (m *Machine) progress() {
	m.started = true
	if !m.lookUp() {
		return
	}
	for m.call == nil && m.thrown == nil {
		if m.round == noRound && !m.rejoinNeeded {
			if !m.mustRejoin() {
				break
			}
			m.requestRejoin("subscription or metadata has changed")
		}
		if m.prepareNeeded {
			if !m.prepare() {
				return
			}
			continue
		}
		switch m.round {
		case noRound:
			if m.retryAt > m.now || !m.coordinator {
				return
			}
			m.startRound()
		case joining, syncing:
			return
		case synced:
			if !m.complete() {
				return
			}
		}
	}
	if m.thrown != nil {
		m.throw(m.thrown)
		m.thrown = nil
		return
	}
	m.autoCommit()
}

// mustRejoin reports whether the present assignment no longer fits: the
// subscription has changed since the member joined, or what the leader planned
// for has.
func (m *Machine) mustRejoin() bool {
	if m.gen.ID == -1 {
		return false
	}
	return !slices.Equal(m.joined, m.topics) || m.leads && !slices.Equal(m.planned, m.known(m.planned))
}

// known are the same topics as they are now.
func (m *Machine) known(topics []assignor.Topic) []assignor.Topic {
	list := make([]assignor.Topic, len(topics))
	for i, t := range topics {
		list[i] = assignor.Topic{Name: t.Name, Partitions: m.partitions[t.Name]}
	}
	return list
}

// startRound sends a JoinGroup with what is true at this moment.
func (m *Machine) startRound() {
	m.state, m.round, m.leads = Preparing, joining, false
	m.joined = slices.Clone(m.topics)
	j := Join{
		MemberID: m.gen.MemberID, InstanceID: m.c.InstanceID,
		SessionTimeout: m.c.SessionTimeout, RebalanceTimeout: m.c.RebalanceTimeout,
		ProtocolType: m.protocolType(), Protocols: m.protocols(), Reason: m.reason,
	}
	const grace = 5e9 // a client gives up later than the coordinator does
	m.send(j, max(m.c.RequestTimeout, m.c.RebalanceTimeout+grace), 0)
}

// subscription is what the member tells the leader.
func (m *Machine) subscription() []byte {
	s := schema.Subscription{Version: 3, Topics: m.topics, Owned: grouped(m.owned), Generation: m.gen.ID}
	if m.c.Rack != "" {
		s.Rack = &m.c.Rack
	}
	return schema.AppendSubscription(nil, s)
}

// failRound ends a round without success; fatal is thrown from the next poll,
// unless it is nil. The next round begins after a pause if backoff says so.
func (m *Machine) failRound(fatal error, backoff bool) {
	m.round = noRound
	m.rejoinNeeded = true
	if fatal != nil {
		m.thrown = fatal
	}
	m.retryAt = m.now
	if backoff {
		m.retryAt += m.backoff(m.failures)
		m.failures++
	}
}

// joinAnswered reacts to a JoinGroup's answer.
func (m *Machine) joinAnswered(r *inFlight, a Joined) {
	unchanged := r.gen == m.gen
	switch a.Code {
	case codeNone:
		m.join(a)
	case codeMemberIDRequired:
		m.gen = Generation{ID: -1, MemberID: a.MemberID}
		m.failRound(nil, false)
	case codeUnknownMemberID:
		if unchanged {
			m.reset(false, "join: member is not known")
		}
		m.failRound(nil, false)
	case codeRebalanceInProgress:
		m.failRound(nil, false)
	case codeCoordinatorLoadInProgress:
		m.failRound(nil, true)
	case codeCoordinatorNotAvailable, codeNotCoordinator:
		m.failRound(nil, true)
		m.forgetCoordinator(true)
	default:
		m.failRound(&CodeError{"JoinGroup", a.Code}, false)
	}
}

// join takes the place that the group has given and goes on to SyncGroup.
func (m *Machine) join(a Joined) {
	if m.state != Preparing {
		m.failRound(nil, false) // a commit's answer has taken the generation away meanwhile
		return
	}
	if a.ProtocolType != nil && *a.ProtocolType != m.protocolType() {
		m.failRound(&CodeError{"JoinGroup", codeInconsistentGroupProtocol}, false)
		return
	}
	m.gen = Generation{ID: a.Generation, MemberID: a.MemberID, Protocol: a.Protocol}
	m.state, m.round = Completing, syncing
	m.startBeating()
	s := Sync{
		MemberID: m.gen.MemberID, InstanceID: m.c.InstanceID, Generation: m.gen.ID,
		ProtocolType: m.protocolType(), Protocol: m.gen.Protocol,
	}
	if a.Leader == a.MemberID {
		var err error
		if s.Assignments, err = m.lead(a); err != nil {
			m.failRound(err, false)
			return
		}
	}
	m.send(s, m.c.RequestTimeout, 0)
}

// lead works out the assignment. A leader that comes back to a stable group
// (KIP-814) only watches the topics again.
func (m *Machine) lead(a Joined) ([]Assignment, error) {
	if m.c.Dialect != nil {
		return m.c.Dialect.Lead(a.Protocol, a.Members, a.SkipAssignment)
	}
	i := slices.IndexFunc(m.c.Assignors, func(x assignor.Assignor) bool { return x.Name() == a.Protocol })
	if i < 0 {
		return nil, &CodeError{"JoinGroup", codeInconsistentGroupProtocol}
	}
	members := make([]assignor.Member, len(a.Members))
	var names []string
	for n := range a.Members {
		of := &a.Members[n]
		s, err := schema.ParseSubscription(of.Metadata)
		if err != nil {
			return nil, err
		}
		members[n] = assignor.Member{ID: of.MemberID, InstanceID: of.InstanceID, Topics: s.Topics, Owned: flat(s.Owned), Generation: s.Generation}
		names = append(names, s.Topics...)
	}
	slices.Sort(names)
	var topics []assignor.Topic
	for _, name := range slices.Compact(names) {
		topics = append(topics, assignor.Topic{Name: name, Partitions: m.partitions[name]})
	}
	m.leads, m.planned = true, topics
	if a.SkipAssignment {
		return nil, nil
	}
	chosen := m.c.Assignors[i]
	plans := chosen.Assign(members, topics)
	if _, builtIn := chosen.(assignor.CooperativeSticky); chosen.Cooperative() && !builtIn && !safe(members, plans) {
		return nil, ErrUnsafeAssignment
	}
	list := make([]Assignment, len(plans))
	for n, p := range plans {
		list[n] = Assignment{MemberID: p.ID, Data: schema.AppendAssignment(nil, schema.Assignment{Version: 3, Partitions: grouped(p.Partitions)})}
	}
	return list, nil
}

// safe reports whether no partition goes to one member while another has it.
func safe(members []assignor.Member, plans []assignor.Plan) bool {
	holder := map[Partition]string{}
	for i := range members {
		for _, p := range members[i].Owned {
			holder[p] = members[i].ID
		}
	}
	for _, plan := range plans {
		for _, p := range plan.Partitions {
			if h, held := holder[p]; held && h != plan.ID {
				return false
			}
		}
	}
	return true
}

// syncAnswered reacts to a SyncGroup's answer.
func (m *Machine) syncAnswered(r *inFlight, a Synced) {
	unchanged := r.gen == m.gen
	switch a.Code {
	case codeNone:
		m.sync(unchanged, a)
	case codeRebalanceInProgress:
		m.failRound(nil, false)
	case codeUnknownMemberID:
		if unchanged {
			m.reset(false, "sync: member is not known")
		}
		m.failRound(nil, false)
	case codeIllegalGeneration:
		if unchanged {
			m.reset(true, "sync: generation is over")
		}
		m.failRound(nil, false)
	case codeCoordinatorNotAvailable, codeNotCoordinator:
		m.failRound(nil, true)
		m.forgetCoordinator(true)
	default:
		m.failRound(&CodeError{"SyncGroup", a.Code}, false)
	}
}

// sync takes the assignment. The application is told by its next poll.
func (m *Machine) sync(unchanged bool, a Synced) {
	switch {
	case !unchanged || m.state != Completing:
		m.failRound(nil, false) // a heartbeat's answer has taken the generation away meanwhile
	case a.ProtocolType != nil && *a.ProtocolType != m.protocolType(), a.Protocol != nil && *a.Protocol != m.gen.Protocol:
		m.failRound(&CodeError{"SyncGroup", codeInconsistentGroupProtocol}, false)
	default:
		m.state, m.round = Stable, synced
		m.rejoinNeeded, m.reason = false, ""
		m.plan = a.Assignment
	}
}
