package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/story"
	"rota/rotatest"
)

// follower is a command that goes on until it is told to stop.
type follower struct {
	t     *testing.T
	lines *bufio.Scanner
	errs  bytes.Buffer
	stop  context.CancelFunc
	ended chan int
}

// follow starts a command.
func follow(t *testing.T, b *rotatest.Broker, args ...string) *follower {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	r, w := io.Pipe()
	f := &follower{t: t, lines: bufio.NewScanner(r), stop: cancel, ended: make(chan int, 1)}
	f.lines.Buffer(nil, 1<<20)
	go func() {
		code := run(ctx, append(args, "--brokers", b.Addr()), strings.NewReader(""), w, &f.errs)
		w.Close()
		f.ended <- code
	}()
	return f
}

// followHistory starts a command and returns when it reads the history.
func followHistory(t *testing.T, b *rotatest.Broker, args ...string) *follower {
	t.Helper()
	reads := b.On(kmsg.Fetch).From("rota").Delay(0)
	f := follow(t, b, args...)
	reads.Wait()
	return f
}

// until reads lines up to one that is wanted, and returns them.
func (f *follower) until(wanted func(line string) bool) []string {
	f.t.Helper()
	var lines []string
	for f.lines.Scan() {
		lines = append(lines, f.lines.Text())
		if wanted(f.lines.Text()) {
			return lines
		}
	}
	f.t.Fatalf("it has ended: %v, after\n%s\n%s", f.lines.Err(), strings.Join(lines, "\n"), f.errs.String())
	return nil
}

// end presses ctrl-c and wants it to be a good end.
func (f *follower) end() {
	f.t.Helper()
	f.stop()
	for f.lines.Scan() {
	}
	if code := <-f.ended; code != 0 {
		f.t.Errorf("exit code %d, %s", code, f.errs.String())
	}
}

// member is a consumer of topic t that polls until the test ends.
func memberOf(t *testing.T, b *rotatest.Broker, group, client string) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.Addr()), kgo.ConsumerGroup(group), kgo.ConsumeTopics("t"), kgo.ClientID(client),
		kgo.HeartbeatInterval(50*time.Millisecond), kgo.Balancers(kgo.RangeBalancer()), kgo.DisableAutoCommit())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	go func() {
		for t.Context().Err() == nil && !cl.PollFetches(t.Context()).IsClientClosed() {
		}
	}()
	return cl
}

// begin is a broker with a group g of one member whose history is written.
func begin(t *testing.T) *rotatest.Broker {
	t.Helper()
	b := rotatest.Start(t, rotatest.Topic("t", 4), rotatest.Properties("group.initial.rebalance.delay.ms=0"))
	memberOf(t, b, "g", "first")
	b.Group("g").WaitStable(1)
	for end := time.Now().Add(20 * time.Second); !strings.Contains(at(t, b, "", "events", "g").out, "assign"); {
		if time.Now().After(end) {
			t.Fatal("the history does not tell of the first assignment")
		}
	}
	return b
}

// What is yet to happen to one group is told as it happens, and each rebalance
// as a whole when it has ended.
func TestWatchTellsOfMembers(t *testing.T) {
	b := begin(t)
	f := followHistory(t, b, "watch", "g", "--json")
	type line struct {
		Event     *story.Event
		Sentence  string
		Rebalance *story.Rebalance
		Story     []string
	}
	rebalance := func(cause story.Cause, client string) {
		t.Helper()
		var l line
		for _, text := range f.until(func(text string) bool {
			l = line{}
			if err := json.Unmarshal([]byte(text), &l); err != nil {
				t.Fatalf("%v in %s", err, text)
			}
			return l.Rebalance != nil
		}) {
			if !strings.Contains(text, `"group":"g"`) {
				t.Errorf("told of another group: %s", text)
			}
		}
		if l.Rebalance.Cause != cause || l.Rebalance.Trigger.ClientID != client || l.Event.Kind != story.AssignmentInstalled ||
			!strings.Contains(strings.Join(l.Story, " "), client) || l.Sentence == "" {
			t.Errorf("want %s through %s, told %+v, %q", cause, client, l.Rebalance, l.Story)
		}
	}
	memberOf(t, b, "other", "stranger")
	b.Group("other").WaitStable(1)
	second := memberOf(t, b, "g", "second")
	rebalance(story.CauseMemberJoined, "second")
	second.Close()
	rebalance(story.CauseMemberLeft, "second")
	f.end()
}

