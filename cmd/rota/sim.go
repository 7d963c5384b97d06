package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"rota/internal/sim"
)

// simCommand plays seeds of the simulator.
type simCommand struct {
	Seed    uint64 `default:"1" help:"The first seed."`
	Seeds   int    `default:"1" help:"How many seeds, each twice."`
	Steps   int    `default:"2000" help:"Steps of each seed."`
	Workers int    `help:"Seeds played at once. Default: the number of processors."`
	Replay  string `placeholder:"FILE" type:"existingfile" help:"Play the events of a file that a failure has left instead."`
	World   string `default:"all" enum:"all,groups,transactions" help:"What to play: ${enum}."`
	Quiet   bool   `help:"Do not print how often each fault and each transition occurred."`
}

var errSimulation = errors.New("the simulation has found a broken rule")

// Run plays the seeds and prints what happened, or a report of each failure:
// the rule that is broken, the few events that break it, and a scenario.
func (c *simCommand) Run(ctx context.Context, s *streams) error {
	if c.Replay != "" {
		return c.replay(s)
	}
	workers := c.Workers
	if workers <= 0 {
		workers = runtime.NumCPU()
	}
	if c.World == "transactions" {
		return c.transactions(ctx, s, workers)
	}
	began := time.Now()
	stats, failures := sim.Many(ctx, c.Seed, c.Seeds, c.Steps, workers)
	if !c.Quiet {
		stats.Print(s.out)
	}
	fmt.Fprintf(s.out, "%d seeds of %d steps, twice, in %s, trace %016x\n", stats.Seeds, c.Steps, time.Since(began).Round(time.Millisecond), stats.Traces)
	for _, f := range failures {
		fmt.Fprintf(s.out, "\n%s", sim.Explain(f))
	}
	if len(failures) > 0 {
		return errSimulation
	}
	if c.World == "groups" {
		return ctx.Err()
	}
	return c.transactions(ctx, s, workers)
}

// transactions plays the seeds in worlds with transactions.
func (c *simCommand) transactions(ctx context.Context, s *streams, workers int) error {
	began := time.Now()
	stats, failures := sim.ManyTransactions(ctx, c.Seed, c.Seeds, c.Steps, workers)
	if !c.Quiet {
		stats.PrintTransactions(s.out)
	}
	fmt.Fprintf(s.out, "%d seeds with transactions, of %d steps and what follows, twice, in %s, trace %016x\n",
		stats.Seeds, c.Steps, time.Since(began).Round(time.Millisecond), stats.Traces)
	for _, f := range failures {
		fmt.Fprintf(s.out, "\n%s", sim.ExplainTransactions(f, c.Steps))
	}
	if len(failures) > 0 {
		return errSimulation
	}
	return ctx.Err()
}

func (c *simCommand) replay(s *streams) error {
	text, err := os.ReadFile(c.Replay)
	if err != nil {
		return err
	}
	play, err := sim.ParseCase(text)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Replay, err)
	}
	r := sim.Play(play)
	fmt.Fprintf(s.out, "seed %d, %d events, trace %016x\n", play.Seed, len(play.Events), r.Hash)
	if r.Failure == nil {
		return nil
	}
	fmt.Fprintf(s.out, "%v\n", r.Failure)
	return errSimulation
}
