// Package lag says how far a group is behind, in records and in time, how fast
// it and its producers are, and what to think of it.
//
// It owns the rules only: whoever has seen a partition (in the broker, or from
// outside through the Kafka protocol) makes a Reading of it; a Tracker compares
// it with earlier ones of the same partition and returns a Lag. It reads no
// clock and no network. Invariant: the same readings have the same verdict.
//
// Start reading at Judge.
package lag

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"rota/internal/story"
)

// Unknown stands for offsets and times that are not known.
const Unknown = -1

// Reading is what was seen of one partition of one group at one moment. Times
// are Unix times in milliseconds.
type Reading struct {
	Topic     string
	Partition int32
	AtMillis  int64
	// LogStart and LogEnd are the offsets of the first and of the next record.
	LogStart, LogEnd int64
	// Committed is the committed offset, Unknown if there is none, and
	// CommittedMillis when it was committed, Unknown where nobody says so.
	Committed, CommittedMillis int64
	// NextMillis is the timestamp of the first record that is not consumed,
	// Unknown if there is none or if it could not be read.
	NextMillis int64
	// ExpiresMillis is when the committed offset will be dropped unless
	// something changes, Unknown if it is in use or nobody says so.
	ExpiresMillis int64
	// Owned is true if a member of the group has the partition.
	Owned bool
}

// Verdict is what to think of a partition or of a whole group.
type Verdict string

const (
	OK      Verdict = "ok"      // nothing to consume, or not far behind
	Lagging Verdict = "lagging" // far behind, or falling behind
	Stalled Verdict = "stalled" // a member has it, and the offset does not move
	Stopped Verdict = "stopped" // there is something to consume, and nobody to do it
)

// badness orders verdicts: a group is as bad as its worst partition.
var badness = map[Verdict]int{OK: 0, Lagging: 1, Stalled: 2, Stopped: 3}

// Lag is how far a group is behind in one partition.
type Lag struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	LogStart  int64  `json:"log_start"`
	LogEnd    int64  `json:"log_end"`
	Committed int64  `json:"committed"` // -1: none
	// Records is how many are to be consumed, from the log start if nothing is
	// committed. Lost is how many were deleted before they were consumed.
	Records int64 `json:"lag"`
	Lost    int64 `json:"lost,omitempty"`
	// Time is how old the oldest of them is, by its own timestamp. It is exact
	// if that record was read; else it is absent.
	Time  story.Millis `json:"lag_ms,omitzero"`
	Exact bool         `json:"lag_ms_exact"`
	// Consumed and Produced are records a second since the reading before, up
	// to a few minutes; absent on the first reading.
	Consumed *float64 `json:"consumed_per_second,omitempty"`
	Produced *float64 `json:"produced_per_second,omitempty"`
	// CatchUp is when the lag will be gone at these rates; absent if never.
	CatchUp story.Millis `json:"catch_up_ms,omitzero"`
	// CommittedMillis is when the offset was committed, ExpiresMillis when it
	// will be dropped unless something changes; absent if not known.
	CommittedMillis int64 `json:"committed_ms,omitempty"`
	ExpiresMillis   int64 `json:"expires_ms,omitempty"`
	// Verdict, and the rule that led to it.
	Verdict Verdict `json:"verdict"`
	Rule    string  `json:"rule"`
}

const (
	// FarBehind is the age of the oldest record from which a partition lags.
	FarBehind = time.Minute
	// StandsStill is how long an offset must not have moved to be stalled.
	StandsStill = time.Minute
	// Steady is how far apart two readings must be for their rates to count.
	Steady = 5 * time.Second
)

