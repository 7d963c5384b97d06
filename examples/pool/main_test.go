package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"rota/rotatest"
)

func TestPool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := rotatest.Start(t, rotatest.InMemory())
		var first, second bytes.Buffer
		start := func(out *bytes.Buffer) (stop func()) {
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() {
				p := &pool{out: out, pause: time.Second}
				ended <- p.run(ctx, 4, kgo.SeedBrokers(b.Addr()), kgo.Dialer(b.Dial))
			}()
			return func() {
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			}
		}
		stopFirst := start(&first)
		time.Sleep(5 * time.Second)
		stopSecond := start(&second)
		time.Sleep(10 * time.Second)
		stopFirst()
		time.Sleep(10 * time.Second)
		stopSecond()
		expect(t, first.String(), "generation 1: 4 shards are ours", "shard 3 has done job 4", "shard 3 ends: member: shard is revoked",
			"generation 2: 2 shards are ours", "shard 0 has done job 14", "shard 0 ends: member: closed")
		expect(t, second.String(), "generation 3: 2 shards are ours", "shard 3 begins, token 3",
			"generation 4: 4 shards are ours", "shard 0 begins, token 4", "shard 0 has done job 1", "shard 3 ends: member: closed")
	})
}

// expect checks that the lines are there, in that order.
func expect(t *testing.T, out string, lines ...string) {
	t.Helper()
	rest := out
	for _, line := range lines {
		_, after, ok := strings.Cut(rest, line+"\n")
		if !ok {
			t.Fatalf("there is no %q where it is expected, in\n%s", line, out)
		}
		rest = after
	}
}
