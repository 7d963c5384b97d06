package interop

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"rota/test/report"
	"rota/test/rig"
)

// settings of the broker: short sessions, and a first rebalance that does not
// wait long for more members.
var settings = []string{"group.min.session.timeout.ms=1000", "group.initial.rebalance.delay.ms=200"}

// checks runs every check that the client has the means for.
func (c *client) checks(t *testing.T) {
	b := rig.Start(t, settings...)
	run := func(name, lacking string, f func(*world)) {
		report.Check(t, c.name, c.version, name, func(t *report.T) {
			if lacking != "" {
				t.Skip(lacking)
			}
			f(newWorld(t, c, b, strings.ReplaceAll(name, " ", "-")))
		})
	}
	run("create topic", c.noAdmin, create)
	for _, codec := range codecNames {
		run("codec "+codec, c.noCodec[codec], func(w *world) { roundTrip(w, codec) })
	}
	run("group of three", "", group)
	run("static membership", c.noStatic, static)
	run("cooperative", c.noCooperative, cooperative)
	run("group with rota member", c.noMember, mixed)
	run("cooperative group with rota member", c.noCooperative, mixedCooperative)
	run("broker killed", c.noRestart, brokerKilled)
	if c.moves {
		run("exactly once", c.noRestart, exactlyOnce)
	}
	if c.stalls {
		run("poll interval exceeded", "", pollIntervalExceeded)
	}
	if c.consumerProtocol {
		run("new group protocol is refused", "", refused)
	}
}

// create makes a topic with the client's own admin.
func create(w *world) {
	p := w.run("create", "partitions=5")
	<-p.done
	if p.err != nil {
		w.Fatal(p.problem())
	}
	topics, err := w.admin.ListTopics(w.ctx, w.name)
	if err != nil {
		w.Fatal(err)
	}
	if got := len(topics[w.name].Partitions); got != 5 {
		w.Errorf("the topic has %d partitions", got)
	}
}

var codecNames = []string{"none", "gzip", "snappy", "lz4", "zstd"}

var codecs = map[string]kgo.CompressionCodec{
	"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
	"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
}

// roundTrip sends records with the client, and others with the Go client, and
// reads all of them with both.
func roundTrip(w *world, codec string) {
	w.topic(1)
	var want []Record
	for i := range 200 {
		r := Record{
			Key: fmt.Appendf(nil, "key-%d", i), Value: bytes.Repeat([]byte{byte(i), 0xff, 0}, i+1),
			Headers: []Header{{"h", []byte{0, 1, byte(i)}}, {"h", []byte("again")}},
		}
		switch {
		case i%7 == 0:
			r.Key, r.Headers = nil, nil
		case i%11 == 0:
			r.Value = nil // a tombstone
		case i%13 == 0:
			r.Key, r.Value = []byte{}, []byte{}
		}
		want = append(want, r)
	}
	p := w.run("produce", "codec="+codec)
	p.send(want...)
	w.sent(p, len(want))

	same := cmp.Options{cmpopts.IgnoreFields(Record{}, "Offset"), cmpopts.EquateEmpty()}
	got, used := w.fetch(len(want))
	if diff := firstDifference(want, got, same); diff != "" {
		w.Errorf("as the Go client reads what the client sent: %s", diff)
	}
	if id := uint8(slices.Index(codecNames, codec)); !used[id] || len(used) != 1 {
		w.Errorf("the batches have codecs %v, want %d", used, id)
	}

	var more []*kgo.Record
	for i := range 50 {
		r := &kgo.Record{Topic: w.name, Key: fmt.Appendf(nil, "go-%d", i), Value: bytes.Repeat([]byte{byte(i)}, 100)}
		more = append(more, r)
		want = append(want, recordOf(r))
	}
	goClient, err := kgo.NewClient(kgo.SeedBrokers(w.broker.Addr), kgo.ProducerBatchCompression(codecs[codec]))
	if err != nil {
		w.Fatal(err)
	}
	defer goClient.Close()
	if err := goClient.ProduceSync(w.ctx, more...).FirstErr(); err != nil {
		w.Fatal(err)
	}
	m := w.member()
	w.eventually("all records are read", func() bool { return len(m.consumed()) >= len(want) }, m)
	if diff := firstDifference(want, m.consumed(), same); diff != "" {
		w.Errorf("as the client reads: %s", diff)
	}
}

// firstDifference compares record by record.
func firstDifference(want, got []Record, same cmp.Options) string {
	if len(want) != len(got) {
		return fmt.Sprintf("%d records, want %d", len(got), len(want))
	}
	for i := range want {
		if got[i].Offset != int64(i) {
			return fmt.Sprintf("record %d has offset %d", i, got[i].Offset)
		}
		if diff := cmp.Diff(want[i], got[i], same); diff != "" {
			return fmt.Sprintf("record %d (-sent +read): %s", i, diff)
		}
	}
	return ""
}

