package explore

import (
	"slices"

	"rota/internal/group"
)

func transitionRows() []row {
	join := a[group.Join]()
	starts := event(group.RebalanceStarted)
	rows := []row{
		{id: "ST1-join", says: "none to Empty: a JoinGroup without an id", when: all(join, unknown, event(group.GroupCreated), to(group.Empty))},
		{id: "ST1-commit", says: "none to Empty: a commit without a generation", when: all(a[group.Commit](), unknown, event(group.GroupCreated), to(group.Empty))},
		{id: "ST2-old", says: "Empty to PreparingRebalance: a dynamic member of JoinGroup 0 to 3", when: all(joinWith(oneStep), joinWith(ofDynamic), newcomer, in(group.Empty), starts)},
		{id: "ST2-pending", says: "Empty to PreparingRebalance: an id that was handed out comes back", when: all(join, isPending, in(group.Empty), starts)},
		{id: "ST2-static", says: "Empty to PreparingRebalance: a static member", when: all(joinWith(ofStatic), newcomer, in(group.Empty), starts)},
		{id: "ST3", says: "Empty stays Empty: an id is handed out", when: all(join, in(group.Empty), code(79), to(group.Empty))},
		{id: "ST4", says: "PreparingRebalance to CompletingRebalance: the phase ends with members", when: all(in(group.PreparingRebalance), event(group.JoinCompleted), to(group.CompletingRebalance))},
		{id: "ST5", says: "PreparingRebalance to Empty: the phase ends without members", when: all(in(group.PreparingRebalance), event(group.JoinCompleted), to(group.Empty))},
		{id: "ST6", says: "PreparingRebalance stays: nobody has come, the deadline is set again", when: all(ticks, in(group.PreparingRebalance), to(group.PreparingRebalance), func(c *Call) bool { return !c.Before.Initial && len(c.Events) == 0 && len(c.Before.Members) > 0 })},
		{id: "ST7", says: "CompletingRebalance to Stable: the leader's plan", when: all(a[group.Sync](), in(group.CompletingRebalance), event(group.AssignmentInstalled), to(group.Stable))},
		{id: "ST8-large", says: "CompletingRebalance to PreparingRebalance: the plan is too large for a record", when: all(a[group.Sync](), in(group.CompletingRebalance), cause(group.RebalanceStarted, group.CauseAssignmentTooLarge))},
		{id: "ST8-failed", says: "the plan cannot be appended: the shard ends and is read again, all are told NOT_COORDINATOR", tests: []string{"coordinator TestFailedAppendLoadsTheShardAgain", "coordinator TestFailedFlush"}},
		{id: "ST12-delete", says: "Empty to none: DeleteGroups", when: all(a[group.Delete](), in(group.Empty), exists, code(0))},
		{id: "ST12-expire", says: "Empty to none: a retention pass finds nothing to keep", when: all(a[group.Expire](), in(group.Empty), cause(group.GroupDeleted, group.CauseRetention))},
		{id: "ST13", says: "any to Dead: the partition is unloaded", when: all(ticks, event(group.GroupUnloaded), to(group.Dead))},
	}
	for _, s := range []group.State{group.CompletingRebalance, group.Stable} {
		n := "-" + s.String()
		rows = append(rows,
			row{id: "ST9-new" + n, says: s.String() + " to PreparingRebalance: a new member", when: all(join, in(s), cause(group.RebalanceStarted, group.CauseMemberJoined))},
			row{id: "ST9-changed" + n, says: s.String() + " to PreparingRebalance: a member with another list", when: all(join, in(s), cause(group.RebalanceStarted, group.CauseProtocolsChanged))},
			row{id: "ST9-static" + n, says: s.String() + " to PreparingRebalance: a static member restarts (and in a Stable group changes the vote)", when: all(replaces, in(s), cause(group.RebalanceStarted, group.CauseStaticReplaced))},
			row{id: "ST10-leave" + n, says: s.String() + " to PreparingRebalance: a member leaves", when: all(a[group.Leave](), in(s), cause(group.RebalanceStarted, group.CauseMemberLeft))},
			row{id: "ST10-expiry" + n, says: s.String() + " to PreparingRebalance: a session expires", when: all(ticks, in(s), cause(group.RebalanceStarted, group.CauseSessionExpired))},
			row{id: "ST10-sync" + n, says: s.String() + " to PreparingRebalance: the time to sync is over", when: all(ticks, in(s), cause(group.RebalanceStarted, group.CauseSyncDeadline))},
		)
	}
	return append(rows, row{id: "ST11", says: "Stable to PreparingRebalance: the leader joins again", when: all(join, in(group.Stable), cause(group.RebalanceStarted, group.CauseLeaderRejoined))})
}

