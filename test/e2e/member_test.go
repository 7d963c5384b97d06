package e2e

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kgo"
	"rota/member"
	"rota/rotatest"

	"rota/test/kafka"
	"rota/test/report"
)

// memberClusters are where members meet consumers: a broker of this test, and
// Apache Kafka in the run that compares.
func memberClusters(t *testing.T) map[string]string {
	clusters := map[string]string{"rota": rotatest.Start(t).Addr()}
	if report.Enabled() {
		clusters["kafka"] = kafka.Start(t, "group.initial.rebalance.delay.ms=0").Addr
	}
	return clusters
}

// party is a member of a mixed group, of whatever kind: what it owns, and its
// end.
type party struct {
	name  string
	owned func() []int32
	stop  func()
}

func partyRota(t *testing.T, addr, topic, group string, a member.Assignor) *party {
	t.Helper()
	m, err := member.Start(member.Config{
		Group: group, Work: member.Topics(topic), Assignors: []member.Assignor{a},
		SessionTimeout: 6 * time.Second, HeartbeatInterval: 100 * time.Millisecond,
	}, kgo.SeedBrokers(addr), kgo.ClientID("member"))
	if err != nil {
		t.Fatal(err)
	}
	p := &party{name: "member"}
	p.owned = func() []int32 {
		var own []int32
		for _, o := range m.Owned() {
			own = append(own, o.Shard.Partition)
		}
		return own
	}
	p.stop = sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := m.Close(ctx); err != nil {
			t.Errorf("member: %v", err)
		}
	})
	t.Cleanup(p.stop)
	return p
}

func partyFranz(t *testing.T, addr, topic, group string, balancer kgo.GroupBalancer) *party {
	t.Helper()
	m := startMember(t, addr, topic, group, nil, kgo.Balancers(balancer))
	p := &party{name: "franz-go", owned: m.owned, stop: sync.OnceFunc(func() { m.stop(); <-m.done; m.cl.LeaveGroup(); m.cl.Close() })}
	t.Cleanup(p.stop)
	return p
}

func partySarama(t *testing.T, addr, topic, group string, strategy sarama.BalanceStrategy) *party {
	t.Helper()
	config := saramaConfig(sarama.V2_8_0_0)
	config.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{strategy}
	g, err := sarama.NewConsumerGroup([]string{addr}, group, config)
	if err != nil {
		t.Fatal(err)
	}
	m := &namedMember{topic: topic}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			_ = g.Consume(ctx, []string{topic}, m) // it is called again after a rebalance
		}
	}()
	p := &party{name: "sarama", owned: m.owned}
	p.stop = sync.OnceFunc(func() {
		cancel()
		<-done
		if err := g.Close(); err != nil {
			t.Errorf("sarama: %v", err)
		}
	})
	t.Cleanup(p.stop)
	return p
}

// namedMember is a sarama group member of one topic that does nothing but own.
type namedMember struct {
	topic string
	mu    sync.Mutex
	own   []int32
}

func (m *namedMember) Setup(s sarama.ConsumerGroupSession) error {
	m.set(slices.Clone(s.Claims()[m.topic]))
	return nil
}

func (m *namedMember) Cleanup(sarama.ConsumerGroupSession) error {
	m.set(nil)
	return nil
}

func (m *namedMember) set(own []int32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.own = own
}

func (m *namedMember) owned() []int32 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.own)
}

func (*namedMember) ConsumeClaim(s sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for msg := range claim.Messages() {
		s.MarkMessage(msg, "")
	}
	return nil
}

// shared waits until the parties own every partition once, and each of them
// something.
func shared(t *testing.T, partitions int, parties ...*party) {
	t.Helper()
	limit := time.After(40 * time.Second)
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for {
		var all []int32
		state := ""
		idle := false
		for _, p := range parties {
			own := p.owned()
			idle = idle || len(own) == 0
			all = append(all, own...)
			state += fmt.Sprintf(" %s:%v", p.name, own)
		}
		slices.Sort(all)
		if !idle && len(all) == partitions && len(slices.Compact(slices.Clone(all))) == partitions {
			return
		}
		select {
		case <-poll.C:
		case <-limit:
			t.Fatalf("they do not share %d partitions:%s", partitions, state)
		}
	}
}

func TestMembersAndConsumersShareATopic(t *testing.T) {
	for name, addr := range memberClusters(t) {
		t.Run(name, func(t *testing.T) { mixedGroups(t, addr) })
	}
}

// mixedGroups has one group of a member, franz-go and sarama, with each of them
// as the leader, under every assignor that they have in common.
func mixedGroups(t *testing.T, addr string) {
	const partitions = 9
	ctx := withTimeout(t, 3*time.Minute)
	for _, assignor := range []struct {
		ours   member.Assignor
		franz  kgo.GroupBalancer
		sarama sarama.BalanceStrategy
	}{
		{member.Range(), kgo.RangeBalancer(), sarama.NewBalanceStrategyRange()},
		{member.RoundRobin(), kgo.RoundRobinBalancer(), sarama.NewBalanceStrategyRoundRobin()},
		{member.Sticky(), kgo.StickyBalancer(), sarama.NewBalanceStrategySticky()},
		{member.CooperativeSticky(), kgo.CooperativeStickyBalancer(), nil},
	} {
		name := assignor.ours.Name()
		topic := "shared-" + name
		createTopic(ctx, t, addr, topic, partitions)
		start := []func(group string) *party{
			func(g string) *party { return partyRota(t, addr, topic, g, assignor.ours) },
			func(g string) *party { return partyFranz(t, addr, topic, g, assignor.franz) },
		}
		if assignor.sarama != nil {
			start = append(start, func(g string) *party { return partySarama(t, addr, topic, g, assignor.sarama) })
		}
		for first := range start {
			t.Run(fmt.Sprintf("%s/%d", name, first), func(t *testing.T) {
				group := fmt.Sprintf("%s-%d-%d", name, first, time.Now().UnixNano())
				var all []*party
				for i := range start {
					// The first to come leads; it stays until the end.
					all = append(all, start[(first+i)%len(start)](group))
					shared(t, partitions, all...)
				}
				for len(all) > 1 {
					all[len(all)-1].stop()
					all = all[:len(all)-1]
					shared(t, partitions, all...)
				}
				all[0].stop()
			})
		}
	}
}
