package sim

import (
	"fmt"
	"slices"
	"strings"
)

// shrinkLimit is how many times a failure is played at most to cut it down.
const shrinkLimit = 4000

// shrinker cuts a Case down to what still breaks the same rule.
type shrinker struct {
	c     Case
	rule  string
	plays int
}

// Shrink returns a smaller Case that breaks the same rule, and how it fails.
func Shrink(c *Case, f *RuleError) (*Case, *RuleError) {
	s := &shrinker{c: Case{Seed: c.Seed, Settle: c.Settle, Events: slices.Clone(c.Events), with: c.with}, rule: kindOf(f)}
	last := s.fails(s.c)
	if last == nil {
		return c, f // a failure of the comparison of two runs, say
	}
	s.c.Events = s.c.Events[:min(len(s.c.Events), last.Step+1)]
	if s.fails(s.c) == nil {
		s.c.Events = slices.Clone(c.Events)
	}
	s.try(s.with(s.c.Events, false))
	for who := range uint8(32) {
		s.try(s.without(func(e Event) bool { return e.Who == who && about[e.Kind] <= aConnection }))
	}
	for k := range kinds {
		s.try(s.without(func(e Event) bool { return e.Kind == k }))
	}
	for before := -1; before != len(s.c.Events) && s.plays < shrinkLimit; {
		before = len(s.c.Events)
		for size := max(before/2, 1); ; size /= 2 {
			s.chunks(size)
			if size <= 1 {
				break
			}
		}
	}
	s.amounts()
	return &s.c, s.fails(s.c)
}

// kindOf is what two failures have in common that are the same.
func kindOf(f *RuleError) string {
	first, _, _ := strings.Cut(f.Reason, "\n")
	if f.Rule != "panic" {
		return f.Rule
	}
	first, _, _ = strings.Cut(first, ":")
	return f.Rule + first
}

// fails plays a Case and returns its failure if it is the right one.
func (s *shrinker) fails(c Case) *RuleError {
	s.plays++
	r := Play(&c)
	if r.Failure == nil || kindOf(r.Failure) != s.rule {
		return nil
	}
	return r.Failure
}

// try keeps a Case if it is smaller and fails.
func (s *shrinker) try(c Case) bool {
	if len(c.Events) == len(s.c.Events) && c.Settle == s.c.Settle || s.plays >= shrinkLimit || s.fails(c) == nil {
		return false
	}
	s.c = c
	return true
}

// with is the Case with other Events.
func (s *shrinker) with(events []Event, settle bool) Case {
	return Case{Seed: s.c.Seed, Settle: settle, Events: events, with: s.c.with}
}

func (s *shrinker) without(drop func(Event) bool) Case {
	return s.with(slices.DeleteFunc(slices.Clone(s.c.Events), drop), s.c.Settle)
}

// chunks tries to do without each stretch of so many Events, the last first.
func (s *shrinker) chunks(size int) {
	for end := len(s.c.Events); end > 0; end -= size {
		end = min(end, len(s.c.Events))
		start := max(end-size, 0)
		events := slices.Concat(s.c.Events[:start], s.c.Events[end:])
		s.try(s.with(events, s.c.Settle))
	}
}

// amounts rounds the times that pass, for the reader.
func (s *shrinker) amounts() {
	for i := range s.c.Events {
		if e := &s.c.Events[i]; e.Kind == Pass && e.N%1000 != 0 {
			old := e.N
			if e.N = (old + 500) / 1000 * 1000; s.fails(s.c) == nil {
				e.N = old
			}
		}
	}
}

// Explain cuts a failure down and writes a report of it: what is broken, the
// Events that break it, as a file for `rota sim --replay`, and what the group
// went through, as a scenario.
func Explain(r Result) string {
	small, f := Shrink(r.Case, r.Failure)
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d, %v\n\n", r.Seed, r.Failure)
	if f == nil {
		return b.String()
	}
	fmt.Fprintf(&b, "--- %d of %d events are enough; a file for rota sim --replay ---\n%s\n", len(small.Events), len(r.Case.Events), small.Format(f.Error()))
	text, inexact, err := small.tell(f.Group)
	fmt.Fprintf(&b, "--- what group %s went through, as a scenario ---\n", f.Group)
	if inexact != "" {
		fmt.Fprintf(&b, "# The language of scenarios cannot say: %s. This is near it.\n", inexact)
	}
	if err != nil {
		fmt.Fprintf(&b, "# Played by itself it breaks: %s\n", strings.ReplaceAll(err.Error(), "\n", "\n# "))
	}
	b.Write(text)
	return b.String()
}