func matrixRows() []row {
	type cell struct {
		says string
		when cond
	}
	join, syncs, beats := a[group.Join](), a[group.Sync](), a[group.Heartbeat]()
	commits, leaves := a[group.Commit](), a(func(l *group.Leave) bool { return len(l.Members) == 1 })
	noMembers := "25: an Empty group has no members"
	list := map[group.State]map[string]cell{
		group.Empty: {
			"join, new":               {"79, or it waits", all(join, newcomer, either(code(79), parks))},
			"join, known, same list":  {noMembers, all(join, exists, stranger, code(25))},
			"join, known, other list": {noMembers, all(join, exists, stranger, code(25))},
			"sync":                    {noMembers, all(syncs, exists, code(25))}, "heartbeat": {noMembers, all(beats, exists, code(25))},
			"commit": {"0 without a generation, else 25", all(commits, exists, either(all(code(0), not(current)), code(25)))},
			"leave":  {noMembers, all(leaves, exists, code(25))},
		},
		group.PreparingRebalance: {
			"join, new":               {"79, or it waits", all(join, newcomer, either(code(79), parks))},
			"join, known, same list":  {"it waits", all(join, known, same, event(group.MemberRejoined))},
			"join, known, other list": {"it waits", all(join, known, not(same), event(group.MemberRejoined))},
			"sync":                    {"27", all(syncs, known, current, code(27))}, "heartbeat": {"27", all(beats, known, current, code(27))},
			"commit": {"0", all(commits, known, current, code(0))}, "leave": {"0", all(leaves, known, code(0))},
		},
		group.CompletingRebalance: {
			"join, new":               {"79, or it waits for a rebalance", all(join, newcomer, either(code(79), event(group.RebalanceStarted)))},
			"join, known, same list":  {"0 at once", all(join, known, same, code(0))},
			"join, known, other list": {"it waits for a rebalance", all(join, known, not(same), event(group.RebalanceStarted))},
			"sync":                    {"it waits", all(syncs, known, current, parks)}, "heartbeat": {"0", all(beats, known, current, code(0))},
			"commit": {"27", all(commits, known, current, code(27))}, "leave": {"0, and a rebalance", all(leaves, known, code(0), event(group.RebalanceStarted))},
		},
		group.Stable: {
			"join, new":               {"79, or it waits for a rebalance", all(join, newcomer, either(code(79), event(group.RebalanceStarted)))},
			"join, known, same list":  {"0 at once for a follower; a rebalance for the leader", all(join, known, same, either(code(0), event(group.RebalanceStarted)))},
			"join, known, other list": {"a rebalance", all(join, known, not(same), event(group.RebalanceStarted))},
			"sync":                    {"0 at once", all(syncs, known, current, code(0))}, "heartbeat": {"0", all(beats, known, current, code(0))},
			"commit": {"0", all(commits, known, current, code(0))}, "leave": {"0, and a rebalance", all(leaves, known, code(0), event(group.RebalanceStarted))},
		},
	}
	var rows []row
	columns := []string{"join, new", "join, known, same list", "join, known, other list", "sync", "heartbeat", "commit", "leave"}
	for i, s := range []group.State{group.Empty, group.PreparingRebalance, group.CompletingRebalance, group.Stable} {
		for j, column := range columns {
			c := list[s][column]
			rows = append(rows, row{id: "QM" + string(rune('1'+i)) + "." + string(rune('1'+j)), says: s.String() + ", " + column + ": " + c.says, when: all(in(s), c.when)})
		}
	}
	return append(rows, row{id: "QM5", says: "Dead, any request: COORDINATOR_NOT_AVAILABLE", tests: []string{"group TestUnloadAnswersInTheOrderOfArrival"}})
}

