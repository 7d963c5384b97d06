package metrics

import (
	"fmt"
	"io"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"rota/internal/meter"
)

// metric is one name with its meaning.
type metric struct {
	name   string
	kind   kind
	help   string
	labels []string
}

type kind int

const (
	gauge kind = iota
	counter
	histogram
)

var kindNames = [...]string{gauge: "gauge", counter: "counter", histogram: "histogram"}

// The metrics, as docs/METRICS.md lists them.
var (
	buildInfo = metric{"rota_build_info", gauge, "1, with the version as label.", []string{"version"}}
	ready     = metric{"rota_ready", gauge, "1 if every shard of groups is loaded, or failed to.", nil}

	connections     = metric{"rota_wire_connections", gauge, "Open client connections.", nil}
	accepted        = metric{"rota_wire_connections_accepted_total", counter, "Client connections that were served.", nil}
	refused         = metric{"rota_wire_connections_refused_total", counter, "Client connections that were closed at once because there were too many.", nil}
	received        = metric{"rota_wire_received_bytes_total", counter, "Bytes that clients sent.", nil}
	sent            = metric{"rota_wire_sent_bytes_total", counter, "Bytes that clients were sent.", nil}
	unanswered      = metric{"rota_wire_requests_open", gauge, "Requests that wait for their answer: long polls, parked joins, appends under way.", nil}
	requestDuration = metric{"rota_wire_request_duration_seconds", histogram, "From the arrival of a request until its reply was written, with what it waited for.", []string{"api"}}
	budget          = metric{"rota_wire_budget_bytes", gauge, "Memory that requests and replies have taken of their budgets.", []string{"budget"}}
	waiting         = metric{"rota_wire_budget_waiting", gauge, "Requests that are not read until there is room in a budget.", []string{"budget"}}

	flushDuration = metric{"rota_storage_flush_duration_seconds", histogram, "How long flushes of the journal took until they were durable.", nil}
	flushSize     = metric{"rota_storage_flush_size_bytes", histogram, "How large flushes of the journal were.", nil}
	flushFailed   = metric{"rota_storage_flush_failures_total", counter, "Flushes of the journal that failed.", nil}
	journalBytes  = metric{"rota_storage_journal_bytes", gauge, "Size of the journal, which a restart has to read.", nil}
	tailBytes     = metric{"rota_storage_tail_bytes", gauge, "Fresh batches in memory.", nil}
	logBytes      = metric{"rota_storage_log_bytes", gauge, "Size of all partitions.", nil}
	freeBytes     = metric{"rota_storage_free_bytes", gauge, "Free space where the data lies; absent if that has no bound.", nil}
	topics        = metric{"rota_storage_topics", gauge, "Topics.", nil}
	partitions    = metric{"rota_storage_partitions", gauge, "Partitions.", nil}
	damaged       = metric{"rota_storage_damaged_partitions", gauge, "Partitions that are not served because their data is damaged.", nil}

	shardState = metric{"rota_coordinator_shards", gauge, "Shards of groups by state.", []string{"state"}}
	shardQueue = metric{"rota_coordinator_shard_queue_depth", gauge, "Inputs that wait for the next turn of a shard.", []string{"partition"}}
	shardOpen  = metric{"rota_coordinator_shard_requests_open", gauge, "Requests that a shard has not answered, parked ones among them.", []string{"partition"}}
	shardLoad  = metric{"rota_coordinator_shard_load_seconds", gauge, "How long the last load of a shard took.", []string{"partition"}}

	rebalances   = metric{"rota_rebalances_total", counter, "Rebalances that began, by cause.", []string{"cause"}}
	phaseTime    = metric{"rota_rebalance_phase_duration_seconds", histogram, "How long the phases of rebalances took: join, until all members were in; sync, until the leader's assignment was.", []string{"phase"}}
	expired      = metric{"rota_members_expired_total", counter, "Members that were silent for longer than their session.", nil}
	dropped      = metric{"rota_members_dropped_total", counter, "Members that missed the deadline to join again or to sync.", nil}
	refusedTotal = metric{"rota_commits_refused_total", counter, "Commits that came from no member, or of another generation.", nil}
	offsetsGone  = metric{"rota_offsets_expired_total", counter, "Committed offsets that were past their retention.", nil}
	historyLost  = metric{"rota_history_dropped_total", counter, "Events that are not in the history of groups because there were too many at a time.", nil}

	groupsByState   = metric{"rota_groups", gauge, "Consumer groups by state.", []string{"state"}}
	groupsNotShown  = metric{"rota_groups_not_exported", gauge, "Groups that have no metrics of their own because of rota.metrics.groups.max.", nil}
	groupState      = metric{"rota_group_state", gauge, "1 for the state that a group is in.", []string{"group", "state"}}
	groupMembers    = metric{"rota_group_members", gauge, "Members of a group.", []string{"group"}}
	groupRebalances = metric{"rota_group_rebalances_total", counter, "Rebalances of a group that began, by cause.", []string{"group", "cause"}}
	groupPhase      = metric{"rota_group_rebalance_phase_duration_seconds", histogram, "How long the phases of a group's rebalances took.", []string{"group", "phase"}}
	groupExpired    = metric{"rota_group_members_expired_total", counter, "Members of a group that were silent for longer than their session.", []string{"group"}}
	groupDropped    = metric{"rota_group_members_dropped_total", counter, "Members of a group that missed a deadline.", []string{"group"}}
	groupRefused    = metric{"rota_group_commits_refused_total", counter, "Commits to a group that were refused.", []string{"group"}}
	groupLagTime    = metric{"rota_group_lag_seconds", gauge, "Age of the oldest record that a group has not consumed, 0 if it has consumed all; absent if it cannot be read.", []string{"group"}}
	groupLag        = metric{"rota_group_lag_records", gauge, "Records behind the committed offsets of a group.", []string{"group"}}
)

