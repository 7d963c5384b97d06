package coordinator

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"rota/internal/group"
	"rota/internal/storage"
	"rota/internal/storage/storagetest"
)

// house is a store with a Coordinator over it, that can be started again.
type house struct {
	t       *testing.T
	open    func() (storage.Medium, error)
	log     storage.LogConfig
	wrap    func(partitionLog) partitionLog // if not nil
	config  group.Config
	store   *storage.Store
	c       *Coordinator
	members int
}

func newHouse(t *testing.T) *house {
	t.Helper()
	return newHouseOn(t, storagetest.NewMemory())
}

func newHouseOn(t *testing.T, m storage.Medium) *house {
	t.Helper()
	h := &house{
		t: t, config: testConfig(), log: storage.LogConfig{Internal: true, Compact: true},
		open: func() (storage.Medium, error) { return m, nil },
	}
	h.config.InitialDelay = 100 * time.Millisecond
	h.start()
	t.Cleanup(h.stop)
	return h
}

func (h *house) start() {
	h.t.Helper()
	m, err := h.open()
	if err != nil {
		h.t.Fatal(err)
	}
	if h.store, err = storage.Open(context.Background(), m, storage.Config{}); err != nil {
		h.t.Fatal(err)
	}
	h.lead()
}

// lead starts the coordinator.
func (h *house) lead() {
	h.t.Helper()
	open := func(p int32) (*storage.Log, error) {
		return h.store.Create(storage.Partition{Topic: storage.TopicID{9}, Index: p}, h.log)
	}
	config := Config{
		Partitions: 4, Group: h.config, NextEpoch: h.store.NextEpoch, Open: open,
		NewMemberID: func() string { h.members++; return fmt.Sprint(h.members) },
	}
	if h.wrap != nil {
		h.c = start(config, func(p int32) (partitionLog, error) {
			l, err := open(p)
			return h.wrap(storedLog{l}), err
		}, nil)
		<-h.c.Loaded()
		return
	}
	var err error
	h.c, err = Start(config)
	if err != nil {
		h.t.Fatal(err)
	}
	<-h.c.Loaded()
}

func (h *house) stop() {
	if h.c == nil {
		return
	}
	if err := h.c.Close(); err != nil {
		h.t.Error(err)
	}
	if err := h.store.Close(context.Background()); err != nil {
		h.t.Error(err)
	}
	h.c = nil
}

func (h *house) restart() {
	h.t.Helper()
	h.stop()
	h.start()
}

func (h *house) ask(id string, req group.Request) group.Response {
	h.t.Helper()
	got := make(chan group.Response, 1)
	h.c.Submit(id, req, func(resp group.Response) { got <- resp })
	return <-got
}

// beat is the code of a heartbeat.
func (h *house) beat(id, member string, generation int32) group.Code {
	h.t.Helper()
	return h.ask(id, group.Heartbeat{MemberID: member, Generation: generation}).(group.Beat).Code
}

// members brings a group to Stable with so many members, the leader first.
func (h *house) form(id string, n int) (members []string, generation int32) {
	h.t.Helper()
	answers := make(chan group.Joined, n)
	for range n {
		first := h.ask(id, join("", 10*time.Second)).(group.Joined)
		members = append(members, first.MemberID)
	}
	for _, m := range members {
		h.c.Submit(id, join(m, 10*time.Second), func(r group.Response) { answers <- r.(group.Joined) })
	}
	var plan []group.Assignment
	for range n {
		joined := <-answers
		generation = max(generation, joined.Generation)
		if joined.Code != 0 {
			h.t.Fatalf("join: %+v", joined)
		}
		plan = append(plan, group.Assignment{MemberID: joined.MemberID, Data: []byte(joined.MemberID)})
		if joined.Leader == joined.MemberID {
			for i, m := range members {
				if m == joined.Leader {
					members[0], members[i] = members[i], members[0]
				}
			}
		}
	}
	for _, m := range members {
		if s := h.ask(id, group.Sync{Version: 4, MemberID: m, Generation: generation, Assignments: plan}).(group.Synced); s.Code != 0 {
			h.t.Fatalf("sync of %s: %+v", m, s)
		}
		plan = nil
	}
	return members, generation
}

func (h *house) state(id string) string {
	h.t.Helper()
	return h.ask(id, group.Describe{Version: 5}).(group.Described).State
}

// P11, P15: members that keep their heartbeats notice nothing of a restart.
func TestRestartKeepsGroupsMembersAndOffsets(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newHouse(t)
		members, generation := h.form("g", 3)
		c := commit(42)
		c.MemberID, c.Generation = members[1], generation
		if got := outcome(h.ask("g", c)); got != "0" {
			t.Fatalf("commit: %s", got)
		}
		if got := outcome(h.ask("simple", commit(7))); got != "0" {
			t.Fatalf("commit: %s", got)
		}
		for range 3 {
			time.Sleep(9 * time.Second)
			for _, m := range members {
				if code := h.beat("g", m, generation); code != 0 {
					t.Fatalf("heartbeat: %d", code)
				}
			}
			h.restart()
		}
		if got := outcome(h.ask("g", fetch())); got != "at 42" {
			t.Errorf("offset of g: %s", got)
		}
		if got := outcome(h.ask("simple", fetch())); got != "at 7" {
			t.Errorf("offset of simple: %s", got)
		}
		// A follower that joins again with what it had gets the same generation.
		j := h.ask("g", join(members[1], 10*time.Second)).(group.Joined)
		if j.Code != 0 || j.Generation != generation {
			t.Errorf("join: %+v", j)
		}
		s := h.ask("g", group.Sync{Version: 4, MemberID: members[2], Generation: generation}).(group.Synced)
		if s.Code != 0 || string(s.Assignment) != members[2] {
			t.Errorf("sync: %+v", s)
		}
		list, code, err := h.c.List(t.Context())
		want := []group.Summary{
			{ID: "g", ProtocolType: "consumer", State: "Stable", GroupType: "classic"},
			{ID: "simple", State: "Empty", GroupType: "classic"},
		}
		if err != nil || code != 0 || fmt.Sprint(list) != fmt.Sprint(want) {
			t.Errorf("list: %v, %d, %v", list, code, err)
		}
	})
}

