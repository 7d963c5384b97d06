package explore

import (
	"slices"

	"rota/internal/group"
)

// row is one row of the protocol's tables.
type row struct {
	id, says string
	// when recognises a call that the row decides.
	when func(*Call) bool
	// tests are Go tests that reach a row which lies outside the rules of a
	// group: "package Test".
	tests []string
	// never says why the row cannot be reached.
	never string
}

// part is one table.
type part struct {
	title string
	rows  []row
}

func tables() []part {
	return []part{
		{"Transitions of a group", transitionRows()},
		{"State by request: the quick matrix", matrixRows()},
		{"Common checks before any rule", prologueRows()},
		{"Identity", identityRows()},
		{"JoinGroup: checks in order", joinRows()},
		{"JoinGroup: room", roomRows()},
		{"JoinGroup: protocols and known members", knownRows()},
		{"The join phase", phaseRows()},
		{"SyncGroup", syncRows()},
		{"Leader and protocol", leaderRows()},
		{"Heartbeat", beatRows()},
		{"LeaveGroup", leaveRows()},
		{"Static members that come back", staticRows()},
		{"Parked requests", parkedRows()},
		{"Records of the group", recordRows()},
		{"Timers", timerRows()},
		{"OffsetCommit", commitRows()},
		{"OffsetFetch", fetchRows()},
		{"OffsetDelete", deleteOffsetsRows()},
		{"DeleteGroups", deleteRows()},
		{"DescribeGroups and ListGroups", describeRows()},
		{"FindCoordinator", coordinatorRows()},
		{"Retention, deleted topics and tombstones", retentionRows()},
		{"Transactions", transactionRows()},
		{"Loading and unloading", loadRows()},
	}
}

// Conditions on a call.

type cond = func(*Call) bool

func all(conds ...cond) cond {
	return func(c *Call) bool {
		for _, f := range conds {
			if !f(c) {
				return false
			}
		}
		return true
	}
}

func either(conds ...cond) cond {
	return func(c *Call) bool {
		for _, f := range conds {
			if f(c) {
				return true
			}
		}
		return false
	}
}

func not(f cond) cond { return func(c *Call) bool { return !f(c) } }

// in: the group was in that state. A group that does not exist is in none.
func in(state group.State) cond {
	return func(c *Call) bool {
		return c.Before.State == state.String() && (c.Before.Exists || state == group.Empty)
	}
}

func to(state group.State) cond { return func(c *Call) bool { return c.After.State == state.String() } }

func exists(c *Call) bool  { return c.Before.Exists }
func unknown(c *Call) bool { return !c.Before.Exists }
func ticks(c *Call) bool   { return c.Request == nil }

func event(k group.EventKind) cond {
	return func(c *Call) bool {
		for i := range c.Events {
			if c.Events[i].Kind == k {
				return true
			}
		}
		return false
	}
}

func cause(k group.EventKind, why group.Cause) cond {
	return func(c *Call) bool {
		for i := range c.Events {
			if c.Events[i].Kind == k && c.Events[i].Cause == why {
				return true
			}
		}
		return false
	}
}

func isA[R group.Request](c *Call) bool { _, ok := c.Request.(R); return ok }

// a recognises requests of one kind.
func a[R group.Request](also ...func(*R) bool) cond {
	return func(c *Call) bool {
		r, ok := c.Request.(R)
		if !ok || c.Loading {
			return false
		}
		for _, f := range also {
			if !f(&r) {
				return false
			}
		}
		return true
	}
}

// asked is the request, if it is of that kind.
func asked[R group.Request](c *Call) R { r, _ := c.Request.(R); return r }

// answer is the answer, if it is of that kind.
func answer[R group.Response](c *Call) R { r, _ := c.Body.(R); return r }

// code: the answer to the request is that.
func code(want group.Code) cond {
	return func(c *Call) bool {
		got, ok := codeOf(c.Body)
		return c.Answered && ok && got == want
	}
}

func codeOf(body group.Response) (group.Code, bool) {
	switch b := body.(type) {
	case group.Joined:
		return b.Code, true
	case group.Synced:
		return b.Code, true
	case group.Beat:
		return b.Code, true
	case group.Left:
		if b.Code == 0 && len(b.Members) == 1 {
			return b.Members[0].Code, true
		}
		return b.Code, true
	case group.Committed:
		if len(b.Codes) > 0 {
			return b.Codes[0], true
		}
	case group.FetchedOffsets:
		if b.Code == 0 && len(b.Offsets) > 0 {
			return b.Offsets[0].Code, true
		}
		return b.Code, true
	case group.DeletedOffsets:
		if b.Code == 0 && len(b.Codes) > 0 {
			return b.Codes[0], true
		}
		return b.Code, true
	case group.Deleted:
		return b.Code, true
	case group.Described:
		return b.Code, true
	}
	return 0, false
}

func parks(c *Call) bool { return !c.Answered }

// other: a parked request was answered so.
func other(joins bool, want group.Code) cond {
	return func(c *Call) bool {
		for _, o := range c.Others {
			if got, ok := codeOf(o.Body); ok && got == want && o.Joins == joins {
				return true
			}
		}
		return false
	}
}

// The member that a request names.

func idOf(c *Call) (id string, instance *string) {
	switch r := c.Request.(type) {
	case group.Join:
		return r.MemberID, r.InstanceID
	case group.Sync:
		return r.MemberID, r.InstanceID
	case group.Heartbeat:
		return r.MemberID, r.InstanceID
	case group.Commit:
		return r.MemberID, r.InstanceID
	case group.TxnCommit:
		return r.MemberID, r.InstanceID
	case group.Leave:
		if len(r.Members) == 1 {
			return r.Members[0].MemberID, r.Members[0].InstanceID
		}
	}
	return "", nil
}

func named(c *Call) *MemberFacts { id, _ := idOf(c); return c.Before.member(id) }

// known: the request is of a member that says who it is.
func known(c *Call) bool {
	_, instance := idOf(c)
	m := named(c)
	return m != nil && (instance == nil || *instance == m.Instance)
}

func newcomer(c *Call) bool { id, _ := idOf(c); return id == "" }

func isPending(c *Call) bool {
	id, _ := idOf(c)
	return slices.Contains(c.Before.Pending, id)
}

func leads(c *Call) bool {
	id, _ := idOf(c)
	return id != "" && id == c.Before.Leader
}

func generationOf(c *Call) int32 {
	switch r := c.Request.(type) {
	case group.Sync:
		return r.Generation
	case group.Heartbeat:
		return r.Generation
	case group.Commit:
		return r.Generation
	case group.TxnCommit:
		return r.Generation
	}
	return -1
}

func current(c *Call) bool { return generationOf(c) == c.Before.Generation }

// same: a join offers what the member has offered before.
func same(c *Call) bool {
	m := named(c)
	return m != nil && equalLists(m.Protocols, c.offers())
}

func (c *Call) offers() []string {
	j, _ := c.Request.(group.Join)
	var list []string
	for _, p := range j.Protocols {
		list = append(list, protocolText(p))
	}
	return list
}