// As text, all groups unless one is named, and the story below its last event.
func TestWatchInWords(t *testing.T) {
	b := begin(t)
	f := followHistory(t, b, "group", "watch")
	memberOf(t, b, "new", "stranger")
	lines := f.until(func(line string) bool {
		return strings.Contains(line, "      | ") && strings.Contains(line, `"stranger"`)
	})
	ended := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, "Group \"new\" rebalanced") })
	if !strings.Contains(lines[0], "  new  The group was created.") || ended < 2 || !strings.Contains(lines[ended-1], "  new  ") {
		t.Errorf("told\n%s", strings.Join(lines, "\n"))
	}
	f.end()
}

// Events are followed from now on, of the kinds that are asked for.
func TestEventsFollow(t *testing.T) {
	b := begin(t)
	f := followHistory(t, b, "events", "g", "--follow", "--kind", "member-left", "--kind", "assignment-installed", "--json")
	kinds := func(last story.Kind, want ...string) {
		t.Helper()
		var got []string
		for _, text := range f.until(func(text string) bool { return strings.Contains(text, fmt.Sprintf("%q:%q", "kind", last)) }) {
			e := parse[story.Event](t, text)
			got = append(got, fmt.Sprintf("%s %d", e.Kind, e.Generation))
		}
		wants(t, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	second := memberOf(t, b, "g", "second")
	kinds(story.AssignmentInstalled, "assignment-installed 2")
	second.Close()
	kinds(story.AssignmentInstalled, "member-left 2", "assignment-installed 3")
	f.end()
	since := followHistory(t, b, "events", "g", "-F", "--since", "1h", "--kind", "assignment-installed")
	lines := since.until(func(line string) bool { return strings.Contains(line, "generation 3") })
	if len(lines) != 3 || !strings.Contains(lines[0], "generation 1") {
		t.Errorf("an hour back there is\n%s", strings.Join(lines, "\n"))
	}
	since.end()
}

// On a cluster that keeps no history the states are asked for, and it is said
// what that cannot tell.
func TestWatchWithoutHistory(t *testing.T) {
	b := rotatest.Start(t, rotatest.Topic("t", 4), rotatest.Properties("group.initial.rebalance.delay.ms=0", "rota.history.enable=false"))
	asks := b.On(kmsg.ListGroups).From("rota").Delay(0)
	f := follow(t, b, "watch", "--interval", "20ms", "--json")
	asks.Wait()
	type line struct {
		State struct {
			Group, Before, After string
			Members              int
		}
	}
	last := func(members int, after string) line {
		t.Helper()
		var l line
		f.until(func(text string) bool {
			l = parse[line](t, text)
			return l.State.Members == members && l.State.After == after
		})
		return l
	}
	cl := memberOf(t, b, "g", "first")
	if l := last(1, "Stable"); l.State.Group != "g" {
		t.Errorf("told %+v", l)
	}
	cl.Close()
	last(0, "Empty")
	good(t, b, "", "group", "delete", "g")
	if l := last(0, "Dead"); l.State.Before != "Empty" {
		t.Errorf("told %+v", l)
	}
	f.end()
	if text := f.errs.String(); !strings.Contains(text, "missing: causes and members") {
		t.Errorf("said %q", text)
	}
	fails(t, at(t, b, "", "events", "--follow"), 1, "keeps no history", "rota watch")
}
