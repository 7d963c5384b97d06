package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// crowd is the members of one group, and who of them is stable in which
// generation.
type crowd struct {
	mu      sync.Mutex
	at      map[int32]int
	want    int
	from    int32 // a generation that counts is later
	reached chan int32
	errs    chan error
	wg      sync.WaitGroup
}

func newCrowd(n int) *crowd {
	return &crowd{at: map[int32]int{}, want: n, reached: make(chan int32, n+2), errs: make(chan error, 2*n+2)}
}

func (c *crowd) stable(g int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at[g]++
	if c.at[g] == c.want && g > c.from {
		c.from = g
		c.reached <- g
	}
}

// expect says how many members the next generation that counts has.
func (c *crowd) expect(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.want = n
}

func (c *crowd) await(ctx context.Context) error {
	select {
	case <-c.reached:
		return nil
	case err := <-c.errs:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *crowd) run(ctx context.Context, m *member, interval time.Duration, leaves bool) {
	c.wg.Go(func() {
		if err := m.live(ctx, interval, leaves, c.stable); err != nil && ctx.Err() == nil {
			c.errs <- err
		}
	})
}

// formations forms groups of these sizes, all members at once, adds a member to
// each and takes one away. Before it counts, small groups come and go.
func formations(sizes ...int) func(*session) error {
	return func(s *session) error {
		for i, end := 0, time.Now().Add(s.warmUp()); i == 0 || time.Now().Before(end); i++ {
			if _, err := s.form(fmt.Sprintf("warm-%d", i), 50, 100*time.Millisecond); err != nil {
				return err
			}
		}
		for _, n := range sizes {
			interval := 500 * time.Millisecond
			if n > 1000 {
				interval = 3 * time.Second
			}
			rows, err := s.form(fmt.Sprintf("formation-%d", n), n, interval)
			if err != nil {
				return fmt.Errorf("%d members: %w", n, err)
			}
			for _, r := range rows {
				s.add(r)
			}
		}
		return nil
	}
}

// form takes one group through its life.
func (s *session) form(group string, n int, interval time.Duration) ([]row, error) {
	if err := s.findCoordinator(group); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(s.ctx)
	c := newCrowd(n)
	defer c.wg.Wait()
	members := make([]*member, n+1)
	for i := range members {
		m, err := newMember(s.addr(), group)
		if err != nil {
			stop()
			return nil, err
		}
		defer m.c.close()
		members[i] = m
	}
	defer stop()
	var rows []row
	phase := func(name string, want int, change func()) error {
		c.expect(want)
		m := s.meter()
		change()
		if err := c.await(ctx); err != nil {
			return err
		}
		rows = append(rows, m.once(row{Name: fmt.Sprintf("raw, %s", name)}))
		return nil
	}
	err := phase(fmt.Sprintf("%d members formed", n), n, func() {
		for _, m := range members[:n] {
			c.run(ctx, m, interval, false)
		}
	})
	if err != nil {
		return nil, err
	}
	last, end := context.WithCancel(ctx)
	defer end()
	err = phase(fmt.Sprintf("one more joins %d", n), n+1, func() { c.run(last, members[n], interval, true) })
	if err != nil {
		return nil, err
	}
	err = phase(fmt.Sprintf("one leaves %d", n+1), n, end)
	stop()
	c.wg.Wait()
	if err != nil {
		return nil, err
	}
	r, err := s.rejoin(members[:n])
	return append(rows, r), err
}

// rejoin has the members of a group join again with new metadata, all at once:
// a rebalance without the time that heartbeats take to call for it.
func (s *session) rejoin(members []*member) (row, error) {
	const rounds = 3
	h, err := newHerd(members)
	if err != nil {
		return row{}, err
	}
	defer h.close()
	m := s.meter()
	for range rounds {
		if err := h.rejoin(); err != nil {
			return row{}, err
		}
	}
	r := m.once(row{Name: rejoined(len(members))})
	r.Time, r.CPU = r.Time/rounds, r.CPU/rounds
	return r, nil
}

func rejoined(n int) string { return fmt.Sprintf("raw, %d members join again at once", n) }

// runGroups has a thousand groups of three members rebalance at once: every
// member joins again with metadata that are new, and syncs.
func runGroups(s *session) error {
	n := s.sized(1000, 100)
	groups := make([][]*member, n)
	for i := range groups {
		name := fmt.Sprintf("many-%d", i)
		if err := s.findCoordinator(name); err != nil {
			return err
		}
		for range 3 {
			m, err := newMember(s.addr(), name)
			if err != nil {
				return err
			}
			defer m.c.close()
			groups[i] = append(groups[i], m)
		}
	}
	err := inParallel(n, func(i int) error { return s.formOnce(groups[i]) })
	if err != nil {
		return fmt.Errorf("formation: %w", err)
	}
	h, err := newHerd(slices.Concat(groups...))
	if err != nil {
		return err
	}
	defer h.close()
	for i, end := 0, time.Now().Add(s.warmUp()); i == 0 || time.Now().Before(end); i++ {
		if err := h.rejoin(); err != nil {
			return err
		}
	}
	const rounds = 5
	m := s.meter()
	for range rounds {
		if err := h.rejoin(); err != nil {
			return err
		}
	}
	r := m.once(row{Name: fmt.Sprintf("raw, %d groups of 3 rebalance at once", n)})
	r.Time, r.CPU = r.Time/rounds, r.CPU/rounds
	s.add(r)
	return nil
}

// formOnce has members beat until all of them are in one generation.
func (s *session) formOnce(members []*member) error {
	ctx, stop := context.WithCancel(s.ctx)
	defer stop()
	c := newCrowd(len(members))
	for _, m := range members {
		c.run(ctx, m, 100*time.Millisecond, false)
	}
	err := c.await(ctx)
	stop()
	c.wg.Wait()
	return err
}

// inParallel calls f n times at once and returns an error of one.
func inParallel(n int, f func(int) error) error {
	errs := make(chan error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if err := f(i); err != nil {
				errs <- err
			}
		})
	}
	wg.Wait()
	return first(errs)
}
