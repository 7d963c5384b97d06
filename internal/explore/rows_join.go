package explore

import (
	"fmt"
	"slices"
	"strconv"

	"rota/internal/group"
)

func protocolText(p group.Protocol) string {
	return fmt.Sprintf("%s %x", strconv.Quote(p.Name), p.Metadata)
}

func equalLists(a, b []string) bool { return slices.Equal(a, b) }

func joinWith(f func(*group.Join) bool) cond { return a(f) }

func ofStatic(j *group.Join) bool  { return j.InstanceID != nil }
func ofDynamic(j *group.Join) bool { return j.InstanceID == nil }
func twoStep(j *group.Join) bool   { return j.Version >= 4 }
func oneStep(j *group.Join) bool   { return j.Version < 4 }

// replaces: a join without an id of an instance that is in the group.
func replaces(c *Call) bool {
	j, ok := c.Request.(group.Join)
	return ok && j.MemberID == "" && c.Before.owner(j.InstanceID) != nil
}

func prologueRows() []row {
	denied := "there are no ACLs yet: everything is allowed"
	return []row{
		{id: "PR1", says: "SyncGroup 5 without a protocol type or name: INCONSISTENT_GROUP_PROTOCOL", when: all(a(func(s *group.Sync) bool {
			return s.Version >= 5 && (s.ProtocolType == nil || s.ProtocolName == nil)
		}), code(23))},
		{id: "PR2", says: "no right to read the group: GROUP_AUTHORIZATION_FAILED", never: denied},
		{id: "PR3", says: "the coordinator is not started, or has been stopped: COORDINATOR_NOT_AVAILABLE or NOT_COORDINATOR", tests: []string{"coordinator TestCloseWhileLoading", "coordinator TestDrain"}},
		{id: "PR4", says: "no group id: INVALID_GROUP_ID", when: either(all(a[group.Join](), code(24)), all(a[group.Sync](), code(24))), tests: []string{"group TestGroupWithoutID", "api TestGroupWithoutName"}},
		{id: "PR5", says: "the session timeout is out of bounds: INVALID_SESSION_TIMEOUT", when: all(a[group.Join](), code(26))},
		{id: "PR6-join", says: "JoinGroup while the shard is loading: COORDINATOR_LOAD_IN_PROGRESS", when: loadingLine("join", "COORDINATOR_LOAD_IN_PROGRESS")},
		{id: "PR6-sync", says: "SyncGroup while the shard is loading: REBALANCE_IN_PROGRESS", when: loadingLine("sync", "REBALANCE_IN_PROGRESS")},
		{id: "PR6-heartbeat", says: "Heartbeat while the shard is loading: no error", when: loadingLine("heartbeat", "ok")},
		{id: "PR6-leave", says: "LeaveGroup while the shard is loading: COORDINATOR_LOAD_IN_PROGRESS", when: loadingLine("leave", "COORDINATOR_LOAD_IN_PROGRESS")},
		{id: "PR6-commit", says: "OffsetCommit while the shard is loading: COORDINATOR_LOAD_IN_PROGRESS", when: loadingLine("commit", "COORDINATOR_LOAD_IN_PROGRESS")},
		{id: "PR6-fetch", says: "OffsetFetch while the shard is loading: COORDINATOR_LOAD_IN_PROGRESS", when: loadingLine("fetch-offsets", "COORDINATOR_LOAD_IN_PROGRESS")},
		{id: "PR6-describe", says: "DescribeGroups while the shard is loading: COORDINATOR_LOAD_IN_PROGRESS", when: loadingLine("describe", "COORDINATOR_LOAD_IN_PROGRESS")},
		{id: "PR6-delete", says: "DeleteGroups while the shard is loading: COORDINATOR_LOAD_IN_PROGRESS", when: loadingLine("delete", "COORDINATOR_LOAD_IN_PROGRESS"), tests: []string{"api TestWhileLoading"}},
		{id: "PR6-delete-offsets", says: "OffsetDelete while the shard is loading: COORDINATOR_LOAD_IN_PROGRESS", when: loadingLine("delete-offsets", "COORDINATOR_LOAD_IN_PROGRESS"), tests: []string{"api TestWhileLoading"}},
		{id: "PR6-list", says: "ListGroups while a shard is loading: COORDINATOR_LOAD_IN_PROGRESS at the top", when: loadingLine("list", "COORDINATOR_LOAD_IN_PROGRESS"), tests: []string{"api TestWhileLoading"}},
		{id: "PR7", says: "not the coordinator, or the load has failed: NOT_COORDINATOR", tests: []string{"coordinator TestPrologue", "api TestWhenTheCoordinatorDoesNotServe"}},
		{id: "PR8", says: "OffsetCommit, OffsetFetch and DescribeGroups take the empty group id", tests: []string{"api TestGroupWithoutName", "group TestGroupWithoutID"}},
	}
}