// Judge says how far behind a partition is, and what to think of it. before is
// an earlier reading of the same partition, nil if there is none; still is how
// long the committed offset is known not to have moved. The first rule that
// holds counts:
//
//  1. nothing to consume: ok
//  2. something to consume, and no member has the partition: stopped
//  3. the committed offset has not moved for a minute, though there was
//     something to consume for as long: stalled
//  4. the oldest record to consume is a minute old: lagging
//  5. since the reading before, five seconds ago at least, more was produced than
//     consumed, and the lag is longer than a second of production: lagging
//  6. else: ok
func Judge(r *Reading, before *Reading, still time.Duration) Lag {
	l := Lag{Topic: r.Topic, Partition: r.Partition, LogStart: r.LogStart, LogEnd: r.LogEnd, Committed: r.Committed}
	from := max(r.Committed, r.LogStart)
	l.Records = max(r.LogEnd-from, 0)
	if r.Committed >= 0 {
		l.Lost = max(r.LogStart-r.Committed, 0)
	}
	l.CommittedMillis, l.ExpiresMillis = max(r.CommittedMillis, 0), max(r.ExpiresMillis, 0)
	if l.Records == 0 {
		l.Exact = true
	} else if r.NextMillis >= 0 {
		l.Time, l.Exact = millis(r.AtMillis-r.NextMillis), true
	}
	l.rates(r, before)
	if r.CommittedMillis >= 0 {
		still = max(still, time.Duration(millis(r.AtMillis-r.CommittedMillis)))
	}
	// Commits come seconds apart: what lies between two readings is often none.
	steady := before != nil && r.AtMillis-before.AtMillis >= Steady.Milliseconds()
	l.Verdict, l.Rule = l.judge(r, still, steady)
	return l
}

func (l *Lag) judge(r *Reading, still time.Duration, steady bool) (Verdict, string) {
	age := time.Duration(l.Time)
	switch {
	case l.Records == 0:
		return OK, "nothing to consume"
	case !r.Owned:
		return Stopped, fmt.Sprintf("%d records to consume, and no member has the partition", l.Records)
	case still >= StandsStill && (!l.Exact || age >= StandsStill):
		return Stalled, fmt.Sprintf("the committed offset has not moved for %s, with %d records to consume", story.Took(still), l.Records)
	case age >= FarBehind:
		return Lagging, fmt.Sprintf("the oldest of %d records to consume is %s old", l.Records, story.Took(age))
	case steady && l.Consumed != nil && *l.Produced > *l.Consumed && float64(l.Records) > *l.Produced:
		return Lagging, fmt.Sprintf("%.1f records/s are produced and %.1f consumed", *l.Produced, *l.Consumed)
	}
	return OK, fmt.Sprintf("%d records to consume, none of them a minute old", l.Records)
}

// rates compares with the reading before.
func (l *Lag) rates(r, before *Reading) {
	if before == nil || r.AtMillis <= before.AtMillis || r.Committed < 0 || before.Committed < 0 {
		return
	}
	seconds := float64(r.AtMillis-before.AtMillis) / 1000
	consumed := max(float64(r.Committed-before.Committed)/seconds, 0) // back: it was reset
	produced := max(float64(r.LogEnd-before.LogEnd)/seconds, 0)
	l.Consumed, l.Produced = &consumed, &produced
	if gain := consumed - produced; gain > 0 && l.Records > 0 {
		if wait := float64(l.Records) / gain; wait < 365*24*3600 {
			l.CatchUp = story.Millis(wait * float64(time.Second))
		}
	}
}

// Worst is the verdict on a whole group.
func Worst(list []Lag) Verdict {
	worst := OK
	for i := range list {
		if badness[list[i].Verdict] > badness[worst] {
			worst = list[i].Verdict
		}
	}
	return worst
}

// millis is a duration of so many milliseconds, not negative: clocks of
// producers may run ahead.
func millis(n int64) story.Millis {
	return story.Millis(time.Duration(max(n, 0)) * time.Millisecond)
}

// Sort puts readings in the order of topics and partitions.
func Sort(list []Reading) {
	slices.SortFunc(list, func(a, b Reading) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
}
