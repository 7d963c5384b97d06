package interop

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"rota/test/report"
	"rota/test/rig"
)

// limit is how long one check of a client may take.
const limit = 2 * time.Minute

// world is a client under test and the broker it is tested with. The Go client
// beside it looks at what the client did.
type world struct {
	*report.T
	ctx     context.Context
	client  *client
	broker  *rig.Broker
	witness *kgo.Client
	admin   *kadm.Client
	name    string // of the topic and the group: the check's own
	running []*process
}

func newWorld(t *report.T, c *client, b *rig.Broker, name string) *world {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	witness, err := kgo.NewClient(kgo.SeedBrokers(b.Addr), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.RetryTimeout(30*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, ctx: ctx, client: c, broker: b, witness: witness, admin: kadm.NewClient(witness), name: name}
	t.Cleanup(func() {
		for _, p := range w.running {
			p.kill()
		}
		witness.Close()
		cancel()
	})
	return w
}

// topic creates the check's topic.
func (w *world) topic(partitions int32) {
	w.Helper()
	r, err := w.admin.CreateTopic(w.ctx, partitions, 1, nil, w.name)
	if err == nil {
		err = r.Err
	}
	if err != nil {
		w.Fatal(err)
	}
}

// run starts the program with the broker, the topic and the group of the check.
func (w *world) run(command string, options ...string) *process {
	w.Helper()
	args := append([]string{command, "brokers=" + w.broker.Addr, "topic=" + w.name}, options...)
	p, err := start(w.client.argv, w.client.env, args...)
	if err != nil {
		w.Fatal(err)
	}
	w.running = append(w.running, p)
	return p
}

func (w *world) member(options ...string) *process {
	w.Helper()
	return w.run("consume", append([]string{"group=" + w.name}, options...)...)
}

// eventually waits until ok, which looks at what the programs have said.
func (w *world) eventually(what string, ok func() bool, programs ...*process) {
	w.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-w.ctx.Done():
			w.fail("never: "+what, programs)
		case <-tick.C:
		}
		for _, p := range programs {
			select {
			case <-p.done:
				if !ok() {
					w.fail("a program ended before: "+what, programs)
				}
			default:
			}
		}
	}
}

func (w *world) fail(what string, programs []*process) {
	w.Helper()
	for i, p := range programs {
		what += fmt.Sprintf("\nprogram %d owns %v (history %v), %d records, %s", i+1, p.owning(), p.history(), len(p.consumed()), p.problem())
	}
	w.Fatalf("%s\nbroker:\n%s", what, lastLines(w.broker.Log(), 15))
}

func lastLines(text string, n int) string {
	lines := bytes.Split([]byte(text), []byte("\n"))
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return string(bytes.Join(lines, []byte("\n")))
}

// share is true when the members own all partitions, each once, none empty-handed.
func share(partitions int, members ...*process) func() bool {
	return func() bool {
		var all []int32
		for _, m := range members {
			own := m.owning()
			if len(own) == 0 {
				return false
			}
			all = append(all, own...)
		}
		slices.Sort(all)
		return len(all) == partitions && len(slices.Compact(all)) == partitions
	}
}

// sent waits until the producer has n acknowledgements.
func (w *world) sent(p *process, n int) {
	w.Helper()
	w.eventually(fmt.Sprintf("%d records are acknowledged", n), func() bool { return p.acks() >= n }, p)
}

// saw is true when the members have together read n different values.
func saw(n int, members ...*process) func() bool {
	return func() bool {
		seen := map[string]bool{}
		for _, m := range members {
			for _, r := range m.consumed() {
				seen[string(r.Value)] = true
			}
		}
		return len(seen) == n
	}
}

// numbered is n records with values of their own, from a number on, over the
// partitions.
func numbered(from, n, partitions int) []Record {
	var all []Record
	for i := range n {
		all = append(all, Record{Partition: int32(i % partitions), Value: fmt.Appendf(nil, "%d", from+i)})
	}
	return all
}

// committed is true when the group has committed n offsets in all.
func (w *world) committed(n int64) func() bool {
	return func() bool {
		offsets, err := w.admin.FetchOffsets(w.ctx, w.name)
		if err != nil {
			return false
		}
		var sum int64
		offsets.Each(func(o kadm.OffsetResponse) { sum += max(o.At, 0) })
		return sum == n
	}
}

// fetch reads n records of partition 0 from the start, with the codecs of their
// batches.
func (w *world) fetch(n int) (records []Record, codecs map[uint8]bool) {
	w.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(w.broker.Addr), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{
		w.name: {0: kgo.NewOffset().AtStart()},
	}))
	if err != nil {
		w.Fatal(err)
	}
	defer c.Close()
	codecs = map[uint8]bool{}
	for len(records) < n {
		f := c.PollFetches(w.ctx)
		if err := f.Err(); err != nil {
			w.Fatal(err)
		}
		f.EachRecord(func(r *kgo.Record) {
			codecs[r.Attrs.CompressionType()] = true
			records = append(records, recordOf(r))
		})
	}
	return records, codecs
}

func recordOf(r *kgo.Record) Record {
	out := Record{Partition: r.Partition, Offset: r.Offset, Key: r.Key, Value: r.Value}
	for _, h := range r.Headers {
		out.Headers = append(out.Headers, Header{Name: h.Key, Value: h.Value})
	}
	return out
}