func loadingLine(verb, word string) cond {
	return func(c *Call) bool {
		l, ok := c.Request.(lineCall)
		return ok && c.Loading && l.verb == verb && slices.ContainsFunc(l.words, func(w string) bool {
			return w == word || len(w) > len(word) && w[len(w)-len(word)-1:] == "="+word
		})
	}
}

func hasIdentity(c *Call) bool {
	return a[group.Join]()(c) || a[group.Sync]()(c) || a[group.Heartbeat]()(c) || a[group.Leave]()(c) || a[group.Commit]()(c)
}

func unknownInstance(c *Call) bool {
	_, instance := idOf(c)
	return instance != nil && c.Before.owner(instance) == nil
}

func otherOwner(c *Call) bool {
	id, instance := idOf(c)
	m := c.Before.owner(instance)
	return m != nil && m.ID != id
}

func stranger(c *Call) bool {
	id, instance := idOf(c)
	return instance == nil && id != "" && c.Before.member(id) == nil && !isPending(c)
}

func identityRows() []row {
	rows := []row{}
	for _, v := range []struct {
		name string
		is   cond
	}{
		{"JoinGroup", a(func(j *group.Join) bool { return j.MemberID != "" })},
		{"SyncGroup", a[group.Sync]()},
		{"Heartbeat", a[group.Heartbeat]()},
		{"LeaveGroup", a(func(l *group.Leave) bool { return len(l.Members) == 1 && l.Members[0].MemberID != "" })},
		{"OffsetCommit", a(func(r *group.Commit) bool { return r.Generation >= 0 })},
	} {
		rows = append(rows,
			row{id: "ID1-" + v.name, says: v.name + " of an instance that the group does not know: UNKNOWN_MEMBER_ID", when: all(v.is, exists, unknownInstance, code(25))},
			row{id: "ID2-" + v.name, says: v.name + " of an instance that has another id: FENCED_INSTANCE_ID", when: all(v.is, otherOwner, code(82))},
			row{id: "ID3-" + v.name, says: v.name + " of an id that is no member: UNKNOWN_MEMBER_ID", when: all(v.is, exists, stranger, code(25))},
		)
	}
	return append(rows,
		row{id: "ID4", says: "a static member may leave out its instance: its id is enough", when: func(c *Call) bool {
			_, instance := idOf(c)
			m := named(c)
			return m != nil && m.Instance != "" && instance == nil && code(0)(c)
		}},
		row{id: "ID5", says: "an id that was handed out is no member: UNKNOWN_MEMBER_ID", when: all(either(a[group.Sync](), a[group.Heartbeat](), a[group.Commit]()), isPending, code(25))},
		row{id: "ID6", says: "an instance with the empty id is fenced", when: all(hasIdentity, not(a[group.Join]()), not(a[group.Leave]()), newcomer, otherOwner, code(82))},
	)
}

func joinRows() []row {
	return []row{
		{id: "J1", says: "the group does not exist and the id is not empty: UNKNOWN_MEMBER_ID, the id is echoed", when: all(a[group.Join](), unknown, not(newcomer), code(25), echoes)},
		{id: "J2", says: "the group does not exist and the id is empty: the group is created", when: all(a[group.Join](), unknown, event(group.GroupCreated))},
		{id: "J2-later", says: "a group is not created by a join that is refused", when: all(a[group.Join](), unknown, newcomer, code(23), func(c *Call) bool { return !c.After.Exists })},
		{id: "J3", says: "no room: GROUP_MAX_SIZE_REACHED, no id is echoed, and the id is worth nothing any more", when: all(a[group.Join](), code(81), echoesNone)},
		{id: "J4", says: "the group is dead: COORDINATOR_NOT_AVAILABLE", tests: []string{"group TestUnloadAnswersInTheOrderOfArrival"}},
		{id: "J5", says: "protocols that the group cannot use: INCONSISTENT_GROUP_PROTOCOL", when: all(a[group.Join](), code(23))},
		{id: "J5-pending", says: "the same with an id that was handed out, which stays so", when: all(a[group.Join](), isPending, code(23), func(c *Call) bool { return len(c.After.Pending) == len(c.Before.Pending) })},
		{id: "J5-known", says: "the same with a member, which stays one", when: all(a[group.Join](), known, code(23), func(c *Call) bool { return len(c.After.Members) == len(c.Before.Members) })},
		{id: "J6-new", says: "a static member that is new becomes a member at once", when: all(joinWith(ofStatic), newcomer, not(replaces), event(group.MemberJoined))},
		{id: "J6-known", says: "a static member that is known is replaced", when: all(joinWith(ofStatic), newcomer, replaces, event(group.MemberReplaced))},
		{id: "J7", says: "JoinGroup 4 and later, dynamic, without an id: MEMBER_ID_REQUIRED and an id", when: all(joinWith(twoStep), joinWith(ofDynamic), newcomer, code(79))},
		{id: "J8", says: "JoinGroup 0 to 3, dynamic, without an id: a member at once", when: all(joinWith(oneStep), joinWith(ofDynamic), newcomer, event(group.MemberJoined))},
		{id: "J9", says: "an id that was handed out comes back with an instance: UNKNOWN_SERVER_ERROR", when: all(joinWith(ofStatic), isPending, code(-1))},
		{id: "J10", says: "an id that was handed out comes back: a member under that id", when: all(a[group.Join](), isPending, event(group.MemberJoined))},
		{id: "J11", says: "the identity check fails: its error, and the id is echoed", when: all(a[group.Join](), exists, not(newcomer), either(code(25), code(82)), echoes)},
		{id: "J12", says: "a known member: by state", when: all(a[group.Join](), known, either(code(0), parks))},
	}
}

