package main

import (
	"fmt"
	"sync"
	"time"
)

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
	members := make([]*member, n+1)
	for i := range members {
		m, err := newMember(s.addr(), group)
		if err != nil {
			return nil, err
		}
		defer m.c.close()
		members[i] = m
	}
	h, err := newHerd(members)
	if err != nil {
		return nil, err
	}
	defer h.close()
	h.interval = interval
	all, last := h.members[:n], h.members[n]
	var rows []row
	for _, phase := range []struct {
		name   string
		want   int
		change func() error
	}{
		{fmt.Sprintf("%d members formed", n), n, func() error { return h.join(all) }},
		{fmt.Sprintf("one more joins %d", n), n + 1, func() error { return h.join(h.members[n:]) }},
		{fmt.Sprintf("one leaves %d", n+1), n, func() error { return h.leave(s.ctx, last) }},
	} {
		h.expect(group, phase.want)
		m := s.meter()
		err := phase.change()
		if err == nil {
			err = h.await(s.ctx)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", phase.name, err)
		}
		rows = append(rows, m.once(row{Name: "raw, " + phase.name}))
	}
	if err := h.rest(s.ctx); err != nil {
		return nil, err
	}
	r, err := s.rejoin(h, all)
	return append(rows, r), err
}

// rejoin has the members of a group join again with new metadata, all at once:
// a rebalance without the time that heartbeats take to call for it.
func (s *session) rejoin(h *herd, members []*herded) (row, error) {
	const rounds = 10
	m := s.meter()
	for range rounds {
		if err := h.rejoin(s.ctx, members); err != nil {
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
	var members []*member
	for i := range n {
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
			members = append(members, m)
		}
	}
	h, err := newHerd(members)
	if err != nil {
		return err
	}
	defer h.close()
	h.interval = time.Second
	if err := h.rejoin(s.ctx, h.members); err != nil {
		return fmt.Errorf("formation: %w", err)
	}
	if err := h.rest(s.ctx); err != nil {
		return err
	}
	for i, end := 0, time.Now().Add(s.warmUp()); i == 0 || time.Now().Before(end); i++ {
		if err := h.rejoin(s.ctx, h.members); err != nil {
			return err
		}
	}
	const rounds = 5
	m := s.meter()
	for range rounds {
		if err := h.rejoin(s.ctx, h.members); err != nil {
			return err
		}
	}
	r := m.once(row{Name: fmt.Sprintf("raw, %d groups of 3 rebalance at once", n)})
	r.Time, r.CPU = r.Time/rounds, r.CPU/rounds
	s.add(r)
	return nil
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