func syncRows() []row {
	syncs := a[group.Sync]()
	plans := all(syncs, leads, in(group.CompletingRebalance), event(group.AssignmentInstalled))
	lists := func(c *Call, f func([]group.Assignment) bool) bool {
		return f(asked[group.Sync](c).Assignments)
	}
	return []row{
		{id: "S1-none", says: "the group does not exist: UNKNOWN_MEMBER_ID", when: all(syncs, unknown, code(25))},
		{id: "S1-empty", says: "Empty: UNKNOWN_MEMBER_ID", when: all(syncs, exists, in(group.Empty), code(25))},
		{id: "S2", says: "Dead: COORDINATOR_NOT_AVAILABLE", tests: []string{"group TestUnloadAnswersInTheOrderOfArrival"}},
		{id: "S3", says: "the identity check fails: its error", when: all(syncs, not(in(group.Empty)), either(code(25), code(82)))},
		{id: "S4", says: "another generation: ILLEGAL_GENERATION", when: all(syncs, known, not(current), code(22))},
		{id: "S5", says: "another protocol type or name than the group's: INCONSISTENT_GROUP_PROTOCOL", when: all(syncs, known, current, code(23))},
		{id: "S6", says: "PreparingRebalance: REBALANCE_IN_PROGRESS", when: all(syncs, known, current, in(group.PreparingRebalance), code(27))},
		{id: "S7-follower", says: "CompletingRebalance, a follower: it waits", when: all(syncs, known, not(leads), current, in(group.CompletingRebalance), parks)},
		{id: "S7-leader", says: "CompletingRebalance, the leader: its plan is recorded, and all are answered", when: all(plans, code(0))},
		{id: "S8", says: "Stable: its own assignment at once", when: all(syncs, known, current, in(group.Stable), code(0))},
		{id: "S8-leader", says: "Stable, the leader: its plan is not looked at", when: all(syncs, leads, current, in(group.Stable), code(0), func(c *Call) bool {
			return len(c.Batches) == 0 && lists(c, func(l []group.Assignment) bool { return len(l) > 0 })
		})},
		{id: "SY1", says: "a member twice in a plan: the last entry counts", when: all(plans, func(c *Call) bool {
			return lists(c, func(l []group.Assignment) bool {
				ids := map[string]bool{}
				for _, e := range l {
					if ids[e.MemberID] {
						return true
					}
					ids[e.MemberID] = true
				}
				return false
			})
		})},
		{id: "SY2", says: "a plan for strangers: they are passed over", when: all(plans, func(c *Call) bool {
			return lists(c, func(l []group.Assignment) bool {
				return slices.ContainsFunc(l, func(e group.Assignment) bool { return c.Before.member(e.MemberID) == nil })
			})
		})},
		{id: "SY3", says: "a member that the plan forgets has an empty assignment", when: all(plans, func(c *Call) bool {
			return slices.ContainsFunc(c.After.Members, func(m MemberFacts) bool { return !m.Owns })
		})},
		{id: "SY4", says: "a follower's plan is not looked at", when: all(syncs, known, not(leads), current, in(group.CompletingRebalance), parks, func(c *Call) bool { return lists(c, func(l []group.Assignment) bool { return len(l) > 0 }) })},
		{id: "SY5", says: "the leader's plan again before the first is durable: answered by the first", when: all(syncs, leads, current, in(group.Stable), code(0), func(c *Call) bool { return len(c.Batches) == 0 })},
	}
}

func leaderRows() []row {
	return []row{
		{id: "LD1", says: "the first member leads", when: all(event(group.MemberJoined), func(c *Call) bool { return c.Before.Leader == "" && c.After.Leader != "" })},
		{id: "LD2", says: "a leader that goes hands on to the member that has been there longest", when: func(c *Call) bool {
			return c.Before.Leader != "" && c.After.State != group.Dead.String() && c.After.member(c.Before.Leader) == nil && len(c.After.Members) > 0 && !replaced(c.Events)
		}},
		{id: "LD3", says: "the leader that goes was the last member", when: func(c *Call) bool {
			return c.Before.Leader != "" && c.After.State != group.Dead.String() && c.After.Leader == ""
		}},
		{id: "LD4", says: "a static leader that restarts leads on", when: all(replaces, func(c *Call) bool {
			return c.Before.Leader == c.Before.owner(asked[group.Join](c).InstanceID).ID && c.After.Leader == asked[group.Join](c).NewMemberID
		})},
		{id: "LD5", says: "a vote: the first on each list that all have", when: all(event(group.JoinCompleted), func(c *Call) bool {
			return slices.ContainsFunc(c.After.Members, func(m MemberFacts) bool { return len(m.Protocols) > 1 })
		})},
		{id: "LD6", says: "a member that has not come again votes too", when: all(event(group.JoinCompleted), func(c *Call) bool {
			return slices.ContainsFunc(c.After.Members, func(m MemberFacts) bool {
				was := c.Before.member(m.ID)
				return m.Instance != "" && was != nil && !was.JoinParked && c.Request == nil
			})
		})},
	}
}

