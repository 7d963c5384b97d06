package web

import (
	"strings"
	"testing"
	"time"

	"rota/internal/story"
)

func millis(ms int) story.Millis { return story.Millis(time.Duration(ms) * time.Millisecond) }

// a rebalance in which one member is lost, one is slow and one is new.
func sample() *story.Rebalance {
	lost := story.Member{ID: "lost-1", ClientID: "lost"}
	slow := story.Member{ID: "slow-1", ClientID: "slow"}
	fresh := story.Member{ID: "new-1", ClientID: "new"}
	at := func(ms int64, kind story.Kind, m *story.Member) story.Event {
		return story.Event{TimeMillis: 1000 + ms, Kind: kind, Member: m, Group: "g"}
	}
	r := story.Fold([]story.Event{
		at(0, story.MemberExpired, &lost),
		{TimeMillis: 1000, Kind: story.RebalanceStarted, Member: &lost, Cause: story.CauseSessionExpired, Group: "g", Generation: 4},
		at(100, story.MemberJoined, &fresh),
		at(400, story.MemberRejoined, &slow),
		{TimeMillis: 1400, Kind: story.JoinCompleted, Generation: 5, Duration: millis(400), Member: &slow, Members: 2, WaitedFor: []story.Waited{{Member: slow, Took: millis(400), Outcome: story.OutcomeJoined}}},
		{TimeMillis: 1500, Kind: story.AssignmentInstalled, Generation: 5, Duration: millis(100), Member: &slow, Members: 2, Assignment: &story.Assignment{
			Decoded: true, Partitions: 5, Kept: 1, Moved: 1, Orphaned: 3, Members: []story.MemberAssignment{
				{Member: slow, Partitions: 2, Kept: 1, GainedN: 1, LostN: 1, Gained: parts("t", 7), Lost: parts("t", 2)},
				{Member: fresh, New: true, Partitions: 3, GainedN: 3, Gained: parts("t", 2, 8, 9)},
			},
		}},
	})
	return &r[0]
}

func parts(topic string, list ...int32) []story.TopicPartitions {
	return []story.TopicPartitions{{Topic: topic, Partitions: list}}
}

// In the picture each phase, each member's wait and each move can be read off.
func TestGantt(t *testing.T) {
	r := sample()
	for _, narrow := range []bool{false, true} {
		d := gantt(r, r.Took(), narrow)
		titles, texts := "", ""
		for _, s := range d.Shapes {
			titles += s.Title + "\n"
			texts += s.Text + "\n"
			if s.X < 0 || s.Y < 0 || s.Kind == "rect" && s.X+s.W > float64(d.W)+1 || s.Y > float64(d.H) {
				t.Errorf("narrow %v: %+v lies outside of %d x %d", narrow, s, d.W, d.H)
			}
		}
		for _, want := range []string{"joining: 400ms", "assigning: 100ms", "slow joined after 400ms", "new joined after 100ms", "new waits for the others: 300ms", "new waits for the assignment: 100ms"} {
			if !strings.Contains(titles, want) {
				t.Errorf("narrow %v: %q is missing in\n%s", narrow, want, titles)
			}
		}
		for _, want := range []string{"expired", "trigger", "+1  t 7", "-1  t 2", "+3  t 2,8-9"} {
			if !strings.Contains(texts, want) {
				t.Errorf("narrow %v: %q is missing in\n%s", narrow, want, texts)
			}
		}
	}
}

// The bars are as long as what they stand for.
func TestGanttScale(t *testing.T) {
	r := sample()
	d := gantt(r, r.Took(), false)
	width := map[string]float64{}
	for _, s := range d.Shapes {
		if s.Kind == "rect" {
			width[s.Title] = s.W
		}
	}
	join, sync := width["joining: 400ms"], width["assigning: 100ms"]
	if ratio := join / sync; ratio < 3.9 || ratio > 4.1 {
		t.Errorf("400 ms are %v wide, 100 ms are %v", join, sync)
	}
	if width["slow joined after 400ms"] != join {
		t.Errorf("the wait for slow is %v wide, the phase %v", width["slow joined after 400ms"], join)
	}
}

