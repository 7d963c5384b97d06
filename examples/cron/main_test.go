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

func TestCron(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := rotatest.Start(t, rotatest.InMemory())
		var first, second bytes.Buffer
		start := func(out *bytes.Buffer) (stop func()) {
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() {
				c := &cron{out: out, every: 5 * time.Second, job: hello}
				ended <- c.run(ctx, kgo.SeedBrokers(b.Addr()), kgo.Dialer(b.Dial))
			}()
			return func() {
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			}
		}
		stopFirst := start(&first)
		time.Sleep(time.Second)
		stopSecond := start(&second)
		time.Sleep(11 * time.Second)
		if second.Len() > 0 {
			t.Errorf("while the first leads the second says %q", second.String())
		}
		stopFirst()
		time.Sleep(11 * time.Second)
		stopSecond()
		if got, want := first.String(), "this process leads, token 1\nthe job runs, token 1\nthe job runs, token 1\n"+
			"another process may lead: member: closed\n"; got != want {
			t.Errorf("the first says %q", got)
		}
		runs := strings.Count(second.String(), "the job runs, token 3\n")
		if !strings.HasPrefix(second.String(), "this process leads, token 3\n") || runs != 2 {
			t.Errorf("the second says %q", second.String())
		}
	})
}
