package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kgo"
	"rota/internal/story"

	"rota/test/rig"
)

// TestHistoryReadsWhatClientsAssign forms a group of two with each client and
// assignor: the history can read the bytes that they exchange, whoever wrote
// them, and says who has what.
func TestHistoryReadsWhatClientsAssign(t *testing.T) {
	const partitions = 4
	b := rig.Start(t)
	ctx := withTimeout(t, 2*time.Minute)
	createTopic(ctx, t, b.Addr, "t", partitions)
	franz := func(balancer kgo.GroupBalancer) func(string) *party {
		return func(group string) *party { return partyFranz(t, b.Addr, "t", group, balancer) }
	}
	saramas := func(s sarama.BalanceStrategy) func(string) *party {
		return func(group string) *party { return partySarama(t, b.Addr, "t", group, s) }
	}
	groups := map[string]func(group string) *party{
		"franz-range":       franz(kgo.RangeBalancer()),
		"franz-roundrobin":  franz(kgo.RoundRobinBalancer()),
		"franz-sticky":      franz(kgo.StickyBalancer()),
		"franz-cooperative": franz(kgo.CooperativeStickyBalancer()),
		"sarama-range":      saramas(sarama.NewBalanceStrategyRange()),
		"sarama-roundrobin": saramas(sarama.NewBalanceStrategyRoundRobin()),
		"sarama-sticky":     saramas(sarama.NewBalanceStrategySticky()),
	}
	for id, start := range groups {
		shared(t, partitions, start(id), start(id))
	}
	cl := client(t, b.Addr, kgo.ConsumeTopics(story.Topic))
	found := map[string]bool{}
	for len(found) < len(groups) {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("only of %v: %v", found, err)
		}
		for r := range fetches.RecordsAll() {
			e, err := story.Parse(r.Value)
			if err != nil {
				t.Fatalf("%s: %v", r.Value, err)
			}
			a := e.Assignment
			if a == nil {
				continue
			}
			if !a.Decoded {
				t.Errorf("%s: the assignment of %s cannot be read", e.Group, e.Protocol)
			}
			for i := range a.Members {
				m := &a.Members[i]
				if len(m.Subscribed) != 1 || m.Subscribed[0] != "t" || m.Kept+m.GainedN != m.Partitions {
					t.Errorf("%s: %+v", e.Group, m)
				}
			}
			if len(a.Members) == 2 && a.Partitions == partitions && a.Members[0].Partitions == partitions/2 {
				found[e.Group] = true
			}
			if strings.HasSuffix(e.Group, "cooperative") && a.Moved > 0 {
				t.Errorf("%s: a cooperative assignor moves %d partitions at once", e.Group, a.Moved)
			}
		}
	}
}
