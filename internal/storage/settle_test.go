package storage

import "testing"

// A round ends where what it moves, or what it copies, is enough.
func TestRoundEndsWhereItIsLargeEnough(t *testing.T) {
	const mib = 1 << 20
	for name, c := range map[string]struct {
		small, limit int64 // of a mark's bytes, in small batches
		want         int
	}{
		"all that is there": {limit: 64 * mib, want: 40},
		"bytes":             {limit: 16 * mib, want: 16},
		"a part of a mark":  {limit: 16*mib + 1, want: 17},
		"what is copied":    {small: mib / 2, limit: 64 * mib, want: 2 * roundSmall / mib},
	} {
		t.Run(name, func(t *testing.T) {
			var s Store
			for i := range 40 {
				s.marks.push(mark{number: uint64(i + 1), bytes: mib, small: c.small})
			}
			if cut, n := s.roundCut(c.limit); n != c.want || cut != uint64(c.want) {
				t.Errorf("a round of %d flushes up to %d, want %d", n, cut, c.want)
			}
		})
	}
}
