package interop

import (
	"slices"
	"strconv"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"rota/test/rig"
)

// exactlyOnce moves records from topic to topic in transactions, with two
// programs in one group. One is killed and another takes over its transactional
// id, the broker is killed, and now and then a program gives a transaction up:
// every record arrives, and once.
func exactlyOnce(w *world) {
	w = newWorld(w.T, w.client, rig.Start(w.T, settings...), w.name) // the other checks keep their broker
	const partitions = 4
	to := w.name + "-moved"
	w.topic(partitions)
	if r, err := w.admin.CreateTopic(w.ctx, partitions, 1, nil, to); err != nil || r.Err != nil {
		w.Fatal(err, r.Err)
	}
	move := func(id string) *process {
		return w.run("move", "group="+w.name, "to="+to, "id="+w.name+id, "session=3000")
	}
	sent := 0
	fill := func(n int) {
		w.Helper()
		var records []*kgo.Record
		for _, r := range numbered(sent, n, partitions) {
			records = append(records, &kgo.Record{Topic: w.name, Partition: r.Partition, Value: r.Value})
		}
		sent += n
		if err := w.witness.ProduceSync(w.ctx, records...).FirstErr(); err != nil {
			w.Fatal(err)
		}
	}
	fill(400)
	first, second := move("-1"), move("-2")
	w.eventually("the first program and the second have moved records", func() bool {
		if first.moves() == 0 && second.moves() >= sent {
			fill(100) // the second was so early that nothing was left
		}
		return first.moves() > 0 && first.moves()+second.moves() >= 100
	}, first, second)
	first.kill()
	third := move("-1")
	w.eventually("the group has come to the end of that", w.committed(int64(sent)), second, third)
	fill(200)
	w.broker.Restart()
	fill(100)
	w.eventually("the group has come to the end", w.committed(int64(sent)), second, third)
	for _, p := range []*process{second, third} {
		p.say("leave")
		w.eventually("a mover has left", func() bool { return p.count("left") == 1 })
	}
	var want []string
	for i := range sent {
		want = append(want, strconv.Itoa(i))
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, w.movedTo(to)); diff != "" {
		w.Errorf("(-sent +moved):\n%s", diff)
	}
}

// movedTo reads what is committed in a topic, sorted.
func (w *world) movedTo(topic string) []string {
	w.Helper()
	ends, err := w.admin.ListCommittedOffsets(w.ctx, topic)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		w.Fatal(err)
	}
	left := map[int32]int64{}
	ends.Each(func(o kadm.ListedOffset) {
		if o.Offset > 0 {
			left[o.Partition] = o.Offset
		}
	})
	c, err := kgo.NewClient(kgo.SeedBrokers(w.broker.Addr), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(), kgo.FetchMaxWait(time.Second))
	if err != nil {
		w.Fatal(err)
	}
	defer c.Close()
	var values []string
	for len(left) > 0 {
		f := c.PollFetches(w.ctx)
		if err := f.Err(); err != nil {
			w.Fatal(err)
		}
		f.EachRecord(func(r *kgo.Record) {
			if !r.Attrs.IsControl() {
				values = append(values, string(r.Value))
			}
			if r.Offset >= left[r.Partition]-1 {
				delete(left, r.Partition)
			}
		})
	}
	slices.Sort(values)
	return values
}
