package metrics_test

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/twmb/franz-go/pkg/kgo"

	"rota"
	"rota/internal/metrics"
)

func start(t *testing.T, properties map[string]string) *rota.Broker {
	t.Helper()
	b, err := rota.Start(t.Context(), rota.Config{Web: "127.0.0.1:0", Properties: properties, Version: "v1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// scrape returns what /metrics says once it says all of want.
func scrape(t *testing.T, b *rota.Broker, want ...string) string {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+b.WebAddr()+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%d %v %s", resp.StatusCode, err, body)
		}
		missing := ""
		for _, line := range want {
			if !strings.Contains(string(body), line+"\n") {
				missing = line
			}
		}
		if missing == "" {
			return string(body)
		}
		if time.Now().After(deadline) {
			t.Fatalf("%q is missing in\n%s", missing, body)
		}
		<-time.After(20 * time.Millisecond)
	}
}

// consume joins a group and waits for an assignment.
func consume(t *testing.T, b *rota.Broker, group string) {
	t.Helper()
	assigned := make(chan struct{}, 16)
	cl, err := kgo.NewClient(
		kgo.SeedBrokers(b.Addr()), kgo.ConsumerGroup(group), kgo.ConsumeTopics("t"), kgo.AllowAutoTopicCreation(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.AutoCommitInterval(100*time.Millisecond),
		kgo.OnPartitionsAssigned(func(context.Context, *kgo.Client, map[string][]int32) { assigned <- struct{}{} }),
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	go func() {
		for !cl.PollFetches(t.Context()).IsClientClosed() && t.Context().Err() == nil {
		}
	}()
	select {
	case <-assigned:
	case <-time.After(20 * time.Second):
		t.Fatal("no assignment")
	}
	if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: "t", Value: []byte("v")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// Everything that is documented is there, everything that is there is
// documented, and Prometheus's own linter has nothing to say.
func TestScrape(t *testing.T) {
	b := start(t, nil)
	const id = "a \"group\"\n\x1b with \xff"
	consume(t, b, id)
	label := `a \"group\"\\n\\x1b with \\xff`
	body := scrape(t, b,
		`rota_build_info{version="v1"} 1`, `rota_ready 1`, `rota_coordinator_shards{state="active"} 50`,
		`rota_groups{state="Stable"} 1`, `rota_groups_not_exported 0`,
		`rota_group_state{group="`+label+`",state="Stable"} 1`, `rota_group_members{group="`+label+`"} 1`, `rota_group_lag_records{group="`+label+`"} 0`, `rota_group_lag_seconds{group="`+label+`"} 0`,
		`rota_group_rebalances_total{cause="member-joined",group="`+label+`"} 1`, `rota_rebalances_total{cause="member-joined"} 1`,
		`rota_rebalance_phase_duration_seconds_count{phase="sync"} 1`, `rota_wire_request_duration_seconds_count{api="JoinGroup"} 2`,
	)
	found := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (rota_\S+)`).FindAllStringSubmatch(body, -1) {
		found[m[1]] = true
	}
	conditional := []string{"rota_storage_free_bytes"} // not in memory
	for name := range maps.Keys(metrics.Names()) {
		if !found[name] && !slices.Contains(conditional, name) {
			t.Errorf("%s is documented and not there", name)
		}
	}
	for name := range found {
		if !metrics.Names()[name] {
			t.Errorf("%s is there and not documented", name)
		}
	}
	problems, err := promlint.New(bytes.NewReader([]byte(body))).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "rota_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}

// The metrics of single groups are bounded, and can be switched off.
func TestGroupsAreBounded(t *testing.T) {
	for most, want := range map[string]string{"1": "rota_groups_not_exported 1", "0": "rota_groups_not_exported 2"} {
		b := start(t, map[string]string{"rota.metrics.groups.max": most})
		consume(t, b, "one")
		consume(t, b, "two")
		body := scrape(t, b, want, `rota_groups{state="Stable"} 2`)
		if got := strings.Contains(body, `group="one"`); got != (most == "1") || strings.Contains(body, `group="two"`) {
			t.Errorf("at most %s groups: %s", most, body)
		}
	}
}
