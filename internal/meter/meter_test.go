package meter

import (
	"math"
	"testing"
	"time"
)

func TestDurations(t *testing.T) {
	var d Durations
	for took, bucket := range map[time.Duration]int{
		-time.Second: 0, 0: 0, 15 * time.Microsecond: 0, 16 * time.Microsecond: 1, 31 * time.Microsecond: 1,
		32 * time.Microsecond: 2, time.Millisecond: 6, time.Second: 16, 60 * time.Second: 22, time.Hour: Buckets - 1,
	} {
		before := d.Read()
		d.Observe(took)
		after := d.Read()
		diff := after.Minus(&before)
		if diff.Hits[bucket] != 1 || diff.Count != 1 {
			t.Errorf("%v is counted in %v, want bucket %d", took, diff.Hits, bucket)
		}
		if want := max(took.Seconds(), 0); math.Abs(diff.Sum-want) > 1e-9 {
			t.Errorf("%v adds %v", took, diff.Sum)
		}
		if bucket < Buckets-1 && took.Seconds() >= diff.Bound(bucket) {
			t.Errorf("%v is not below %v, the bound of its bucket", took, diff.Bound(bucket))
		}
	}
}

func TestQuantile(t *testing.T) {
	var s Sizes
	empty := s.Read()
	if empty.Quantile(0.5) != 0 || empty.Mean() != 0 {
		t.Error("nothing has a size")
	}
	for range 99 {
		s.Observe(100)
	}
	s.Observe(1 << 40)
	r := s.Read()
	if got := r.Quantile(0.5); got != 128 {
		t.Errorf("half are below %v", got)
	}
	if got := r.Quantile(0.999); got != r.Bound(Buckets-2) {
		t.Errorf("the largest is told as %v", got)
	}
	if got, want := r.Mean(), (99*100+float64(1<<40))/100; got != want {
		t.Errorf("the mean is %v, want %v", got, want)
	}
}

func BenchmarkObserve(b *testing.B) {
	var d Durations
	for b.Loop() {
		d.Observe(300 * time.Microsecond)
	}
}

func BenchmarkClock(b *testing.B) {
	began := time.Now()
	var d time.Duration
	for b.Loop() {
		d = time.Since(began)
	}
	_ = d
}