func echoes(c *Call) bool {
	j, ok := c.Body.(group.Joined)
	id, _ := idOf(c)
	return ok && j.MemberID == id
}

func echoesNone(c *Call) bool { j, ok := c.Body.(group.Joined); return ok && j.MemberID == "" }

func roomRows() []row {
	refused := all(a[group.Join](), code(81))
	return []row{
		{id: "RM1", says: "Empty: always", when: all(a[group.Join](), in(group.Empty), either(code(79), parks))},
		{id: "RM2-waits", says: "PreparingRebalance: a member that waits to join has its place", when: func(c *Call) bool {
			m := named(c)
			return a[group.Join]()(c) && in(group.PreparingRebalance)(c) && m != nil && m.JoinParked && other(true, 16)(c)
		}},
		{id: "RM2-room", says: "PreparingRebalance: while fewer wait than there is room for", when: all(a[group.Join](), in(group.PreparingRebalance), either(event(group.MemberJoined), event(group.MemberRejoined)))},
		{id: "RM2-full", says: "PreparingRebalance: the last to join again are refused and removed", when: all(refused, in(group.PreparingRebalance), event(group.MemberDropped))},
		{id: "RM2-pending", says: "PreparingRebalance: ids do not count until they come back, and then are refused", when: all(refused, in(group.PreparingRebalance), isPending)},
		{id: "RM3-member", says: "CompletingRebalance and Stable: a member has its place", when: all(a[group.Join](), either(in(group.CompletingRebalance), in(group.Stable)), known, either(code(0), parks))},
		{id: "RM3-full", says: "CompletingRebalance and Stable: a full group refuses the first join already", when: all(refused, either(in(group.CompletingRebalance), in(group.Stable)), newcomer)},
		{id: "RM4", says: "a static member that restarts replaces only itself, in a full group too", when: all(replaces, event(group.MemberReplaced))},
		{id: "RM5", says: "after a removal for want of room it is looked again whether everyone has joined", when: all(refused, in(group.PreparingRebalance), event(group.JoinCompleted))},
	}
}

func knownRows() []row {
	join := a[group.Join]()
	return []row{
		{id: "PU1-type", says: "Empty group, no protocol type: INCONSISTENT_GROUP_PROTOCOL", when: all(a(func(j *group.Join) bool { return j.ProtocolType == "" }), in(group.Empty), code(23))},
		{id: "PU1-list", says: "Empty group, no protocols: INCONSISTENT_GROUP_PROTOCOL", when: all(a(func(j *group.Join) bool { return len(j.Protocols) == 0 }), in(group.Empty), code(23))},
		{id: "PU2", says: "another protocol type than the group's: INCONSISTENT_GROUP_PROTOCOL", when: func(c *Call) bool {
			j, ok := c.Request.(group.Join)
			return ok && code(23)(c) && len(c.Before.Members) > 0 && j.ProtocolType != c.Before.Type
		}},
		{id: "PU3", says: "no protocol that all members have: INCONSISTENT_GROUP_PROTOCOL", when: func(c *Call) bool {
			j, ok := c.Request.(group.Join)
			return ok && code(23)(c) && len(c.Before.Members) > 0 && j.ProtocolType == c.Before.Type
		}},
		{id: "PU4", says: "the caller's own old list counts: a sole member cannot change to another protocol", when: all(join, known, code(23), func(c *Call) bool { return len(c.Before.Members) == 1 })},
		{id: "KM1", says: "PreparingRebalance: what it offers is stored, and it waits", when: all(join, known, in(group.PreparingRebalance), event(group.MemberRejoined))},
		{id: "KM2", says: "CompletingRebalance, the same list: told the generation again, nothing else happens", when: all(join, known, in(group.CompletingRebalance), same, code(0), to(group.CompletingRebalance))},
		{id: "KM2-leader", says: "the leader gets the list of members again", when: all(join, known, leads, in(group.CompletingRebalance), same, code(0), func(c *Call) bool { return len(answer[group.Joined](c).Members) > 0 })},
		{id: "KM3", says: "CompletingRebalance, another list: a rebalance", when: all(join, known, in(group.CompletingRebalance), not(same), cause(group.RebalanceStarted, group.CauseProtocolsChanged))},
		{id: "KM4", says: "Stable, the leader: a rebalance, even if nothing has changed", when: all(join, known, leads, in(group.Stable), same, cause(group.RebalanceStarted, group.CauseLeaderRejoined))},
		{id: "KM5", says: "Stable, a follower with another list: a rebalance", when: all(join, known, not(leads), in(group.Stable), not(same), cause(group.RebalanceStarted, group.CauseProtocolsChanged))},
		{id: "KM6", says: "Stable, a follower with the same list: told the generation, nothing else happens", when: all(join, known, not(leads), in(group.Stable), same, code(0), to(group.Stable))},
		{id: "KM7", says: "Empty", never: "an Empty group has no members, so that the identity check has refused the request before"},
		{id: "KM8", says: "a sole leader that joins again in a Stable group has its answer at once", when: all(join, known, leads, in(group.Stable), code(0), to(group.CompletingRebalance))},
		{id: "KM9", says: "after a load the list has one protocol: a follower that offers two has another list", when: all(join, known, not(leads), in(group.Stable), cause(group.RebalanceStarted, group.CauseProtocolsChanged), func(c *Call) bool { return len(named(c).Protocols) == 1 && len(c.offers()) == 2 })},
	}
}

