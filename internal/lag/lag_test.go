package lag

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"rota/internal/story"
)

const start = int64(1_700_000_000_000)

// reading is of a partition that is owned and 100 records behind.
func reading(after time.Duration, change func(*Reading)) *Reading {
	r := &Reading{
		Topic: "t", AtMillis: start + after.Milliseconds(), LogStart: 50, LogEnd: 1100, Committed: 1000,
		CommittedMillis: Unknown, NextMillis: start + after.Milliseconds() - 5000, ExpiresMillis: Unknown, Owned: true,
	}
	if change != nil {
		change(r)
	}
	return r
}

func TestVerdicts(t *testing.T) {
	for _, tt := range []struct {
		name   string
		now    *Reading
		before *Reading
		still  time.Duration
		want   Verdict
		rule   string
		lag    int64
		age    time.Duration
	}{
		{"not far behind", reading(0, nil), nil, 0, OK, "100 records to consume, none of them a minute old", 100, 5 * time.Second},
		{"nothing to consume", reading(0, func(r *Reading) { r.Committed, r.Owned, r.NextMillis = 1100, false, Unknown }), nil, time.Hour, OK, "nothing to consume", 0, 0},
		{"committed beyond the end", reading(0, func(r *Reading) { r.Committed = 2000 }), nil, 0, OK, "nothing to consume", 0, 0},
		{"nobody there", reading(0, func(r *Reading) { r.Owned = false }), nil, 0, Stopped, "no member has the partition", 100, 5 * time.Second},
		{"old", reading(0, func(r *Reading) { r.NextMillis -= 60_000 }), nil, 0, Lagging, "the oldest of 100 records to consume is 1m5s old", 100, 65 * time.Second},
		{"stands still", reading(0, func(r *Reading) { r.NextMillis -= 60_000 }), nil, 2 * time.Minute, Stalled, "has not moved for 2m0s", 100, 65 * time.Second},
		{"committed long ago", reading(0, func(r *Reading) { r.NextMillis -= 60_000; r.CommittedMillis = start - 90_000 }), nil, 0, Stalled, "has not moved for 1m30s", 100, 65 * time.Second},
		{"was idle until just now", reading(0, func(r *Reading) { r.CommittedMillis = start - 90_000 }), nil, 0, OK, "none of them a minute old", 100, 5 * time.Second},
		{"time not known, stands still", reading(0, func(r *Reading) { r.NextMillis = Unknown }), nil, time.Minute, Stalled, "has not moved", 100, 0},
		{"falls behind", reading(10*time.Second, nil), reading(0, func(r *Reading) { r.LogEnd, r.Committed = 500, 490 }), 0, Lagging, "60.0 records/s are produced and 51.0 consumed", 100, 5 * time.Second},
		{"catches up", reading(10*time.Second, nil), reading(0, func(r *Reading) { r.LogEnd, r.Committed = 1000, 100 }), 0, OK, "100 records", 100, 5 * time.Second},
		{"records were deleted", reading(0, func(r *Reading) { r.Committed, r.LogStart = 900, 1000 }), nil, 0, OK, "", 100, 5 * time.Second},
		{"nothing committed", reading(0, func(r *Reading) { r.Committed = Unknown }), nil, 0, OK, "", 1050, 5 * time.Second},
		{"a producer's clock runs ahead", reading(0, func(r *Reading) { r.NextMillis = start + 99_000 }), nil, 0, OK, "", 100, 0},
	} {
		l := Judge(tt.now, tt.before, tt.still)
		if l.Verdict != tt.want || !strings.Contains(l.Rule, tt.rule) || l.Records != tt.lag || time.Duration(l.Time) != tt.age {
			t.Errorf("%s: %s, %s, %d records, %v", tt.name, l.Verdict, l.Rule, l.Records, time.Duration(l.Time))
		}
	}
}

func TestRatesAndCatchUp(t *testing.T) {
	l := Judge(reading(10*time.Second, nil), reading(0, func(r *Reading) { r.LogEnd, r.Committed = 1000, 800 }), 0)
	if *l.Consumed != 20 || *l.Produced != 10 || l.CatchUp != story.Millis(10*time.Second) || l.Lost != 0 || !l.Exact {
		t.Errorf("%+v", l)
	}
	reset := Judge(reading(10*time.Second, nil), reading(0, func(r *Reading) { r.LogEnd, r.Committed = 1100, 1050 }), 0)
	if *reset.Consumed != 0 || *reset.Produced != 0 || reset.CatchUp != 0 {
		t.Errorf("%+v", reset)
	}
	if lost := Judge(reading(0, func(r *Reading) { r.Committed, r.LogStart = 900, 1000 }), nil, 0); lost.Lost != 100 || lost.Consumed != nil {
		t.Errorf("%+v", lost)
	}
}

func TestTrackerRemembers(t *testing.T) {
	var k Tracker
	judge := func(after time.Duration, committed, end int64) Lag {
		return k.Judge("g", []Reading{*reading(after, func(r *Reading) {
			r.Committed, r.LogEnd, r.NextMillis = committed, end, start-1
		})})[0]
	}
	if l := judge(0, 1000, 1100); l.Consumed != nil {
		t.Errorf("a rate from one reading: %+v", l)
	}
	if l := judge(5*time.Second, 1010, 1200); *l.Consumed != 2 || *l.Produced != 20 || l.Verdict != Lagging {
		t.Errorf("%+v", l)
	}
	if l := judge(20*time.Second, 1020, 1200); *l.Consumed != 1 || *l.Produced != 5 {
		t.Errorf("%+v", l)
	}
	judge(50*time.Second, 1020, 1200)
	if l := judge(81*time.Second, 1020, 1200); l.Verdict != Stalled || *l.Consumed != 0 || !strings.Contains(l.Rule, "1m1s") {
		t.Errorf("%+v", l)
	}
	if l := judge(time.Hour, 1020, 1200); l.Consumed != nil || l.Verdict != Stalled {
		t.Errorf("a rate from readings that are too old: %+v", l)
	}
	for i := range 3 * trackedGroups {
		k.Judge(fmt.Sprint("g", i), nil)
	}
	if n := len(k.groups); n > trackedGroups {
		t.Errorf("%d groups are remembered", n)
	}
}

func TestWorst(t *testing.T) {
	if Worst(nil) != OK || Worst([]Lag{{Verdict: Lagging}, {Verdict: Stopped}, {Verdict: Stalled}, {Verdict: OK}}) != Stopped {
		t.Error("not the worst")
	}
}

// Between two readings that are close to each other there may have been no
// commit: that is no verdict on a consumer that keeps up.
func TestCloseReadingsDoNotCondemn(t *testing.T) {
	before := Reading{Topic: "t", AtMillis: 1000, LogEnd: 100, Committed: 90, CommittedMillis: 900, NextMillis: 950, ExpiresMillis: Unknown, Owned: true}
	for after, want := range map[int64]Verdict{400: OK, 4999: OK, 5000: Lagging} {
		r := before
		r.AtMillis += after
		r.LogEnd += after / 20
		if got := Judge(&r, &before, 0); got.Verdict != want {
			t.Errorf("after %d ms: %s, %s", after, got.Verdict, got.Rule)
		}
	}
}