// P13: a member that stays silent goes one session after the load.
func TestRestartGivesAFreshSession(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newHouse(t)
		h.form("g", 2)
		time.Sleep(9 * time.Second)
		h.restart()
		time.Sleep(9 * time.Second)
		if got := h.state("g"); got != "Stable" {
			t.Errorf("group is %s", got)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := h.state("g"); got != "Empty" {
			t.Errorf("group is %s", got)
		}
	})
}

// P12: what was not persisted is forgotten, and its generation never told again.
func TestRestartInCompletingRebalance(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newHouse(t)
		members, generation := h.form("g", 1)
		fresh := h.ask("g", join("", 10*time.Second)).(group.Joined).MemberID
		answers := make(chan group.Joined, 2)
		for _, m := range []string{fresh, members[0]} {
			h.c.Submit("g", join(m, 10*time.Second), func(r group.Response) { answers <- r.(group.Joined) })
		}
		told := max((<-answers).Generation, (<-answers).Generation)
		if told != generation+1 {
			t.Fatalf("generation %d after %d", told, generation)
		}
		h.restart()
		if code := h.beat("g", members[0], told); code != 27 {
			t.Errorf("heartbeat of a member that was known: %d", code)
		}
		if code := h.beat("g", fresh, told); code != 25 {
			t.Errorf("heartbeat of a member that was new: %d", code)
		}
		if code := h.beat("g", members[0], generation); code != 0 {
			t.Errorf("heartbeat of the persisted generation: %d", code)
		}
		if j := h.ask("g", join(members[0], 10*time.Second)).(group.Joined); j.Code != 0 || j.Generation < told+900 {
			t.Errorf("next generation after a restart: %+v", j)
		}
	})
}

// P14: of the protocols only the chosen one is persisted.
func TestRestartForgetsOtherProtocols(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newHouse(t)
		members, generation := h.form("g", 2)
		h.restart()
		j := join(members[1], 10*time.Second)
		j.Protocols = append(j.Protocols, group.Protocol{Name: "cooperative-sticky"})
		parked := make(chan group.Response, 1)
		h.c.Submit("g", j, func(r group.Response) { parked <- r })
		synctest.Wait()
		if got := h.state("g"); got != "PreparingRebalance" || len(parked) != 0 {
			t.Errorf("group is %s, %d answers", got, len(parked))
		}
		if code := h.beat("g", members[0], generation); code != 27 {
			t.Errorf("heartbeat: %d", code)
		}
	})
}

// P20: a group that is over the limit after a restart rebalances.
func TestRestartWithALowerLimit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newHouse(t)
		members, generation := h.form("g", 3)
		h.config.MaxSize = 2
		h.restart()
		if code := h.beat("g", members[0], generation); code != 27 {
			t.Errorf("heartbeat: %d", code)
		}
	})
}

// P16: a stop answers what is parked.
func TestStopAnswersParkedRequests(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newHouse(t)
		h.form("g", 1)
		fresh := h.ask("g", join("", 10*time.Second)).(group.Joined).MemberID
		parked := make(chan group.Response, 1)
		h.c.Submit("g", join(fresh, 10*time.Second), func(r group.Response) { parked <- r })
		if err := h.c.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := (<-parked).(group.Joined); got.Code != 16 {
			t.Errorf("join: %+v", got)
		}
	})
}

// Expiry and topic deletion outlive a restart, through their tombstones.
func TestRestartAfterTombstones(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newHouse(t)
		for i := range 20 {
			h.ask(fmt.Sprint("g", i), commit(int64(i)))
		}
		done := make(chan error, 1)
		h.c.ForgetTopic("t", storage.TopicID{}, func(err error) { done <- err })
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		h.ask("later", commit(5))
		h.restart()
		list, code, err := h.c.List(t.Context())
		if err != nil || code != 0 || len(list) != 1 || list[0].ID != "later" {
			t.Errorf("list: %v, %d, %v", list, code, err)
		}
		time.Sleep(7*24*time.Hour + 10*time.Minute)
		synctest.Wait()
		if got := outcome(h.ask("later", fetch())); got != "at -1" {
			t.Errorf("offset after its retention: %s", got)
		}
		h.restart()
		if list, _, _ := h.c.List(t.Context()); len(list) != 0 {
			t.Errorf("list: %v", list)
		}
	})
}

// 50 idle shards have no goroutine.
func TestIdleShardsCostNoGoroutine(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, func(c *rigConfig) { c.Partitions = 50 })
		<-r.c.Loaded()
		synctest.Wait()
		for _, run := range r.c.runners {
			if run.busy || run.timer != nil {
				t.Fatalf("shard %d is busy, or has a timer", run.p)
			}
		}
	})
}