func phaseRows() []row {
	join := a[group.Join]()
	completes := event(group.JoinCompleted)
	return []row{
		{id: "JP1-join", says: "the last one to join ends the phase", when: all(join, in(group.PreparingRebalance), completes)},
		{id: "JP1-leave", says: "a departure that leaves nobody to wait for ends it", when: all(a[group.Leave](), in(group.PreparingRebalance), completes)},
		{id: "JP1-expiry", says: "so does an expiry", when: all(ticks, in(group.PreparingRebalance), event(group.MemberExpired), completes)},
		{id: "JP1-pending", says: "so does an id that expires", when: all(ticks, in(group.PreparingRebalance), event(group.PendingExpired), completes)},
		{id: "JP1-given-back", says: "so does an id that is given back", when: all(a[group.Leave](), in(group.PreparingRebalance), isPending, completes)},
		{id: "JP2", says: "the deadline ends it without those that did not come", when: all(ticks, in(group.PreparingRebalance), cause(group.MemberDropped, group.CauseJoinDeadline), completes)},
		{id: "JP3-extend", says: "the initial delay goes on if someone came in the present stretch", when: all(ticks, in(group.PreparingRebalance), func(c *Call) bool {
			return c.Before.Initial && c.After.Initial && len(c.Events) == 0 && len(c.Before.Members) > 1
		})},
		{id: "JP3-end", says: "the initial delay ends", when: all(ticks, in(group.PreparingRebalance), func(c *Call) bool { return c.Before.Initial }, completes)},
		{id: "JP3-full", says: "the initial delay does not end early, though everyone has joined", when: all(join, in(group.PreparingRebalance), func(c *Call) bool { return c.Before.Initial && len(c.Before.Pending) <= 1 }, event(group.MemberJoined), parks)},
		{id: "JP3-none", says: "a group that everybody has left in the initial delay waits for its end", when: all(a[group.Leave](), func(c *Call) bool { return c.Before.Initial && len(c.After.Members) == 0 }, to(group.PreparingRebalance))},
		{id: "JP4", says: "static members that did not come stay and are in the list", when: all(completes, func(c *Call) bool {
			return slices.ContainsFunc(c.After.Members, func(m MemberFacts) bool {
				was := c.Before.member(m.ID)
				return m.Instance != "" && was != nil && !was.JoinParked && c.Request == nil
			})
		})},
		{id: "JP5", says: "only silent static members: the deadline is set again, the generation stays", when: all(ticks, in(group.PreparingRebalance), to(group.PreparingRebalance), func(c *Call) bool { return !c.Before.Initial && len(c.Events) == 0 && len(c.Before.Members) > 0 })},
		{id: "JP6", says: "a leader that did not come is replaced by one that did", when: all(completes, func(c *Call) bool {
			was := c.After.member(c.Before.Leader)
			return c.Before.Leader != "" && was != nil && c.After.Leader != c.Before.Leader
		})},
		{id: "JP7", says: "ids that were handed out survive a phase that ends by its deadline", when: all(ticks, completes, func(c *Call) bool { return len(c.After.Pending) > 0 && len(c.After.Members) > 0 })},
		{id: "JP8", says: "nobody is left: generation one higher, Empty, on record", when: all(completes, event(group.GroupEmptied))},
	}
}