// A rebalance that runs is drawn up to now, and hundreds of members are cut.
func TestGanttOfManyWhileItRuns(t *testing.T) {
	var events []story.Event
	trigger := story.Member{ID: "m0", ClientID: "c"}
	events = append(events, story.Event{TimeMillis: 1000, Kind: story.RebalanceStarted, Member: &trigger, Cause: story.CauseMemberJoined})
	for i := range 300 {
		m := story.Member{ID: "m" + string(rune('a'+i%26)) + strings.Repeat("x", i/26), ClientID: strings.Repeat("long", 100)}
		events = append(events, story.Event{TimeMillis: 1000 + int64(i), Kind: story.MemberRejoined, Member: &m})
	}
	r := story.Fold(events)[0]
	d := gantt(&r, 5*time.Second, false)
	texts := ""
	for _, s := range d.Shapes {
		texts += s.Text + "\n"
	}
	if !strings.Contains(texts, "and 261 more") || !strings.Contains(texts, "joining 5s") {
		t.Errorf("got %s", texts)
	}
	if d.H > 2000 {
		t.Errorf("the picture is %d high", d.H)
	}
}

func TestMoves(t *testing.T) {
	list, n := moves(sample().Assignment)
	if n != 4 || len(list) != 3 {
		t.Fatalf("%d partitions in %+v", n, list)
	}
	for _, m := range list {
		switch {
		case m.From == "slow" && m.To == "new":
			if m.Count != 1 || m.Parts[0].Partitions[0] != 2 {
				t.Errorf("slow gave %+v", m)
			}
		case m.Nobody && m.From != "a member that is gone":
			t.Errorf("the owner that is gone is called %q", m.From)
		}
	}
}

// Each state lights itself and the arrow that led to it, in both layouts.
func TestStateMachine(t *testing.T) {
	for state, arrow := range map[string]string{"Empty": arrowNobody, "PreparingRebalance": arrowAgain, "CompletingRebalance": arrowAll, "Stable": arrowPlan} {
		for _, narrow := range []bool{false, true} {
			lit, arrows := "", 0
			for _, s := range stateMachine(state, arrow, narrow).Shapes {
				if s.Kind == "text" && s.Class == "statename lit" {
					lit += s.Text
				}
				if s.Class == "arrow lit" {
					arrows++
				}
			}
			if lit != state || arrows != 1 {
				t.Errorf("%s lights %q and %d arrows", state, lit, arrows)
			}
		}
	}
}

func TestWords(t *testing.T) {
	for got, want := range map[string]string{
		num(1234567): "1\u2009234\u2009567", num(-12): "-12", num(999): "999",
		byteText(0): "0 B", byteText(1536): "1.5 KiB", byteText(300 << 20): "300 MiB",
		secondsText(0): "0", secondsText(0.000032): "32 us", secondsText(0.0021): "2.1 ms", secondsText(3.25): "3.25 s",
		plural(1, "event"): "1 event", plural(2, "event"): "2 events",
		clock(0): "unknown", clock(1000): "1970-01-01 00:00:01 UTC",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestLocalHost(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost:9390": true, "127.0.0.1:9390": true, "[::1]:9390": true, "10.0.0.1": true, "rota.localhost": true,
		"evil.example:9390": false, "localhost.evil.example": false, "": false,
	} {
		if localHost(host) != want {
			t.Errorf("%q: %v", host, !want)
		}
	}
}

// Tooltips hold names too.
func TestPicturesHoldNoControlCharacters(t *testing.T) {
	evil := story.Member{ID: "x-6f7c4b0e-a89c-4b0e-a89c-6ed5ca2704b6", ClientID: "evil\x1b[2J\u202e\n\\", Host: "/h\x07"}
	r := story.Fold([]story.Event{
		{TimeMillis: 1000, Kind: story.RebalanceStarted, Member: &evil, Cause: story.CauseMemberJoined, Group: "g\x1b"},
		{TimeMillis: 1400, Kind: story.JoinCompleted, Generation: 1, Duration: millis(400), Member: &evil, WaitedFor: []story.Waited{{Member: evil, Took: millis(400), Outcome: story.OutcomeJoined}}},
	})
	for _, narrow := range []bool{false, true} {
		d := gantt(&r[0], time.Second, narrow)
		titles := 0
		for _, s := range d.Shapes {
			for _, shown := range []string{s.Title, s.Text, d.Desc} {
				if strings.ContainsAny(shown, "\x1b\u202e\n\x07") {
					t.Errorf("%q is shown", shown)
				}
			}
			if strings.Contains(s.Title, `evil\x1b[2J\u202e\n`) {
				titles++
			}
		}
		if titles == 0 {
			t.Error("no tooltip names the member")
		}
	}
}
