package member_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"rota/member"
	"rota/rotatest"
)

// diary is what has happened to a member, in order.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) add(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

// read returns the lines since the last read.
func (d *diary) read() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := strings.Join(d.lines, "; ")
	d.lines = nil
	return all
}

func numbers(list []member.Shard) string {
	s := make([]string, len(list))
	for i, x := range list {
		s[i] = fmt.Sprint(x.Partition)
	}
	return strings.Join(s, " ")
}

// written is a Config whose callbacks write a diary.
func written(c member.Config) (member.Config, *diary) {
	d := &diary{}
	c.OnJoinPrepare = func(p member.Prepare) { d.add("prepare(%s)", numbers(p.Revoked)) }
	c.OnJoinComplete = func(p member.Complete) { d.add("complete(+%s -%s)", numbers(p.Added), numbers(p.Removed)) }
	c.OnLost = func(list []member.Shard) { d.add("lost(%s)", numbers(list)) }
	return c, d
}

// world is a broker and its members, in a bubble.
type world struct {
	*testing.T
	b *rotatest.Broker
	g *rotatest.Group
}

// bubble runs a test in a bubble, where a sleep is over when everybody else
// waits.
func bubble(t *testing.T, f func(w *world), opts ...rotatest.Option) {
	synctest.Test(t, func(t *testing.T) {
		b := rotatest.Start(t, append(opts, rotatest.InMemory(), rotatest.Patience(10*time.Minute))...)
		f(&world{t, b, b.Group("g")})
	})
}

func (w *world) join(name string, c member.Config) *member.Member {
	w.Helper()
	c.Group = "g"
	m, err := member.Start(c, kgo.SeedBrokers(w.b.Addr()), kgo.Dialer(w.b.Dial), kgo.ClientID(name))
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { w.close(m) })
	return m
}

func (w *world) close(m *member.Member) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	_ = m.Close(ctx)
}

// settle lets everything happen that happens within a few heartbeats.
func (w *world) settle() {
	time.Sleep(10 * time.Second)
	synctest.Wait()
}

func (w *world) want(d *diary, lines ...string) {
	w.Helper()
	if got, want := d.read(), strings.Join(lines, "; "); got != want {
		w.Errorf("callbacks\n got %s\nwant %s", got, want)
	}
}

func owned(m *member.Member) string {
	var s []string
	for _, o := range m.Owned() {
		s = append(s, fmt.Sprintf("%d@%d", o.Shard.Partition, o.Token))
	}
	return strings.Join(s, " ")
}

func TestCooperativeMembersMoveOnlyWhatMoves(t *testing.T) {
	bubble(t, func(w *world) {
		var one, two diary
		run := func(d *diary) func(context.Context, member.Ownership) {
			return func(ctx context.Context, o member.Ownership) {
				d.add("run %d", o.Shard.Partition)
				<-ctx.Done()
				d.add("end %d: %v", o.Shard.Partition, context.Cause(ctx))
			}
		}
		c := member.Config{Work: member.Shards(2), Run: run(&one)}
		ca, a := written(c)
		m := w.join("one", ca)
		w.settle()
		w.want(a, "prepare()", "complete(+0 1 -)")
		c.Run = run(&two)
		cb, b := written(c)
		n := w.join("two", cb)
		w.settle()
		// Generation 2 takes shard 1 away, generation 3 hands it out.
		w.want(a, "prepare()", "complete(+ -1)", "prepare()", "complete(+ -)")
		// The second may hear of generation 3 before it has asked for its share of 2.
		if got := b.read(); got != "prepare(); complete(+ -); prepare(); complete(+1 -)" && got != "prepare(); complete(+1 -)" {
			w.Errorf("callbacks of the second: %s", got)
		}
		if owned(m) != "0@1" || owned(n) != "1@3" {
			w.Errorf("they own %q and %q", owned(m), owned(n))
		}
		lines := strings.Split(one.read(), "; ")
		slices.Sort(lines[:2])
		if got := strings.Join(lines, "; "); got != "run 0; run 1; end 1: "+member.ErrRevoked.Error() {
			w.Errorf("runs of the first: %s", got)
		}
		w.close(m)
		w.settle()
		if got := one.read(); got != "end 0: "+member.ErrClosed.Error() {
			w.Errorf("runs of the first: %s", got)
		}
		if owned(n) != "0@4 1@3" {
			w.Errorf("the second owns %q", owned(n))
		}
		w.want(a)
		w.want(b, "prepare()", "complete(+0 -)")
		e := w.g.WaitEvent("leave", func(e rotatest.Event) bool { return e.Kind == "member-left" })
		if e.Reason != "member is closed" {
			w.Errorf("%+v", e)
		}
	})
}

func TestEagerMembersGiveUpEverything(t *testing.T) {
	bubble(t, func(w *world) {
		c := member.Config{Work: member.Shards(3), Assignors: []member.Assignor{member.Sticky()}}
		ca, a := written(c)
		m := w.join("one", ca)
		w.settle()
		cb, b := written(c)
		n := w.join("two", cb)
		w.settle()
		w.want(a, "prepare()", "complete(+0 1 2 -)", "prepare(0 1 2)", "complete(+0 1 -0 1 2)")
		w.want(b, "prepare()", "complete(+2 -)")
		if owned(m) != "0@2 1@2" || owned(n) != "2@2" {
			w.Errorf("they own %q and %q", owned(m), owned(n))
		}
	})
}
