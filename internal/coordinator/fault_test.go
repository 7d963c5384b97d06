package coordinator

import (
	"errors"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"rota/internal/group"
	"rota/internal/storage"
	"rota/internal/storage/storagetest"
)

// faulty is a medium that stalls, fails or is full when it is told to.
type faulty struct {
	storage.Medium

	mu    sync.Mutex
	free  int64
	fails int           // flushes that fail from here on
	stall time.Duration // how long the next flush takes
}

func newFaulty() *faulty { return &faulty{Medium: storagetest.NewMemory(), free: math.MaxInt64} }

func (m *faulty) Free() (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.free, nil
}

func (m *faulty) Flush(f storage.Flush, written func(), done func(error)) {
	m.mu.Lock()
	fail, stall := m.fails > 0, m.stall
	if fail {
		m.fails--
	}
	m.stall = 0
	m.mu.Unlock()
	if stall > 0 {
		time.Sleep(stall)
	}
	if fail {
		done(errors.New("the medium fails"))
		return
	}
	m.Medium.Flush(f, written, done)
}

func (m *faulty) set(f func(*faulty)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f(m)
}

// P19, T36 over a store: a flush fails.
func TestFailedFlush(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := newFaulty()
		h := newHouseOn(t, m)
		members, generation := h.form("g", 2)
		if got := outcome(h.ask("g", memberCommit(members[0], generation, 1))); got != "0" {
			t.Fatalf("commit: %s", got)
		}
		m.set(func(m *faulty) { m.fails = 2; m.stall = time.Second })
		answers := make(chan group.Response, 2)
		for i := range 2 {
			h.c.Submit("g", memberCommit(members[i], generation, 2), func(r group.Response) { answers <- r })
		}
		if a, b := outcome(<-answers), outcome(<-answers); a != "16" || b != "16" {
			t.Errorf("commits of a failed flush: %s, %s", a, b)
		}
		time.Sleep(time.Second) // the journal is opened anew
		synctest.Wait()
		if got := outcome(h.ask("g", fetch())); got != "at 1" {
			t.Errorf("offset after a failed flush: %s", got)
		}
		for _, m := range members {
			if code := h.beat("g", m, generation); code != 0 {
				t.Errorf("heartbeat after a failed flush: %d", code)
			}
		}
		if got := outcome(h.ask("g", memberCommit(members[0], generation, 3))); got != "0" {
			t.Errorf("commit after a failed flush: %s", got)
		}
		h.restart()
		if got := outcome(h.ask("g", fetch())); got != "at 3" {
			t.Errorf("offset after a restart: %s", got)
		}
	})
}

func memberCommit(member string, generation int32, offset int64) group.Commit {
	c := commit(offset)
	c.MemberID, c.Generation = member, generation
	return c
}

// A slow disk delays commits and evicts nobody.
func TestStalledFlush(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := newFaulty()
		h := newHouseOn(t, m)
		members, generation := h.form("g", 2)
		m.set(func(m *faulty) { m.stall = 12 * time.Second })
		began := time.Now()
		answers := make(chan group.Response, len(members))
		for _, m := range members {
			h.c.Submit("g", memberCommit(m, generation, 5), func(r group.Response) { answers <- r })
		}
		for range members {
			if got := outcome(<-answers); got != "0" {
				t.Errorf("commit: %s", got)
			}
		}
		if took := time.Since(began); took < 12*time.Second {
			t.Errorf("the commits took %v: nothing has stalled", took)
		}
		for _, m := range members {
			if code := h.beat("g", m, generation); code != 0 {
				t.Errorf("heartbeat after a stall: %d", code)
			}
		}
	})
}

// A full disk refuses what would be written; shards stay loaded, sessions
// live, and when there is room again all goes on.
func TestFullDisk(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := newFaulty()
		h := newHouseOn(t, m)
		members, generation := h.form("g", 1)
		m.set(func(m *faulty) { m.free = 1 << 20 })
		time.Sleep(2 * time.Second)
		h.ask("g", memberCommit(members[0], generation, 1)) // after it the store looks at the disk
		time.Sleep(time.Second)
		if got := outcome(h.ask("g", memberCommit(members[0], generation, 2))); got != "15" {
			t.Fatalf("commit on a full disk: %s", got)
		}
		epoch := h.store.Epoch()
		for range 4 {
			time.Sleep(8 * time.Second)
			if code := h.beat("g", members[0], generation); code != 0 {
				t.Errorf("heartbeat on a full disk: %d", code)
			}
		}
		time.Sleep(65 * time.Second) // and without
		m.set(func(m *faulty) { m.free = math.MaxInt64 })
		time.Sleep(time.Second)
		if got := outcome(h.ask("g", memberCommit(members[0], generation, 3))); got != "0" {
			t.Errorf("commit when there is room: %s", got)
		}
		if h.store.Epoch() != epoch {
			t.Error("a shard was loaded again")
		}
	})
}
