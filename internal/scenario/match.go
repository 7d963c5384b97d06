package scenario

import (
	"slices"
	"time"
)

// segment is what happened at one moment of a block.
type segment struct {
	// at is the time since the beginning, for what happened while time passed;
	// -1 for what an input has done.
	at     time.Duration
	lines  []Line // replies and batches, in order
	events []Line
	// states are the state words of every group, and changed the groups that
	// changed state at this moment.
	states  map[string]string
	changed []string
	// seen is, over TCP, when the last reply came.
	seen time.Time
}

// happened reports whether a reader of the file must hear of the segment.
func (s *segment) happened() bool { return len(s.lines) > 0 || len(s.changed) > 0 }

// matchBlock returns the block with its outputs replaced by what happened. An
// output that is as expected stays where it stands and as it is written. The
// rules of the language are here:
//
//   - replies and batches must all be written, and in any order at one moment;
//   - a state is checked where one is written, and must be written when it
//     changes while time passes;
//   - events must all be written at a moment that has one written.
func matchBlock(b *Block, segments []segment, current string) Block {
	out := Block{Lead: b.Lead, Input: b.Input}
	expected := cutAtStops(b.Body)
	for _, seg := range segments {
		if seg.at < 0 {
			var part []Line
			if len(expected) > 0 && expected[0].at < 0 {
				part, expected = expected[0].lines, expected[1:]
			}
			out.Body = append(out.Body, matchSegment(part, &seg, current)...)
			continue
		}
		part := takeStop(&expected, seg.at)
		if part == nil && !seg.happened() {
			continue
		}
		out.Body = append(out.Body, matchStop(part, &seg, current)...)
	}
	return out
}

// stop is what a file expects at one moment.
type stop struct {
	at    time.Duration // -1: at once
	mark  Line          // the "@" line
	lead  []Line        // comments above it
	lines []Line
}

// cutAtStops splits the body of a block at its "@" lines.
func cutAtStops(body []Line) []*stop {
	stops := []*stop{{at: -1}}
	for _, l := range body {
		last := stops[len(stops)-1]
		if l.Kind != Stop {
			last.lines = append(last.lines, l)
			continue
		}
		at, _ := time.ParseDuration(l.Words[0])
		next := &stop{at: at, mark: l}
		// Comments right above a stop belong to it.
		n := len(last.lines)
		for n > 0 && last.lines[n-1].Kind == Note {
			n--
		}
		next.lead = slices.Clone(last.lines[n:])
		last.lines = last.lines[:n]
		stops = append(stops, next)
	}
	return stops
}

// takeStop removes and returns the expectation for a moment.
func takeStop(expected *[]*stop, at time.Duration) *stop {
	for i, e := range *expected {
		if e.at == at {
			*expected = slices.Delete(*expected, i, i+1)
			return e
		}
	}
	return nil
}

func matchStop(part *stop, seg *segment, current string) []Line {
	if part == nil {
		part = &stop{mark: Line{Kind: Stop, Words: []string{formatDuration(seg.at)}}}
		for _, name := range seg.changed {
			part.lines = append(part.lines, stateLine(name, current, seg.states[name]))
		}
	} else if !seg.happened() && len(seg.events) == 0 {
		return nil // nothing happened at the time that the file names
	}
	for _, name := range seg.changed {
		if !slices.ContainsFunc(part.lines, func(l Line) bool { return l.Kind == State && stateGroup(l, current) == name }) {
			part.lines = append(part.lines, stateLine(name, current, seg.states[name]))
		}
	}
	return append(append(slices.Clone(part.lead), part.mark), matchSegment(part.lines, seg, current)...)
}

// matchSegment replaces the expected lines of one moment by what happened.
func matchSegment(expected []Line, seg *segment, current string) []Line {
	expected = slices.Clone(expected)
	left := slices.Clone(seg.lines)
	if slices.ContainsFunc(expected, func(l Line) bool { return l.Kind == Event }) {
		left = append(left, seg.events...)
	}
	kept := make([]bool, len(expected))
	for i, e := range expected {
		switch e.Kind {
		case Note:
			kept[i] = true
		case State:
			kept[i] = true
			name := stateGroup(e, current)
			shown := stateLine(name, current, seg.states[name])
			named := stateLine(name, "", seg.states[name])
			if !shown.sameAs(e) && !named.sameAs(e) {
				expected[i] = shown
			}
		default:
			if at := slices.IndexFunc(left, e.sameAs); at >= 0 {
				kept[i] = true
				left = slices.Delete(left, at, at+1)
			}
		}
	}
	// Lines that nobody expected take the places of those that did not come.
	var out []Line
	for i, e := range expected {
		switch {
		case kept[i] && e.Kind == State && len(left) > 0 && !moreMissing(expected[i:], kept[i:]):
			out = append(append(out, left...), e)
			left = nil
		case kept[i]:
			out = append(out, e)
		case len(left) > 0:
			out = append(out, left[0])
			left = left[1:]
		}
	}
	return append(out, left...)
}

// moreMissing reports whether an expected line that did not come is still
// ahead.
func moreMissing(expected []Line, kept []bool) bool {
	for i := range expected {
		if !kept[i] {
			return true
		}
	}
	return false
}

// stateLine writes the state of a group, by name unless it is the current one.
func stateLine(name, current, words string) Line {
	l := Line{Kind: State, Words: []string{"none"}}
	if split, err := splitWords(words); err == nil && len(split) > 0 {
		l.Words = split
	}
	if name != current {
		l.Words = append([]string{quote(name)}, l.Words...)
	}
	return l
}

// stateGroup returns the group that a state line speaks of.
func stateGroup(l Line, current string) string {
	switch l.Words[0] {
	case "none", "Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead":
		return current
	}
	name, err := unquote(l.Words[0])
	if err != nil {
		return l.Words[0]
	}
	return name
}

// changedStates returns the groups whose state differs, sorted.
func changedStates(before, after map[string]string) []string {
	var names []string
	for name, words := range after {
		if before[name] != words {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
