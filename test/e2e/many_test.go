package e2e

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"rota/test/rig"
)

// A list of 5,000 groups that have committed to 50,000 partitions is complete.
// It should come within 300 ms; what it took is logged, for other work on the
// machine decides on that too.
func TestGroupListOfThousands(t *testing.T) {
	const topics, each, groups = 100, 500, 5000
	b := rig.Start(t)
	ctx := withTimeout(t, 3*time.Minute)
	cl := client(t, b.Addr, kgo.RequestRetries(3))
	admin := kadm.NewClient(cl)
	for i := range topics {
		createTopic(ctx, t, b.Addr, fmt.Sprintf("t%d", i), each)
	}
	next := make(chan int, groups)
	for i := range groups {
		next <- i
	}
	close(next)
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			for i := range next {
				var o kadm.Offsets
				for p := range int32(topics * each / groups) {
					at := int32(i)*(topics*each/groups) + p
					o.AddOffset(fmt.Sprintf("t%d", at/each), at%each, 0, -1)
				}
				if err := admin.CommitAllOffsets(ctx, fmt.Sprintf("group-%d", i), o); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	best := time.Hour
	for range 3 {
		began := time.Now()
		out, err := exec.CommandContext(ctx, rig.Binary(t), "group", "list", "--json", "--brokers", b.Addr).Output()
		best = min(best, time.Since(began))
		if err != nil {
			t.Fatal(err)
		}
		var list struct {
			Groups []struct {
				Group      string
				Partitions int
				Lag        *int64
			}
		}
		if err := json.Unmarshal(out, &list); err != nil {
			t.Fatal(err)
		}
		if len(list.Groups) != groups {
			t.Fatalf("%d groups are listed", len(list.Groups))
		}
		for _, g := range list.Groups {
			if g.Partitions != topics*each/groups || g.Lag == nil || !strings.HasPrefix(g.Group, "group-") {
				t.Fatalf("listed %+v", g)
			}
		}
	}
	t.Logf("the list of %d groups with %d partitions took %s", groups, topics*each, best)
}
