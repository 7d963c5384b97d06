package web

import (
	"math"
	"net/url"
	"time"

	"rota/internal/story"
	"rota/internal/survey"
)

// maxStrip bounds the rebalances on a strip.
const maxStrip = 120

// strip draws the recent rebalances of a group along the time: higher ones took
// longer, on a scale of powers of ten. past is the newest first.
func strip(group string, past []survey.Brief, selected string, now int64, narrow bool) *drawing {
	d := &drawing{W: 1000, H: 96, Class: "wide", Title: "Recent rebalances", Desc: "Each bar is a rebalance; the table below lists them."}
	if narrow {
		d.W, d.Class = 350, "narrow"
	}
	past = past[:min(len(past), maxStrip)]
	if len(past) == 0 {
		return d
	}
	span := max(now-past[len(past)-1].StartedMillis, 60_000)
	span += span / 20
	from := now - span
	width := float64(d.W)
	at := func(ms int64) float64 { return 4 + (width-8)*float64(ms-from)/float64(span) }
	const floor = 74
	d.line(0, floor, width, floor, "axis")
	marks := 8
	if narrow {
		marks = 3
	}
	step := roundStep(time.Duration(span)*time.Millisecond, marks).Milliseconds()
	for ms := (from/step + 1) * step; ms < now; ms += step {
		x := at(ms)
		d.line(x, floor, x, floor+4, "axis")
		if x > 30 && x < width-30 {
			d.text(x, floor+18, "hint middle", time.UnixMilli(ms).UTC().Format(stepFormat(step)))
		}
	}
	for i := len(past) - 1; i >= 0; i-- {
		b := &past[i]
		took := max(time.Duration(b.Took), time.Millisecond)
		// 1 ms is 8 high, each power of ten 11 more: 1000 s reach the top.
		h := 8 + 11*math.Log10(float64(took)/float64(time.Millisecond))
		x := at(b.StartedMillis)
		w := max(width*float64(took.Milliseconds())/float64(span), 5)
		class := "spike c-" + causeClass(b.Cause) + " e-" + string(b.Ending)
		if b.Key == selected {
			class += " selected"
		}
		s := d.rect(min(x, width-w-1), floor-min(h, 66), w, min(h, 66), 2, class,
			causeText(b.Cause)+" at "+clock(b.StartedMillis)+", "+story.Took(took))
		s.Href = "/group?" + url.Values{"id": {group}, "rebalance": {b.Key}}.Encode() + "#rebalance"
	}
	return d
}

// roundStep is a distance that people read clocks by, of which at most n fit.
func roundStep(d time.Duration, n int) time.Duration {
	steps := []time.Duration{
		10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 30 * time.Minute,
		time.Hour, 2 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 48 * time.Hour,
	}
	for _, s := range steps {
		if int(d/s) <= n {
			return s
		}
	}
	return 7 * 24 * time.Hour
}

func stepFormat(ms int64) string {
	switch {
	case ms >= 24*3600_000:
		return "Jan 2"
	case ms >= 60_000:
		return "15:04"
	}
	return "15:04:05"
}

// causeClass is the colour of a cause: losses, arrivals and departures, changes.
func causeClass(c story.Cause) string {
	switch c { //nolint:exhaustive // the others are changes
	case story.CauseSessionExpired, story.CauseNewMemberTimeout, story.CauseJoinDeadline, story.CauseSyncDeadline,
		story.CauseGroupFull, story.CauseAssignmentTooLarge:
		return "loss"
	case story.CauseMemberJoined, story.CauseStaticReplaced:
		return "join"
	case story.CauseMemberLeft:
		return "leave"
	}
	return "change"
}

// causeText says a cause in words.
func causeText(c story.Cause) string {
	if text, ok := causeTexts[c]; ok {
		return text
	}
	return string(c)
}

var causeTexts = map[story.Cause]string{
	story.CauseMemberJoined:       "a member joined",
	story.CauseMemberLeft:         "a member left",
	story.CauseSessionExpired:     "a member fell silent",
	story.CauseNewMemberTimeout:   "a new member waited too long",
	story.CauseJoinDeadline:       "a member missed the join deadline",
	story.CauseSyncDeadline:       "a member missed the sync deadline",
	story.CauseProtocolsChanged:   "a member changed what it offers",
	story.CauseLeaderRejoined:     "the leader joined again",
	story.CauseStaticReplaced:     "a static member came back",
	story.CauseAssignmentTooLarge: "the assignment was too large",
	story.CauseGroupFull:          "the group was full",
	story.CauseMoved:              "the coordinator moved",
	story.CauseOperator:           "an operator",
	story.CauseRetention:          "retention",
}
