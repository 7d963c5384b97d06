package survey_test

import (
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota"
	"rota/internal/hooks"
	"rota/internal/lag"
	"rota/internal/story"
	"rota/internal/survey"
)

// TestLagOfAGroup looks at what a group that is no more there has left.
func TestLagOfAGroup(t *testing.T) {
	now := time.Now().Truncate(time.Millisecond)
	var rooms hooks.Rooms
	b, err := rota.Start(hooks.With(t.Context(), &hooks.Hooks{Started: func(r hooks.Rooms) { rooms = r }}), rota.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.Addr()), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	create := kmsg.NewPtrCreateTopicsRequest()
	create.Topics = []kmsg.CreateTopicsRequestTopic{{Topic: "t", NumPartitions: 2, ReplicationFactor: 1}}
	created, err := create.RequestWith(t.Context(), cl)
	if err != nil || created.Topics[0].ErrorCode != 0 {
		t.Fatalf("create: %+v, %v", created, err)
	}
	id := created.Topics[0].TopicID
	for i := range 10 { // ten batches, a second apart
		r := &kgo.Record{Topic: "t", Partition: 0, Value: []byte("x"), Timestamp: now.Add(time.Duration(i-10) * time.Second)}
		if err := cl.ProduceSync(t.Context(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	commit := func(offset int64) {
		t.Helper()
		c := kmsg.NewPtrOffsetCommitRequest()
		c.Group, c.Generation = "g", -1
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Offset = offset
		c.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: "t", TopicID: id, Partitions: []kmsg.OffsetCommitRequestTopicPartition{p}}}
		if r, err := c.RequestWith(t.Context(), cl); err != nil || r.Topics[0].Partitions[0].ErrorCode != 0 {
			t.Fatalf("commit: %+v, %v", r, err)
		}
	}
	commit(4)
	m := &survey.LagMeter{Source: &survey.Source{Broker: rooms.Broker, Coordinator: rooms.Coordinator, Now: func() time.Time { return now }}}
	if _, err := m.Group("none"); !errors.Is(err, survey.ErrUnknown) {
		t.Errorf("a group that does not exist: %v", err)
	}
	list, err := m.Group("g")
	if err != nil || len(list) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	l := list[0]
	if l.Records != 6 || l.Time != story.Millis(6*time.Second) || !l.Exact || l.Verdict != lag.Stopped || l.ExpiresMillis <= now.UnixMilli() || l.CommittedMillis == 0 || l.Consumed != nil {
		t.Errorf("%+v", l)
	}
	groups, err := m.Source.Groups(t.Context())
	if err != nil || len(groups) != 1 || groups[0].LagTime != 0 {
		t.Fatalf("%+v, %v", groups, err)
	}
	m.Source.Date(groups)
	if g, err := m.Source.GroupNamed("g"); err != nil || g.LagTime != groups[0].LagTime || g.LagTime != l.Time {
		t.Errorf("%v in the list, %+v, %v", groups[0].LagTime, g, err)
	}
	commit(8)
	now = now.Add(10 * time.Second)
	if list, err = m.Group("g"); err != nil || len(list) != 1 || list[0].Records != 2 || *list[0].Consumed != 0.4 || list[0].CatchUp != story.Millis(5*time.Second) {
		t.Errorf("%+v, %v", list, err)
	}
}
