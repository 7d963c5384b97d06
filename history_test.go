package rota_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota"
	"rota/internal/history"
	"rota/internal/hooks"
	"rota/internal/story"
)

// startWatched starts a broker and returns its history.
func startWatched(t *testing.T, c rota.Config) (*rota.Broker, *history.History) {
	t.Helper()
	var h *history.History
	b, err := rota.Start(hooks.With(t.Context(), &hooks.Hooks{Started: func(r hooks.Rooms) { h = r.History }}), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b, h
}

// withTopic makes topic t with six partitions and returns a client.
func withTopic(t *testing.T, b *rota.Broker) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	create := kmsg.NewPtrCreateTopicsRequest()
	create.Topics = []kmsg.CreateTopicsRequestTopic{{Topic: "t", NumPartitions: 6, ReplicationFactor: 1}}
	if r, err := create.RequestWith(t.Context(), cl); err != nil || r.Topics[0].ErrorCode != 0 {
		t.Fatalf("create: %+v, %v", r, err)
	}
	return cl
}

// consume joins the group as a client of that name and polls until the test
// ends or the client is closed.
func consume(t *testing.T, b *rota.Broker, client string) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.Addr()), kgo.ClientID(client), kgo.ConsumerGroup("g"), kgo.ConsumeTopics("t"),
		kgo.Balancers(kgo.RangeBalancer()), kgo.HeartbeatInterval(100*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	go func() {
		for !cl.PollFetches(t.Context()).IsClientClosed() && t.Context().Err() == nil {
		}
	}()
	return cl
}

// waitFor waits until a rebalance of the group is as wanted, and returns it.
func waitFor(t *testing.T, h *history.History, what string, ok func(*story.Rebalance) bool) story.Rebalance {
	t.Helper()
	changed := make(chan struct{}, 1)
	defer h.Watch(func(*story.Event) {
		select {
		case changed <- struct{}{}:
		default:
		}
	})()
	limit := time.After(20 * time.Second)
	for {
		all := h.Rebalances("g")
		for i := range all {
			if ok(&all[i]) {
				return all[i]
			}
		}
		select {
		case <-changed:
		case <-limit:
			var told []string
			for i := range all {
				told = append(told, all[i].Sentences()...)
			}
			t.Fatalf("no rebalance in which %s:\n%s", what, strings.Join(told, "\n"))
		}
	}
}

// readEvents reads the topic with a plain client until an event is as wanted.
func readEvents(t *testing.T, b *rota.Broker, last func(*story.Event) bool) []story.Event {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.Addr()), kgo.ConsumeTopics(story.Topic))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var events []story.Event
	for {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("after %d events: %v", len(events), err)
		}
		for r := range fetches.RecordsAll() {
			e, err := story.Parse(r.Value)
			if err != nil || string(r.Key) != "g" || e.Group != "g" {
				t.Errorf("record %q: %v", r.Key, err)
			}
			events = append(events, e)
			if last(&e) {
				return events
			}
		}
	}
}