// group rebalances three members: one joins, one leaves, one is killed.
func group(w *world) {
	w.topic(6)
	options := []string{"session=3000", "commit=auto"}
	m1, m2 := w.member(options...), w.member(options...)
	w.eventually("two members share", share(6, m1, m2), m1, m2)
	m3 := w.member(options...)
	w.eventually("three members share after a join", share(6, m1, m2, m3), m1, m2, m3)
	w.told(m1, m2, m3)

	p := w.run("produce")
	p.send(numbered(0, 60, 6)...)
	w.sent(p, 60)
	w.eventually("60 records are read", saw(60, m1, m2, m3), m1, m2, m3)

	m3.say("leave")
	w.eventually("the member has left", func() bool { return m3.count("left") == 1 })
	w.eventually("two members share after a leave", share(6, m1, m2), m1, m2)
	m2.kill()
	w.eventually("the survivor of a kill owns everything", share(6, m1), m1)
	w.eventually("all is committed", func() bool {
		m1.commit()
		return w.committed(60)()
	}, m1)
}

// static kills a static member and starts it again before its session ends.
func static(w *world) {
	w.topic(4)
	m1, m2 := w.member("instance=one"), w.member("instance=two")
	w.eventually("two members share", share(4, m1, m2), m1, m2)
	owned, before := m2.owning(), len(m1.history())
	m2.kill()
	again := w.member("instance=two")
	w.eventually("the instance is back", func() bool { return len(again.owning()) > 0 }, m1, again)
	if diff := cmp.Diff(owned, again.owning()); diff != "" {
		w.Errorf("its assignment before and after (-before +after):\n%s", diff)
	}
	if h := m1.history(); len(h) != before {
		w.Errorf("the other member saw a rebalance: it owned %v", h)
	}
}

// cooperative lets a member join: the others go on with what they keep.
func cooperative(w *world) {
	w.topic(6)
	m1 := w.member("assignor=cooperative")
	w.eventually("one member owns everything", share(6, m1), m1)
	m2 := w.member("assignor=cooperative")
	w.eventually("two members share", share(6, m1, m2), m1, m2)
	before := []int{len(m1.history()), len(m2.history())}
	m3 := w.member("assignor=cooperative")
	w.eventually("three members share after a join", share(6, m1, m2, m3), m1, m2, m3)
	w.told(m1, m2, m3)
	for i, m := range []*process{m1, m2} {
		kept := m.owning()
		for _, state := range m.history()[before[i]-1:] {
			for _, partition := range kept {
				if !slices.Contains(state, partition) {
					w.Errorf("member %d kept %v, and yet it owned %v in between", i+1, kept, m.history())
				}
			}
		}
	}
}

// brokerKilled kills the broker while a producer and a group are at work. The
// group goes on, and later one resumes where it had committed.
func brokerKilled(w *world) {
	w = newWorld(w.T, w.client, rig.Start(w.T, settings...), w.name) // the other checks keep their broker
	w.topic(6)
	m1, m2, m3 := w.member("commit=auto"), w.member("commit=auto"), w.member("commit=auto")
	w.eventually("three members share", share(6, m1, m2, m3), m1, m2, m3)
	p := w.run("produce")
	p.send(numbered(0, 60, 6)...)
	w.sent(p, 60)
	p.send(numbered(60, 60, 6)...)
	w.broker.Restart()
	p.send(numbered(120, 60, 6)...)
	w.sent(p, 180)
	w.eventually("180 records are read", saw(180, m1, m2, m3), m1, m2, m3)

	w.eventually("all is committed", func() bool {
		for _, m := range []*process{m1, m2, m3} {
			m.commit()
		}
		end, err := w.admin.ListEndOffsets(w.ctx, w.name)
		if err != nil {
			return false
		}
		var sum int64
		end.Each(func(o kadm.ListedOffset) { sum += o.Offset })
		return w.committed(sum)()
	}, m1, m2, m3)
	for _, m := range []*process{m1, m2, m3} {
		m.say("leave")
	}
	w.eventually("all have left", func() bool { return m1.count("left")+m2.count("left")+m3.count("left") == 3 })
	w.broker.Restart()
	p.send(numbered(1000, 12, 6)...)
	w.sent(p, 192)
	later := w.member()
	w.eventually("the later records are read", saw(12, later), later)
	for _, r := range later.consumed() {
		if len(r.Value) != 4 {
			w.Errorf("read again: %s", r.Value)
		}
	}
}

// refused wants a client that asks for the consumer group protocol to be told
// plainly.
func refused(w *world) {
	w.topic(1)
	m := w.member("protocol=consumer")
	select {
	case <-m.done:
	case <-w.ctx.Done():
		w.fail("the client goes on", []*process{m})
	}
	if said := strings.ToLower(strings.ReplaceAll(m.failed, "_", "")); m.err == nil || !strings.Contains(said, "unsupportedversion") {
		w.Errorf("ended with %v: %s", m.err, m.failed)
	}
}
