package sim

import "time"

// random is the one source of chance of a run: splitmix64.
type random uint64

func (r *random) next() uint64 {
	*r += 0x9e3779b97f4a7c15
	return scramble(uint64(*r))
}

// scramble spreads the bits of x.
func scramble(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// below returns a number in [0, n).
func (r *random) below(n int) int { return int(r.next() >> 33 % uint64(n)) }

// oneIn is true once in n times.
func (r *random) oneIn(n int) bool { return r.below(n) == 0 }

// between returns a duration in [from, to], most often a short one.
func (r *random) between(from, to time.Duration) time.Duration {
	span := to - from
	for span > 1 && r.oneIn(2) {
		span /= 4
	}
	return from + time.Duration(r.next()>>2%uint64(span+1)).Truncate(time.Millisecond)
}

// pick returns one of the values.
func pick[T any](r *random, values ...T) T { return values[r.below(len(values))] }
