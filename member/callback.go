package member

import (
	"slices"

	"rota/internal/client"
)

// call runs a callback of the machine in a goroutine, and the program's with
// it. Contexts of what is given up end here and now: what follows may take its
// time.
func (m *Member) call(c *client.Call) {
	gen := m.machine.Generation()
	switch c.Kind {
	case client.Revoked, client.Lost:
		m.giveUp(c, gen)
	case client.Assigned:
		m.take(c, gen)
	}
}

func (m *Member) giveUp(c *client.Call, gen client.Generation) {
	why := ErrRevoked
	switch {
	case c.Kind == client.Lost:
		why = ErrLost
	case m.machine.Leaving():
		why = ErrClosed
	}
	m.owned.end(c.Partitions, why)
	var shards []Shard // that the program knows of
	for _, s := range shardsOf(c.Partitions) {
		if m.announced[s] {
			shards = append(shards, s)
			delete(m.announced, s)
		}
	}
	// A revocation at the end of a cooperative rebalance is told by its
	// OnJoinComplete.
	begins := !m.prepared && !m.machine.Leaving()
	if begins {
		m.prepared, m.removed = true, nil
	}
	m.removed = append(m.removed, shards...)
	told := Prepare{Generation: gen.ID}
	if c.Kind == client.Revoked {
		told.Revoked = shards
	}
	m.inBackground(func() {
		if c.Kind == client.Lost && len(shards) > 0 && m.c.OnLost != nil {
			m.c.OnLost(shards)
		}
		if begins && m.c.OnJoinPrepare != nil {
			m.c.OnJoinPrepare(told)
		}
		m.owned.wait(c.Partitions)
	})
}

// take makes the member the owner of what is new.
func (m *Member) take(c *client.Call, gen client.Generation) {
	if now := m.now(); now >= m.lease.Until() {
		m.machine.Lose(now, "coordinator was out of reach")
		gen = m.machine.Generation()
	}
	if gen.ID == -1 {
		// The membership was lost while the rebalance ended: nothing is owned,
		// and the rebalance goes on.
		m.inBackground(func() {})
		return
	}
	all := slices.Clone(m.machine.Owned())
	m.dialect.had(all, gen.ID)
	told := Complete{
		Generation: gen.ID, MemberID: gen.MemberID, Protocol: gen.Protocol, Assignment: m.plan,
		Added: shardsOf(c.Partitions), Removed: m.removed, Owned: shardsOf(all),
	}
	m.prepared, m.removed = false, nil
	var fresh []*holding
	for _, s := range told.Added {
		m.announced[s] = true
		fresh = append(fresh, m.owned.grant(Ownership{Shard: s, Token: gen.ID, MemberID: gen.MemberID}))
	}
	m.c.Log.Info("rebalance is over", "group", m.c.Group, "generation", gen.ID, "owned", len(all), "added", len(told.Added))
	m.inBackground(func() {
		if m.c.OnJoinComplete != nil {
			m.c.OnJoinComplete(told)
		}
		if m.c.Run != nil {
			for _, h := range fresh {
				m.owned.run(h, m.c.Run)
			}
		}
	})
}

// inBackground runs the program's code and then tells the machine.
func (m *Member) inBackground(f func()) {
	go func() {
		f()
		m.do(func() { m.machine.Done(m.now(), nil) })
	}()
}