// TestTheStoryOfAGroup follows a group of real clients: what its rebalances say
// in this process, in the topic, and after a restart.
func TestTheStoryOfAGroup(t *testing.T) {
	config := rota.Config{DataDir: t.TempDir()}
	b, h := startWatched(t, config)
	admin := withTopic(t, b)
	consume(t, b, "one")
	first := waitFor(t, h, "one is assigned everything", func(r *story.Rebalance) bool { return r.Ending == story.Installed && r.Members == 1 })
	if !first.Initial || first.Cause != story.CauseMemberJoined || first.Trigger.ClientID != "one" || first.Assignment.Added != 6 || first.Protocol != "range" {
		t.Errorf("%+v", first)
	}
	two := consume(t, b, "two")
	second := waitFor(t, h, "two joins", func(r *story.Rebalance) bool { return r.Ending == story.Installed && r.Members == 2 })
	slowest := second.Slowest()
	if second.Trigger.ClientID != "two" || slowest == nil || slowest.ClientID != "one" || slowest.Outcome != story.OutcomeJoined ||
		second.Assignment.Moved != 3 || *second.Assignment.MovesNotNeeded != 0 || second.Leader.ClientID != "one" {
		t.Errorf("%+v %+v", second, second.Assignment)
	}
	two.Close()
	third := waitFor(t, h, "two left", func(r *story.Rebalance) bool { return r.Cause == story.CauseMemberLeft && r.Ending == story.Installed })
	if third.Trigger.ClientID != "two" || third.Assignment.Orphaned != 3 || third.Members != 1 {
		t.Errorf("%+v %+v", third, third.Assignment)
	}
	installed := func(e *story.Event) bool { return e.Kind == story.AssignmentInstalled && e.Generation == third.To }
	if all := story.Fold(readEvents(t, b, installed)); len(all) != 3 || all[2].Cause != story.CauseMemberLeft || all[2].To != third.To {
		t.Errorf("the topic tells of %d rebalances", len(all))
	}
	checkInternal(t, admin)

	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	b, h = startWatched(t, config)
	if all := h.Rebalances("g"); len(all) < 3 || all[2].Cause != story.CauseMemberLeft || all[2].Trigger.ClientID != "two" {
		t.Errorf("%d rebalances are known after a restart", len(all))
	}
	readEvents(t, b, func(e *story.Event) bool { return e.Kind == story.GroupLoaded })
}

// checkInternal looks at the topic as a client sees it.
func checkInternal(t *testing.T, cl *kgo.Client) {
	t.Helper()
	ask := kmsg.NewPtrMetadataRequest()
	ask.Topics = []kmsg.MetadataRequestTopic{{Topic: kmsg.StringPtr(story.Topic)}}
	r, err := ask.RequestWith(t.Context(), cl)
	if err != nil || r.Topics[0].ErrorCode != 0 || !r.Topics[0].IsInternal || len(r.Topics[0].Partitions) != 1 {
		t.Errorf("metadata: %+v, %v", r, err)
	}
	if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: story.Topic, Value: []byte("x")}).FirstErr(); err == nil {
		t.Error("a client writes into the history")
	}
	alter := kmsg.NewPtrIncrementalAlterConfigsRequest()
	for _, tt := range []struct {
		name, value string
		ok          bool
	}{{"retention.ms", "1000000", true}, {"retention.bytes", "1000000", true}, {"cleanup.policy", "compact", false}} {
		alter.Resources = []kmsg.IncrementalAlterConfigsRequestResource{{
			ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: story.Topic,
			Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: tt.name, Value: &tt.value}},
		}}
		if r, err := alter.RequestWith(t.Context(), cl); err != nil || (r.Resources[0].ErrorCode == 0) != tt.ok {
			t.Errorf("%s=%s: %+v, %v", tt.name, tt.value, r, err)
		}
	}
}

func TestHistoryCanBeSwitchedOff(t *testing.T) {
	b, h := startWatched(t, rota.Config{Properties: map[string]string{"rota.history.enable": "false"}})
	if h != nil {
		t.Fatal("there is a history")
	}
	admin := withTopic(t, b)
	consume(t, b, "one")
	describe := kmsg.NewPtrDescribeGroupsRequest()
	describe.Groups = []string{"g"}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for {
		r, err := describe.RequestWith(ctx, admin)
		if err != nil {
			t.Fatal(err)
		}
		if r.Groups[0].State == "Stable" {
			break
		}
	}
	ask := kmsg.NewPtrMetadataRequest()
	ask.Topics = []kmsg.MetadataRequestTopic{{Topic: kmsg.StringPtr(story.Topic)}}
	if r, err := ask.RequestWith(t.Context(), admin); err != nil || r.Topics[0].ErrorCode != kerr.UnknownTopicOrPartition.Code {
		t.Errorf("metadata: %+v, %v", r, err)
	}
}
