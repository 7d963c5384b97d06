package scenario

import (
	"errors"
	"strings"
	"testing"
	"time"

	"rota/internal/group"
)

// scripted is a group that does what its script says, right or wrong: the
// runner must notice.
type scripted struct {
	step     func(s *scripted, t group.Ticket, r group.Request) group.Effects
	deadline time.Duration // 0: none
	parked   []group.Ticket
	text     string
	applied  int
}

func (s *scripted) Exists() bool { return true }
func (s *scripted) Step(_ group.Now, _ group.Offset, t group.Ticket, r group.Request) group.Effects {
	return s.step(s, t, r)
}
func (s *scripted) Tick(group.Now, group.Offset) group.Effects          { return group.Effects{} }
func (s *scripted) Deadline() (time.Duration, bool)                     { return s.deadline, s.deadline > 0 }
func (s *scripted) Apply(group.Entry) error                             { s.applied++; return nil }
func (s *scripted) Loaded(group.Now, group.Offset, int32) group.Effects { return group.Effects{} }
func (s *scripted) Released(group.Now, group.Ticket)                    {}
func (s *scripted) Forgive(group.Now, time.Duration)                    {}
func (s *scripted) Unload(group.Now) group.Effects                      { return group.Effects{} }
func (s *scripted) Parked() []group.Ticket                              { return s.parked }
func (s *scripted) Summary() group.Summary                              { return group.Summary{State: "Empty"} }

func (s *scripted) MarshalText() ([]byte, error) {
	return []byte(s.text + group.OpenLine + "\nstate Empty generation=0 leader=\"\"\n"), nil
}

func beat(t group.Ticket, after group.Dependency) group.Reply {
	return group.Reply{Ticket: t, After: after, Body: group.Beat{}}
}

func offsetBatch() group.Batch {
	records, err := offsetsByHand("g", []string{"t-0=1"}, wallOrigin)
	if err != nil {
		panic(err)
	}
	return group.Batch{Records: records, ProducerID: -1}
}

