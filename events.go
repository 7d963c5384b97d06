package rota

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"rota/internal/group"
)

// eventLog logs when and why groups rebalance. It takes events from the
// coordinator without ever holding it up: a log that cannot be written fast
// enough loses lines, and says how many.
type eventLog struct {
	log     *slog.Logger
	lines   chan eventLine
	dropped atomic.Int64
	running sync.WaitGroup
}

type eventLine struct {
	group string
	event group.Event
}

// eventBacklog is how many lines may wait for a slow log.
const eventBacklog = 1024

func startEventLog(log *slog.Logger) *eventLog {
	l := &eventLog{log: log, lines: make(chan eventLine, eventBacklog)}
	l.running.Go(l.run)
	return l
}

// take is coordinator.Config.Events.
func (l *eventLog) take(id string, events []group.Event) {
	for _, e := range events {
		if _, told := eventMessages[e.Kind]; !told {
			continue
		}
		select {
		case l.lines <- eventLine{id, e}:
		default:
			l.dropped.Add(1)
		}
	}
}

func (l *eventLog) run() {
	for line := range l.lines {
		l.tell(line.group, line.event)
		if n := l.dropped.Swap(0); n > 0 {
			l.log.Warn("group events were not logged: the log is too slow", "count", n)
		}
	}
}

// close ends the log after the last line. take must not be called any more.
func (l *eventLog) close() {
	close(l.lines)
	l.running.Wait()
}

// eventMessages has the events that are worth a line.
var eventMessages = map[group.EventKind]string{
	group.RebalanceStarted:    "a rebalance starts",
	group.RebalanceSuperseded: "the rebalance starts over",
	group.JoinCompleted:       "all members are in",
	group.AssignmentInstalled: "the assignment is installed",
	group.MemberExpired:       "a member was silent for too long",
	group.MemberDropped:       "a member missed the deadline",
	group.GroupEmptied:        "the last member is gone",
}

func (l *eventLog) tell(id string, e group.Event) {
	attrs := []slog.Attr{slog.String("group", id), slog.Int("generation", int(e.Generation))}
	text := func(key, value string) {
		if value != "" {
			attrs = append(attrs, slog.String(key, value))
		}
	}
	if e.Cause != 0 {
		text("cause", e.Cause.String())
	}
	text("client_id", e.Member.ClientID)
	text("member", e.Member.ID)
	text("reason", e.Member.Reason)
	if e.Count > 0 {
		attrs = append(attrs, slog.Int("members", e.Count))
	}
	if e.Duration > 0 {
		text("took", e.Duration.Round(10*time.Microsecond).String())
	}
	if n := len(e.WaitedFor); n > 0 {
		names := make([]string, 0, min(n, 5))
		for i := range min(n, 5) { // the last first: they took longest
			names = append(names, e.WaitedFor[n-1-i].ClientID)
		}
		text("waited_for", strings.Join(names, " "))
	}
	//nolint:sloglint // one of a few constants
	l.log.LogAttrs(context.Background(), slog.LevelInfo, eventMessages[e.Kind], attrs...)
}