func beatRows() []row {
	beats := a[group.Heartbeat]()
	return []row{
		{id: "HB1", says: "the group does not exist: UNKNOWN_MEMBER_ID", when: all(beats, unknown, code(25))},
		{id: "HB2", says: "Dead: COORDINATOR_NOT_AVAILABLE", tests: []string{"group TestUnloadAnswersInTheOrderOfArrival"}},
		{id: "HB3", says: "the identity check fails: its error", when: all(beats, exists, either(code(25), code(82)))},
		{id: "HB4", says: "another generation: ILLEGAL_GENERATION", when: all(beats, known, not(current), code(22))},
		{id: "HB5", says: "Empty: UNKNOWN_MEMBER_ID", when: all(beats, exists, in(group.Empty), code(25))},
		{id: "HB6", says: "PreparingRebalance: REBALANCE_IN_PROGRESS, and the session goes on", when: all(beats, known, current, in(group.PreparingRebalance), code(27))},
		{id: "HB7", says: "CompletingRebalance: no error", when: all(beats, known, current, in(group.CompletingRebalance), code(0))},
		{id: "HB8", says: "Stable: no error", when: all(beats, known, current, in(group.Stable), code(0))},
		{id: "HB9", says: "a static member that has not come again has an old generation: ILLEGAL_GENERATION", when: all(beats, known, code(22), func(c *Call) bool { return named(c).Instance != "" && generationOf(c) < c.Before.Generation })},
		{id: "HB10", says: "an id that was handed out: UNKNOWN_MEMBER_ID", when: all(beats, isPending, code(25))},
	}
}

func leaveRows() []row {
	leaves := a(func(l *group.Leave) bool { return len(l.Members) > 0 })
	old := a(func(l *group.Leave) bool { return l.Version < 3 })
	byInstance := a(func(l *group.Leave) bool {
		return slices.ContainsFunc(l.Members, func(m group.LeavingMember) bool { return m.MemberID == "" && m.InstanceID != nil })
	})
	return []row{
		{id: "L1", says: "the group does not exist: each member UNKNOWN_MEMBER_ID", when: all(leaves, not(old), unknown, code(25))},
		{id: "L1-old", says: "the same before version 3: at the top", when: all(old, code(25), func(c *Call) bool { return answer[group.Left](c).Code == 25 })},
		{id: "L2", says: "Dead: COORDINATOR_NOT_AVAILABLE at the top", tests: []string{"group TestUnloadAnswersInTheOrderOfArrival"}},
		{id: "L3", says: "an instance alone: its member goes", when: all(byInstance, event(group.MemberLeft))},
		{id: "L4", says: "an instance alone that is not known: UNKNOWN_MEMBER_ID", when: all(byInstance, func(c *Call) bool {
			return slices.ContainsFunc(answer[group.Left](c).Members, func(m group.LeftMember) bool { return m.MemberID == "" && m.InstanceID != nil && m.Code == 25 })
		})},
		{id: "L5", says: "an id that was handed out: it is given back", when: all(leaves, isPending, code(0))},
		{id: "L6", says: "a member: it goes", when: all(leaves, known, code(0), event(group.MemberLeft))},
		{id: "L6-refused", says: "somebody else: the error of the identity check", when: all(leaves, exists, not(known), either(code(25), code(82)))},
		{id: "L7-join", says: "its parked JoinGroup is answered UNKNOWN_MEMBER_ID, without an id", when: all(leaves, other(true, 25))},
		{id: "L7-sync", says: "its parked SyncGroup is answered UNKNOWN_MEMBER_ID", when: all(leaves, other(false, 25))},
		{id: "L8", says: "several in one request", when: func(c *Call) bool { l, ok := c.Request.(group.Leave); return ok && len(l.Members) > 1 }},
		{id: "L9", says: "an id that is given back does not rebalance a Stable group", when: all(leaves, isPending, in(group.Stable), code(0), to(group.Stable))},
		{id: "L10", says: "the last member: Empty and one generation higher in the same step", when: all(leaves, event(group.GroupEmptied))},
	}
}