// all lists the metrics in the order of the page.
func all() []metric {
	return []metric{
		buildInfo, ready,
		connections, accepted, refused, received, sent, unanswered, requestDuration, budget, waiting,
		flushDuration, flushSize, flushFailed, journalBytes, tailBytes, logBytes, freeBytes, topics, partitions, damaged,
		shardState, shardQueue, shardOpen, shardLoad,
		rebalances, phaseTime, expired, dropped, refusedTotal, offsetsGone, historyLost,
		groupsByState, groupsNotShown, groupState, groupMembers, groupLag, groupLagTime,
		groupRebalances, groupPhase, groupExpired, groupDropped, groupRefused,
	}
}

// sink takes metrics.
type sink struct{ out chan<- prometheus.Metric }

func (m metric) desc() *prometheus.Desc { return prometheus.NewDesc(m.name, m.help, m.labels, nil) }

// put sends one value.
func (s sink) put(m metric, value float64, labels ...string) {
	t := prometheus.GaugeValue
	if m.kind == counter {
		t = prometheus.CounterValue
	}
	s.out <- prometheus.MustNewConstMetric(m.desc(), t, value, labels...)
}

// several sends values of one metric, which share its description.
func (s sink) several(m metric) func(value float64, labels ...string) {
	d, t := m.desc(), prometheus.GaugeValue
	if m.kind == counter {
		t = prometheus.CounterValue
	}
	return func(value float64, labels ...string) {
		s.out <- prometheus.MustNewConstMetric(d, t, value, labels...)
	}
}

// buckets sends a meter with every bound of it, coarse one with every fourth:
// from 256 us up by sixteen, for what there may be a thousand of.
func (s sink) buckets(m metric, r meter.Reading, labels ...string) { s.bounds(m, r, 1, labels...) }

func (s sink) coarse(m metric, r meter.Reading, labels ...string) { s.bounds(m, r, 4, labels...) }

func (s sink) bounds(m metric, r meter.Reading, every int, labels ...string) {
	bounds := make(map[float64]uint64, meter.Buckets)
	n := uint64(0)
	for i := range meter.Buckets - 1 {
		n += r.Hits[i]
		if i%every == 0 {
			bounds[r.Bound(i)] = n
		}
	}
	s.out <- prometheus.MustNewConstHistogram(m.desc(), r.Count, r.Sum, bounds, labels...)
}

// WriteDoc writes docs/METRICS.md.
func WriteDoc(w io.Writer) error {
	var b strings.Builder
	b.WriteString(docHead)
	for _, m := range all() {
		labels := ""
		if len(m.labels) > 0 {
			labels = "`" + strings.Join(m.labels, "`, `") + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", m.name, kindNames[m.kind], labels, m.help)
	}
	b.WriteString(docFoot)
	_, err := io.WriteString(w, b.String())
	return err
}

const docHead = `# Metrics

This page is generated from the table that the broker uses; do not edit it.

` + "`GET /metrics`" + ` on the address of ` + "`--web`" + ` answers in the text format of Prometheus. Values are read when they are asked for; between two
scrapes metrics cost nothing. Metrics of single groups are bounded by the setting ` + "`rota.metrics.groups.max`" + `: the groups that come
first by id have them, ` + "`rota_groups_not_exported`" + ` says how many have not, and 0 turns them off. Client ids and member ids are never labels.

` + "`deploy/`" + ` has alert rules and a Grafana dashboard.

| Metric | Kind | Labels | |
|---|---|---|---|
`

const docFoot = `
Beside these there are the usual ` + "`go_*` and `process_*`" + ` metrics. Histograms have buckets that double, from 16 us and from 64 bytes; those of single
groups have every fourth of them.

| Probe | Answers 200 |
|---|---|
| ` + "`/livez`" + ` | while the broker serves: not when its disk has failed so that acknowledged records may not survive |
| ` + "`/readyz`" + ` | when every shard of groups is loaded, and while the broker is not stopping |
`
