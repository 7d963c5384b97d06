// Cron runs a job at intervals, in one of however many processes: the one that
// leads. When it ends, or cannot be reached, another one takes over.
//
//	rota serve &
//	go run ./examples/cron -brokers localhost:9092 &
//	go run ./examples/cron -brokers localhost:9092
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"rota/member"
)

func main() {
	brokers := flag.String("brokers", "localhost:9092", "host:port, comma separated")
	every := flag.Duration("every", 5*time.Second, "interval between two runs of the job")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	c := &cron{out: os.Stdout, every: *every, job: hello}
	if err := c.run(ctx, kgo.SeedBrokers(strings.Split(*brokers, ",")...)); err != nil {
		fmt.Fprintln(os.Stderr, "cron:", err)
		os.Exit(1)
	}
}

// job is what is to be done. It ends early when ctx does. token rises from
// leader to leader.
type job func(ctx context.Context, out io.Writer, token int32) error

func hello(_ context.Context, out io.Writer, token int32) error {
	_, err := fmt.Fprintf(out, "the job runs, token %d\n", token)
	return err
}

// cron runs a job while this process leads.
type cron struct {
	out   io.Writer
	every time.Duration
	job   job
}

// run takes part in the election until ctx ends.
func (c *cron) run(ctx context.Context, opts ...kgo.Opt) error {
	return member.Run(ctx, member.Config{
		Group:          "cron",
		Work:           member.Leader(),
		SessionTimeout: 10 * time.Second,
		Run:            c.lead,
	}, opts...)
}

// lead runs the job at its intervals. ctx ends before anybody else leads, and
// nobody else leads before lead has returned.
func (c *cron) lead(ctx context.Context, o member.Ownership) {
	fmt.Fprintf(c.out, "this process leads, token %d\n", o.Token)
	ticker := time.NewTicker(c.every)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			if err := c.job(ctx, c.out, o.Token); err != nil {
				fmt.Fprintf(c.out, "the job failed: %v\n", err)
			}
		case <-ctx.Done():
			fmt.Fprintf(c.out, "another process may lead: %v\n", context.Cause(ctx))
			return
		}
	}
}
