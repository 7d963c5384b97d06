package e2e

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"rota/internal/schema"

	"rota/test/rig"
)

// The coordinator of a group of three moves ten times while they consume and
// commit. Nobody rebalances, every record is seen once, and committed offsets
// never go back.
func TestFranzGroupOutlivesCoordinatorMoves(t *testing.T) {
	const partitions, moves, perMove = 6, 10, 60
	b := rig.Start(t)
	ctx := withTimeout(t, 2*time.Minute)
	createTopic(ctx, t, b.Addr, "t", partitions)
	var mu sync.Mutex
	times := map[string]int{}
	see := func(r *kgo.Record) {
		mu.Lock()
		defer mu.Unlock()
		times[string(r.Value)]++
	}
	seen := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(times)
	}
	members := make([]*groupMember, 3)
	for i := range members {
		members[i] = startMember(t, b.Addr, "t", "g", see)
	}
	eventually(ctx, t, "three members share", share(partitions, members...))
	before := places(members)

	p := client(t, b.Addr, kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
	adm := kadm.NewClient(p)
	committed := map[int32]int64{}
	// settled reads the committed offsets, which never go back, and is true
	// when they come to all that was produced.
	settled := func(produced int) func() bool {
		return func() bool {
			offsets, err := adm.FetchOffsets(ctx, "g")
			if err != nil {
				t.Fatal(err)
			}
			sum := int64(0)
			offsets.Each(func(o kadm.OffsetResponse) {
				if o.At < committed[o.Partition] {
					t.Fatalf("the committed offset of partition %d went from %d back to %d", o.Partition, committed[o.Partition], o.At)
				}
				committed[o.Partition] = o.At
				sum += o.At
			})
			return sum == int64(produced)
		}
	}
	at := schema.PartitionOf("g", 50)
	for move := range moves {
		for i := range perMove {
			if i == perMove/2 {
				elected, err := adm.ElectLeaders(ctx, kadm.ElectPreferredReplica, kadm.TopicsSet{"__consumer_offsets": {at: {}}})
				if err != nil {
					t.Fatal(err)
				}
				if r := elected["__consumer_offsets"][at]; r.Err != nil {
					t.Fatalf("move %d: %v", move, r.Err)
				}
			}
			r := &kgo.Record{Topic: "t", Value: fmt.Appendf(nil, "%d-%d", move, i)}
			if err := p.ProduceSync(ctx, r).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
		produced := (move + 1) * perMove
		eventually(ctx, t, "all records are seen", func() bool { return seen() == produced })
		eventually(ctx, t, "all records are committed", settled(produced))
	}
	if diff := cmp.Diff(before, places(members)); diff != "" {
		t.Errorf("members, generations and assignments (-before +after the moves):\n%s", diff)
	}
	for value, n := range times {
		if n != 1 {
			t.Errorf("record %s was seen %d times", value, n)
		}
	}
}

// place is what a member must not lose.
type place struct {
	ID         string
	Generation int32
	Owned      []int32
}

func places(members []*groupMember) []place {
	all := make([]place, len(members))
	for i, m := range members {
		all[i].ID, all[i].Generation = m.cl.GroupMetadata()
		all[i].Owned = m.owned()
	}
	return all
}