// TestRunnerNoticesBrokenContracts gives the runner groups that break each
// promise that a shell relies on.
func TestRunnerNoticesBrokenContracts(t *testing.T) {
	const heartbeat = "group g\nA -> heartbeat member=a1 generation=1\nA <- heartbeat ok\n"
	flips := 0
	for _, tc := range []struct {
		name, file, want string
		step             func(s *scripted, t group.Ticket, r group.Request) group.Effects
	}{
		{"answered twice", heartbeat, "answered twice", func(_ *scripted, t group.Ticket, _ group.Request) group.Effects {
			return group.Effects{Replies: []group.Reply{beat(t, group.DependsNothing), beat(t, group.DependsNothing)}}
		}},
		{"not answered and not parked", heartbeat, "neither answered nor parked", func(*scripted, group.Ticket, group.Request) group.Effects {
			return group.Effects{}
		}},
		{"parked and answered", heartbeat, "requests that are not open", func(s *scripted, t group.Ticket, _ group.Request) group.Effects {
			s.parked = []group.Ticket{t}
			return group.Effects{Replies: []group.Reply{beat(t, group.DependsNothing)}}
		}},
		{"unknown ticket", heartbeat, "ticket 99", func(_ *scripted, _ group.Ticket, _ group.Request) group.Effects {
			return group.Effects{Replies: []group.Reply{beat(99, group.DependsGroup)}}
		}},
		{"empty batch", heartbeat, "batch without records", func(_ *scripted, t group.Ticket, _ group.Request) group.Effects {
			return group.Effects{Batches: []group.Batch{{}}, Replies: []group.Reply{beat(t, group.DependsNothing)}}
		}},
		{"deadline that stays", heartbeat + "+1s\n", "that Tick does not move", func(s *scripted, t group.Ticket, _ group.Request) group.Effects {
			s.deadline = time.Millisecond
			return group.Effects{Replies: []group.Reply{beat(t, group.DependsNothing)}}
		}},
		{"forgotten by the log", heartbeat, "does not come back from its log", func(s *scripted, t group.Ticket, _ group.Request) group.Effects {
			s.text = "secret\n"
			return group.Effects{Replies: []group.Reply{beat(t, group.DependsNothing)}}
		}},
		{"random", heartbeat, "two runs of the same file differ", func(_ *scripted, t group.Ticket, _ group.Request) group.Effects {
			flips++
			return group.Effects{Replies: []group.Reply{{Ticket: t, Body: group.Beat{Code: group.Code(flips)}}}}
		}},
		{"panic", heartbeat, "panic: no", func(*scripted, group.Ticket, group.Request) group.Effects {
			panic("no")
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f, err := Parse(tc.name, []byte(tc.file))
			if err != nil {
				t.Fatal(err)
			}
			_, err = Run(f, func(string, *group.Config) Machine { return &scripted{step: tc.step} })
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

// TestReplyWaitsForItsBatch checks that the runner holds each reply for as
// long as its dependency says, and no longer.
func TestReplyWaitsForItsBatch(t *testing.T) {
	const file = `core-only: the log is held up
group g
hold-append
A -> heartbeat member=a1 generation=1
log <- offset g t-0=1
release
A <- heartbeat ok
A -> heartbeat member=a1 generation=1
log <- offset g t-0=1
A <- heartbeat ok
hold-append
A -> heartbeat member=a1 generation=1
log <- offset g t-0=1
fail-append
log <- append-failed
A <- heartbeat NOT_COORDINATOR
`
	step := func(_ *scripted, t group.Ticket, _ group.Request) group.Effects {
		return group.Effects{Batches: []group.Batch{offsetBatch()}, Replies: []group.Reply{beat(t, group.DependsStep)}}
	}
	f, err := Parse("held", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	var groups []*scripted
	got, err := Run(f, func(string, *group.Config) Machine {
		s := &scripted{step: step}
		groups = append(groups, s)
		return s
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := Diff(f, got); diff != "" {
		t.Error(diff)
	}
	// The group that was made by the reload has read two records, not three.
	if applied := groups[1].applied; applied != 2 {
		t.Errorf("%d records were read back", applied)
	}
}

// TestLoadFailureShutsTheShard plays a log that cannot be read.
func TestLoadFailureShutsTheShard(t *testing.T) {
	f, err := Parse("damaged", []byte("core-only: by hand\ngroup g\nlog = offset g t-0=1\nreload\nlog <- load-failed\nA -> heartbeat generation=1\nA <- heartbeat NOT_COORDINATOR\n"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := Run(f, func(string, *group.Config) Machine { return unreadable{&scripted{}} })
	if err != nil {
		t.Fatal(err)
	}
	if diff := Diff(f, got); diff != "" {
		t.Error(diff)
	}
}

type unreadable struct{ *scripted }

func (unreadable) Apply(group.Entry) error { return errors.New("damaged") }

// TestRunShowsWhatHappened checks the file that a run returns: right lines keep
// their place and spelling, wrong ones are replaced, missing ones added.
func TestRunShowsWhatHappened(t *testing.T) {
	const before = `group g
# Alone.
A -> join   v=3
# It waits.
= Empty generation=7

+5s
# Too early.
@ 2s
A <- join ok

A -> heartbeat  member=a1 generation=1
A <- heartbeat  ok
`
	const after = `group g
# Alone.
A -> join   v=3
# It waits.
log <- group-metadata g generation=0 type=""
= PreparingRebalance generation=0 members=a1

+5s
@ 3s
A <- join generation=1 protocol=range leader=a1 member=a1 members=a1
= CompletingRebalance generation=1 leader=a1 members=a1

A -> heartbeat  member=a1 generation=1
A <- heartbeat  ok
`
	f, err := Parse("before", []byte(before))
	if err != nil {
		t.Fatal(err)
	}
	got, err := Run(f, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s := string(got.Bytes()); s != after {
		t.Errorf("got (+), want (-):\n%s", diffText(after, s))
	}
}
