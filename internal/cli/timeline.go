package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"rota/internal/display"
	"rota/internal/story"
)

// timelineCommand is rota timeline.
type timelineCommand struct {
	connection
	Name   string `arg:"" name:"group" help:"Group to show."`
	Number int    `short:"n" default:"20" placeholder:"N" help:"Show the last N rebalances."`
}

// timelineAnswer is what timeline prints with --json.
type timelineAnswer struct {
	Group      string            `json:"group" doc:"Group id."`
	Rebalances []story.Rebalance `json:"rebalances" doc:"The rebalances, oldest first."`
	Missing    []string          `json:"missing,omitempty" doc:"What the cluster does not tell, a sentence each."`
}

// Run shows the rebalances.
func (c *timelineCommand) Run(ctx context.Context, s *Streams) error {
	if c.Number < 1 {
		return MisuseError("-n must be more than 0")
	}
	cluster, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer cluster.Close()
	_, events, missing, err := groupHistory(ctx, cluster, c.Name)
	if err != nil {
		return explain(err)
	}
	rebalances := story.Fold(events)
	answer := timelineAnswer{c.Name, rebalances[max(0, len(rebalances)-c.Number):], missing}
	if answer.Rebalances == nil {
		answer.Rebalances = []story.Rebalance{}
	}
	if c.JSON {
		return printJSON(s.Out, answer)
	}
	for i := range answer.Rebalances {
		drawRebalance(s.Out, &answer.Rebalances[i])
	}
	for _, m := range missing {
		fmt.Fprintln(s.Err, "missing:", m)
	}
	return nil
}

// The widths of a drawn rebalance.
const (
	labelWidth = 24
	barWidth   = 50
	maxBars    = 12
)

// drawRebalance draws the phases of one rebalance and the wait for each member
// to one scale.
func drawRebalance(w io.Writer, r *story.Rebalance) {
	generations := fmt.Sprintf("%d -> ?", r.From)
	if r.To != 0 {
		generations = fmt.Sprintf("%d -> %d", r.From, r.To)
	}
	through := ""
	if r.Trigger != nil {
		through = " through " + r.Trigger.Name()
	}
	ending := string(r.Ending)
	if r.Ending != story.Running {
		ending += " after " + story.Took(r.Took())
	}
	fmt.Fprintf(w, "%s  %s  %s%s, %s\n", story.Clock(r.StartedMillis), generations, name(string(r.Cause)), through, ending)
	whole := r.Took()
	bar := func(label string, from, length time.Duration, note string) {
		fmt.Fprintf(w, "  %s |%s| %s\n", fit(label), drawBar(from, length, whole), strings.TrimSpace(story.Took(length)+" "+note))
	}
	var join time.Duration
	if r.Join != nil {
		join = time.Duration(r.Join.Took)
		bar("join", 0, join, "")
	}
	waits := r.WaitedFor[max(0, len(r.WaitedFor)-maxBars):]
	for i := range waits {
		m := &waits[i]
		bar("  "+display.Text(m.Label()), 0, time.Duration(m.Took), string(m.Outcome))
	}
	if more := len(r.WaitedFor) - len(waits) + r.WaitedForMore; more > 0 {
		fmt.Fprintf(w, "    and %d that took less\n", more)
	}
	if r.Sync != nil {
		bar("sync", join, time.Duration(r.Sync.Took), "")
	}
}

// fit cuts or fills a label to its width.
func fit(label string) string {
	if n := display.Width(label); n <= labelWidth {
		return label + strings.Repeat(" ", labelWidth-n)
	}
	return string([]rune(label)[:labelWidth-3]) + "..."
}

// drawBar draws a stretch of a whole; what there is has at least one mark.
func drawBar(from, length, whole time.Duration) string {
	if whole <= 0 {
		return strings.Repeat(" ", barWidth)
	}
	at := min(int(from*barWidth/whole), barWidth-1)
	n := min(max(int(length*barWidth/whole), 1), barWidth-at)
	return strings.Repeat(" ", at) + strings.Repeat("=", n) + strings.Repeat(" ", barWidth-at-n)
}
