// Pool is a worker pool whose workers are processes: each has its share of the
// shards, and a shard is worked on by one process at a time.
//
//	rota serve &
//	go run ./examples/pool -brokers localhost:9092 &
//	go run ./examples/pool -brokers localhost:9092
//
// Start and stop as many as you like: the shards move, one by one, and the rest
// are not interrupted.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"rota/member"
)

func main() {
	brokers := flag.String("brokers", "localhost:9092", "host:port, comma separated")
	shards := flag.Int("shards", 12, "how many shards there are")
	pause := flag.Duration("pause", time.Second, "between two jobs of a shard")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	p := &pool{out: os.Stdout, pause: *pause}
	if err := p.run(ctx, *shards, kgo.SeedBrokers(strings.Split(*brokers, ",")...)); err != nil {
		fmt.Fprintln(os.Stderr, "pool:", err)
		os.Exit(1)
	}
}

// pool is this process's part of the pool.
type pool struct {
	pause time.Duration

	mu  sync.Mutex
	out io.Writer
}

// run works until ctx ends.
func (p *pool) run(ctx context.Context, shards int, opts ...kgo.Opt) error {
	return member.Run(ctx, member.Config{
		Group:          "pool",
		Work:           member.Shards(shards),
		SessionTimeout: 10 * time.Second,
		Run:            p.work,
		OnJoinComplete: func(c member.Complete) {
			p.say("generation %d: %d shards are ours", c.Generation, len(c.Owned))
		},
		OnLost: func(lost []member.Shard) { p.say("lost %d shards", len(lost)) },
	}, opts...)
}

// work does the jobs of one shard, until another process takes over.
func (p *pool) work(ctx context.Context, o member.Ownership) {
	p.say("shard %d begins, token %d", o.Shard.Partition, o.Token)
	for job := 1; ; job++ {
		// A real job would hand o.Token to whatever it writes to, which then
		// refuses tokens lower than the highest that it has seen.
		select {
		case <-time.After(p.pause):
			p.say("shard %d has done job %d", o.Shard.Partition, job)
		case <-ctx.Done():
			p.say("shard %d ends: %v", o.Shard.Partition, context.Cause(ctx))
			return
		}
	}
}

func (p *pool) say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.out, format+"\n", args...)
}