func staticRows() []row {
	version := func(from, below int16) cond {
		return a(func(j *group.Join) bool { return j.Version >= from && j.Version < below })
	}
	led := func(c *Call) bool {
		j, ok := c.Request.(group.Join)
		m := c.Before.owner(j.InstanceID)
		return ok && m != nil && m.ID == c.Before.Leader
	}
	told := func(skip bool, members bool) cond {
		return func(c *Call) bool {
			j, ok := c.Body.(group.Joined)
			return ok && c.Answered && j.Code == 0 && j.SkipAssignment == skip && (len(j.Members) > 0) == members
		}
	}
	stays := all(replaces, in(group.Stable), to(group.Stable))
	return []row{
		{id: "SR1-follower", says: "Stable, version 9, a follower: told the present generation, its assignment waits for it", when: all(stays, version(9, 99), not(led), told(false, false))},
		{id: "SR1-leader", says: "Stable, version 9, the leader: told to lead, with the list, and to skip the assignment", when: all(stays, version(9, 99), led, told(true, true))},
		{id: "SR1-old-leader", says: "Stable, before version 9, the leader: told that its old id leads", when: all(stays, version(5, 9), led, told(false, false), func(c *Call) bool { return answer[group.Joined](c).Leader == c.Before.Leader })},
		{id: "SR1-record", says: "the new id is recorded before the answer", when: all(stays, func(c *Call) bool {
			return len(c.Batches) == 1 && c.Answered && c.Replies[len(c.Replies)-1].After != group.DependsNothing
		})},
		{id: "SR2", says: "Stable, but the vote changes: a rebalance, the join waits", when: all(replaces, in(group.Stable), cause(group.RebalanceStarted, group.CauseStaticReplaced))},
		{id: "SR3", says: "CompletingRebalance: always a rebalance", when: all(replaces, in(group.CompletingRebalance), cause(group.RebalanceStarted, group.CauseStaticReplaced))},
		{id: "SR4", says: "PreparingRebalance: it counts as joined", when: all(replaces, in(group.PreparingRebalance), either(parks, event(group.JoinCompleted)))},
		{id: "SR4-last", says: "PreparingRebalance: it was the last that was waited for", when: all(replaces, in(group.PreparingRebalance), event(group.JoinCompleted))},
		{id: "SR5", says: "Empty, Dead", never: "an Empty or Dead group has no members that could be replaced"},
		{id: "SR6", says: "the old id's parked JoinGroup is answered FENCED_INSTANCE_ID", when: all(replaces, other(true, 82))},
		{id: "SR7", says: "the old id's parked SyncGroup is answered FENCED_INSTANCE_ID", when: all(replaces, other(false, 82))},
		{id: "SR8", says: "whoever owed a SyncGroup still owes it under the new id", when: all(replaces, in(group.Stable), to(group.Stable), func(c *Call) bool {
			m := c.After.owner(asked[group.Join](c).InstanceID)
			was := c.Before.owner(asked[group.Join](c).InstanceID)
			return was.Unsynced && m.Unsynced
		})},
		{id: "SR9", says: "the new id cannot be recorded: the shard ends, the old id is good again after the load", tests: []string{"coordinator TestFailedAppendLoadsTheShardAgain"}, when: nil},
		{id: "SR10", says: "the new id fetches the old one's assignment", when: all(a[group.Sync](), in(group.Stable), code(0), func(c *Call) bool {
			m := named(c)
			return m != nil && m.Instance != "" && len(answer[group.Synced](c).Assignment) > 0
		})},
		{id: "SR11", says: "silent static members alone: the deadline is set again until they expire", when: all(ticks, in(group.PreparingRebalance), to(group.Empty), event(group.MemberExpired))},
	}
}
