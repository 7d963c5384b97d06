// Package meter counts what is too frequent to be told one by one: durations and
// sizes, in buckets that double. Counting is a few nanoseconds and never
// allocates or locks, so that it may stand on every path; whoever wants to know
// reads the counts, and pays for it.
package meter

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// Buckets is how many buckets a meter has, the last of which has no bound.
const Buckets = 24

// counts is the state of a meter: how often each bucket was hit, and the sum of
// all values.
type counts struct {
	hits [Buckets]atomic.Uint64
	sum  atomic.Int64
}

func (c *counts) add(n uint64, sum int64) {
	c.hits[min(bits.Len64(n), Buckets-1)].Add(1)
	c.sum.Add(sum)
}

func (c *counts) read() Reading {
	r := Reading{Sum: float64(c.sum.Load())}
	for i := range c.hits {
		r.Hits[i] = c.hits[i].Load()
		r.Count += r.Hits[i]
	}
	return r
}

// Durations measures times from 16 us to over a minute. The zero value is
// ready.
type Durations struct{ counts }

// shortest is the bound of the first bucket of Durations.
const shortest = 16 * time.Microsecond

// Observe counts one duration.
func (d *Durations) Observe(took time.Duration) {
	took = max(took, 0)
	d.add(uint64(took/shortest), int64(took))
}

// Read returns the counts, in seconds.
func (d *Durations) Read() Reading {
	r := d.read()
	r.first = shortest.Seconds()
	r.Sum /= float64(time.Second)
	return r
}

// Sizes measures bytes from 64 to over 256 MiB. The zero value is ready.
type Sizes struct{ counts }

// smallest is the bound of the first bucket of Sizes.
const smallest = 64

// Observe counts one size.
func (s *Sizes) Observe(bytes int) {
	bytes = max(bytes, 0)
	s.add(uint64(bytes)/smallest, int64(bytes))
}

// Read returns the counts, in bytes.
func (s *Sizes) Read() Reading {
	r := s.read()
	r.first = smallest
	return r
}

// Reading is a meter at one moment.
type Reading struct {
	Hits  [Buckets]uint64
	Count uint64
	Sum   float64

	first float64
}

// Bound is the upper bound of bucket i, which is not the last: values below it
// are in that bucket or one before.
func (r *Reading) Bound(i int) float64 { return r.first * float64(uint64(1)<<i) }

// Quantile is about the value that the share q of all values is below: the
// bound of its bucket, 0 if nothing was counted. What is beyond the last bound is
// told as that bound.
func (r *Reading) Quantile(q float64) float64 {
	want := q * float64(r.Count)
	seen := uint64(0)
	for i := range r.Hits {
		seen += r.Hits[i]
		if seen > 0 && float64(seen) >= want {
			return r.Bound(min(i, Buckets-2))
		}
	}
	return 0
}

// Mean is the average, 0 if nothing was counted.
func (r *Reading) Mean() float64 {
	if r.Count == 0 {
		return 0
	}
	return r.Sum / float64(r.Count)
}

// Minus is what was counted since an earlier reading of the same meter.
func (r *Reading) Minus(earlier *Reading) Reading {
	d := *r
	for i := range d.Hits {
		d.Hits[i] -= earlier.Hits[i]
	}
	d.Count -= earlier.Count
	d.Sum -= earlier.Sum
	return d
}
