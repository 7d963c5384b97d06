package cli

import (
	"context"
	"fmt"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"rota/internal/story"
)

// eventsCommand is rota events.
type eventsCommand struct {
	connection
	Name   string        `arg:"" optional:"" name:"group" help:"Group to tell of; all unless given."`
	Follow bool          `short:"F" help:"Go on with what is yet to happen."`
	Since  time.Duration `placeholder:"DURATION" help:"How far back to begin: all that is kept unless given, with --follow now."`
	Kind   []string      `placeholder:"KIND" help:"Only events of these kinds; docs/format/group-events.md lists them."`
}

// Validate refuses kinds that no event has: nothing would ever be printed.
func (c *eventsCommand) Validate() error {
	for _, k := range c.Kind {
		if !story.Kind(k).Known() {
			return MisuseError("there is no kind " + story.Quote(k) + " of event; docs/format/group-events.md lists them")
		}
	}
	return nil
}

// Run prints the events.
func (c *eventsCommand) Run(ctx context.Context, s *Streams) error {
	ctx, cancel := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer cancel()
	cluster, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer cluster.Close()
	kept, err := cluster.HasHistory(ctx)
	if err != nil {
		return explain(err)
	}
	if !kept {
		return HintError{errNoHistory, "rota watch follows the states of groups on any cluster"}
	}
	var since time.Time
	if c.Since > 0 || c.Follow {
		since = time.Now().Add(-c.Since)
	}
	var failed error
	err = cluster.History(ctx, c.Name, since, c.Follow, func(e story.Event) bool {
		if len(c.Kind) == 0 || slices.Contains(c.Kind, string(e.Kind)) {
			failed = c.print(s, e)
		}
		return failed == nil
	})
	if ctx.Err() != nil {
		err = nil // ctrl-c is how it ends
	}
	if err == nil {
		err = failed
	}
	return explain(err)
}

func (c *eventsCommand) print(s *Streams, e story.Event) error {
	if c.JSON {
		return printLine(s.Out, e)
	}
	_, err := fmt.Fprintf(s.Out, "%s  %s  generation %d  %s\n", story.Clock(e.TimeMillis), name(e.Group), e.Generation, e.Sentence())
	return err
}
