package api_test

import (
	"bytes"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/broker"
	"rota/internal/catalog"
	"rota/internal/storage"
)

// describedConfigs asks for the settings of one resource, with everything that
// can be asked for.
func describedConfigs(c *client, version int16, kind kmsg.ConfigResourceType, name string, names ...string) kmsg.DescribeConfigsResponseResource {
	c.Helper()
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.IncludeSynonyms, req.IncludeDocumentation = true, true
	req.Resources = []kmsg.DescribeConfigsRequestResource{{ResourceType: kind, ResourceName: name, ConfigNames: names}}
	resp := ask[*kmsg.DescribeConfigsResponse](c, version, req)
	if len(resp.Resources) != 1 || resp.Resources[0].ResourceName != name || resp.Resources[0].ResourceType != kind {
		c.Fatalf("described %+v", resp.Resources)
	}
	return resp.Resources[0]
}

// setting returns one setting of a resource.
func setting(c *client, kind kmsg.ConfigResourceType, name, key string) kmsg.DescribeConfigsResponseResourceConfig {
	c.Helper()
	r := describedConfigs(c, 4, kind, name, key)
	if r.ErrorCode != 0 || len(r.Configs) != 1 {
		c.Fatalf("described %+v", r)
	}
	return r.Configs[0]
}

const (
	onTopic  = kmsg.ConfigResourceTypeTopic
	onBroker = kmsg.ConfigResourceTypeBroker
)

// op is one change of an IncrementalAlterConfigs request.
type op struct {
	kind  kmsg.IncrementalAlterConfigOp
	name  string
	value *string
}

func set(name, value string) op { return op{kmsg.IncrementalAlterConfigOpSet, name, &value} }

func unset(name string) op { return op{kmsg.IncrementalAlterConfigOpDelete, name, nil} }

func alterRequest(kind kmsg.ConfigResourceType, name string, ops ...op) *kmsg.IncrementalAlterConfigsRequest {
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	r := kmsg.IncrementalAlterConfigsRequestResource{ResourceType: kind, ResourceName: name}
	for _, o := range ops {
		r.Configs = append(r.Configs, kmsg.IncrementalAlterConfigsRequestResourceConfig{Name: o.name, Op: o.kind, Value: o.value})
	}
	req.Resources = append(req.Resources, r)
	return req
}

// alter changes settings of one resource and returns the error.
func alter(c *client, version int16, req *kmsg.IncrementalAlterConfigsRequest) int16 {
	c.Helper()
	resp := ask[*kmsg.IncrementalAlterConfigsResponse](c, version, req)
	if len(resp.Resources) != 1 || (resp.Resources[0].ErrorCode == 0) != (resp.Resources[0].ErrorMessage == nil) {
		c.Fatalf("altered %+v", resp.Resources)
	}
	return resp.Resources[0].ErrorCode
}

// must changes settings that can be changed.
func mustAlter(c *client, kind kmsg.ConfigResourceType, name string, ops ...op) {
	c.Helper()
	resp := ask[*kmsg.IncrementalAlterConfigsResponse](c, 1, alterRequest(kind, name, ops...))
	if r := resp.Resources[0]; r.ErrorCode != 0 {
		c.Fatalf("alter: error %d, %s", r.ErrorCode, *r.ErrorMessage)
	}
}

func synonym(name, value string, source kmsg.ConfigSource) kmsg.DescribeConfigsResponseResourceConfigConfigSynonym {
	return kmsg.DescribeConfigsResponseResourceConfigConfigSynonym{Name: name, Value: &value, Source: source}
}

func TestDescribeConfigsOfATopicInEveryVersion(t *testing.T) {
	inBubble(t, map[string]string{"log.retention.hours": "24"}, func(r *rig) {
		c := r.client("c")
		c.created(newTopic("t", 1, 1, "segment.bytes", "5000000"))
		segment, _ := catalog.TopicKeyNamed("segment.bytes")
		retention, _ := catalog.TopicKeyNamed("retention.ms")
		compaction, _ := catalog.TopicKeyNamed("preallocate")
		want := kmsg.DescribeConfigsResponseResource{ResourceType: onTopic, ResourceName: "t", Configs: []kmsg.DescribeConfigsResponseResourceConfig{
			{
				Name: "preallocate", Value: new("false"), IsDefault: true, Source: kmsg.ConfigSourceDefaultConfig,
				ConfigType: kmsg.ConfigTypeBoolean, Documentation: &compaction.Doc,
				ConfigSynonyms: []kmsg.DescribeConfigsResponseResourceConfigConfigSynonym{
					synonym("preallocate", "false", kmsg.ConfigSourceDefaultConfig),
				},
			},
			{
				Name: "retention.ms", Value: new("86400000"), Source: kmsg.ConfigSourceStaticBrokerConfig,
				ConfigType: kmsg.ConfigTypeLong, Documentation: &retention.Doc,
				ConfigSynonyms: []kmsg.DescribeConfigsResponseResourceConfigConfigSynonym{
					synonym("log.retention.hours", "24", kmsg.ConfigSourceStaticBrokerConfig),
					synonym("log.retention.hours", "168", kmsg.ConfigSourceDefaultConfig),
				},
			},
			{
				Name: "segment.bytes", Value: new("5000000"), Source: kmsg.ConfigSourceDynamicTopicConfig,
				ConfigType: kmsg.ConfigTypeInt, Documentation: &segment.Doc,
				ConfigSynonyms: []kmsg.DescribeConfigsResponseResourceConfigConfigSynonym{
					synonym("segment.bytes", "5000000", kmsg.ConfigSourceDynamicTopicConfig),
					synonym("log.segment.bytes", "1073741824", kmsg.ConfigSourceDefaultConfig),
				},
			},
		}}
		eachVersion(r, kmsg.DescribeConfigs, func(v int16) {
			if v < 4 { // IsDefault is for v0 alone
				want.Configs[0].IsDefault = false
			}
			got := describedConfigs(c, v, onTopic, "t", "segment.bytes", "retention.ms", "preallocate", "no.such.setting")
			equal(t, &kmsg.DescribeConfigsResponse{Version: v, Resources: []kmsg.DescribeConfigsResponseResource{got}},
				&kmsg.DescribeConfigsResponse{Resources: []kmsg.DescribeConfigsResponseResource{want}})

			all := describedConfigs(c, v, onTopic, "t")
			if len(all.Configs) != len(catalog.TopicKeys()) {
				t.Errorf("v%d: %d settings, want %d", v, len(all.Configs), len(catalog.TopicKeys()))
			}
		})
		// Null asks for all, an empty list for none; what is not asked for stays away.
		req := kmsg.NewPtrDescribeConfigsRequest()
		req.Resources = []kmsg.DescribeConfigsRequestResource{
			{ResourceType: onTopic, ResourceName: "t", ConfigNames: []string{}},
			{ResourceType: onTopic, ResourceName: "t", ConfigNames: []string{"segment.bytes"}},
		}
		resp := ask[*kmsg.DescribeConfigsResponse](c, 4, req)
		if got := resp.Resources[0].Configs; len(got) != 0 {
			t.Errorf("an empty list of names: %d settings", len(got))
		}
		if got := resp.Resources[1].Configs[0]; len(got.ConfigSynonyms) != 0 || got.Documentation != nil {
			t.Errorf("synonyms or documentation that were not asked for: %+v", got)
		}
	})
}

func TestDescribeConfigsOfTheBroker(t *testing.T) {
	inBubble(t, map[string]string{"group.max.size": "50"}, func(r *rig) {
		c := r.client("c")
		own := describedConfigs(c, 4, onBroker, "1")
		if len(own.Configs) != len(broker.Properties()) {
			t.Errorf("%d settings, want %d", len(own.Configs), len(broker.Properties()))
		}
		size := setting(c, onBroker, "1", "group.max.size")
		if *size.Value != "50" || size.Source != kmsg.ConfigSourceStaticBrokerConfig || size.ReadOnly || size.ConfigType != kmsg.ConfigTypeInt {
			t.Errorf("group.max.size: %+v", size)
		}
		if node := setting(c, onBroker, "1", "node.id"); !node.ReadOnly || *node.Value != "1" || node.Source != kmsg.ConfigSourceDefaultConfig {
			t.Errorf("node.id: %+v", node)
		}
		if minutes := setting(c, onBroker, "1", "log.retention.minutes"); minutes.Value != nil {
			t.Errorf("log.retention.minutes has the value %s", *minutes.Value)
		}
		if all := describedConfigs(c, 4, onBroker, ""); all.ErrorCode != 0 || len(all.Configs) != 0 {
			t.Errorf("settings of all brokers: %+v, want none yet", all)
		}
		mustAlter(c, onBroker, "", set("group.max.size", "60"))
		all := describedConfigs(c, 4, onBroker, "")
		if len(all.Configs) != 1 || *all.Configs[0].Value != "60" || all.Configs[0].Source != kmsg.ConfigSourceDynamicDefaultBrokerConfig {
			t.Errorf("settings of all brokers: %+v", all.Configs)
		}
		mustAlter(c, onBroker, "1", set("group.max.size", "70"))
		want := []kmsg.DescribeConfigsResponseResourceConfigConfigSynonym{
			synonym("group.max.size", "70", kmsg.ConfigSourceDynamicBrokerConfig),
			synonym("group.max.size", "60", kmsg.ConfigSourceDynamicDefaultBrokerConfig),
			synonym("group.max.size", "50", kmsg.ConfigSourceStaticBrokerConfig),
			synonym("group.max.size", "2147483647", kmsg.ConfigSourceDefaultConfig),
		}
		for range 2 {
			size = setting(c, onBroker, "1", "group.max.size")
			if *size.Value != "70" || !cmp.Equal(want, size.ConfigSynonyms, ignoreTags) {
				t.Errorf("group.max.size: %s (-want +got):\n%s", *size.Value, cmp.Diff(want, size.ConfigSynonyms, ignoreTags))
			}
			r.restart()
			c = r.client("c")
		}
	})
}

func TestResourcesThatHaveNoSettings(t *testing.T) {
	const loggers, metrics, groups = kmsg.ConfigResourceTypeBrokerLogger, kmsg.ConfigResourceTypeClientMetrics, kmsg.ConfigResourceTypeGroupConfig
	tests := []struct {
		kind                        kmsg.ConfigResourceType
		name                        string
		described, replaced, change int16
	}{
		{onTopic, "nosuch", 3, 3, 3},
		{onTopic, "no/name", 17, 3, 3},
		{onTopic, "", 17, 3, 3},
		{onBroker, "2", 42, 42, 42},
		{onBroker, "one", 42, 42, 42},
		{loggers, "1", 0, 40, 40},
		{loggers, "", 42, 40, 40},
		{groups, "g", 0, 40, 40},
		{groups, "", 42, 40, 40},
		{metrics, "m", 0, 40, 40},
		{3, "x", 42, 42, 42},
		{0, "", 42, 42, 42},
	}
	inBubble(t, nil, func(r *rig) {
		c := r.client("c")
		for _, test := range tests {
			got := describedConfigs(c, 4, test.kind, test.name)
			if got.ErrorCode != test.described || len(got.Configs) != 0 || (got.ErrorCode == 0) != (got.ErrorMessage == nil) {
				t.Errorf("describe %d %q: %+v, want error %d", test.kind, test.name, got, test.described)
			}
			if got := alter(c, 1, alterRequest(test.kind, test.name, set("consumer.session.timeout.ms", "5"))); got != test.change {
				t.Errorf("change %d %q: error %d, want %d", test.kind, test.name, got, test.change)
			}
			if got := replace(c, 2, test.kind, test.name, "consumer.session.timeout.ms", "5"); got != test.replaced {
				t.Errorf("replace %d %q: error %d, want %d", test.kind, test.name, got, test.replaced)
			}
		}
	})
}

// replace sets the whole of what is set on a resource, by AlterConfigs.
func replace(c *client, version int16, kind kmsg.ConfigResourceType, name string, config ...string) int16 {
	c.Helper()
	req := kmsg.NewPtrAlterConfigsRequest()
	r := kmsg.AlterConfigsRequestResource{ResourceType: kind, ResourceName: name}
	for i := 0; i < len(config); i += 2 {
		r.Configs = append(r.Configs, kmsg.AlterConfigsRequestResourceConfig{Name: config[i], Value: &config[i+1]})
	}
	req.Resources = append(req.Resources, r)
	resp := ask[*kmsg.AlterConfigsResponse](c, version, req)
	if len(resp.Resources) != 1 {
		c.Fatalf("altered %+v", resp.Resources)
	}
	return resp.Resources[0].ErrorCode
}

func TestAlterConfigsReplacesEverything(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		c := r.client("c")
		eachVersion(r, kmsg.AlterConfigs, func(v int16) {
			name := fmt.Sprint("t", v)
			c.created(newTopic(name, 1, 1, "retention.ms", "1000", "segment.bytes", "100"))
			if got := replace(c, v, onTopic, name, "retention.bytes", "55", "retention.ms", "2000"); got != 0 {
				t.Fatalf("v%d: error %d", v, got)
			}
			checkTopic(r, name, map[string]string{"retention.bytes": "55", "retention.ms": "2000"})
			for _, bad := range []struct {
				config []string
				want   int16
			}{
				{[]string{"no.such.setting", "1"}, 40},
				{[]string{"retention.ms", "x"}, 40},
				{[]string{"retention.ms", "1", "retention.ms", "2"}, 42},
			} {
				if got := replace(c, v, onTopic, name, bad.config...); got != bad.want {
					t.Errorf("v%d: %v: error %d, want %d", v, bad.config, got, bad.want)
				}
			}
			checkTopic(r, name, map[string]string{"retention.bytes": "55", "retention.ms": "2000"})
			if got := replace(c, v, onTopic, name); got != 0 {
				t.Errorf("v%d: error %d", v, got)
			}
			checkTopic(r, name, map[string]string{})

			if got := replace(c, v, onBroker, "", "group.max.size", "9"); got != 0 {
				t.Errorf("v%d: broker: error %d", v, got)
			}
			if got := replace(c, v, onBroker, "", "group.max.session.timeout.ms", "60000"); got != 0 {
				t.Errorf("v%d: broker: error %d", v, got)
			}
			if diff := cmp.Diff(map[string]string{"group.max.session.timeout.ms": "60000"}, r.cat.View().Broker()); diff != "" {
				t.Errorf("v%d: broker (-want +got):\n%s", v, diff)
			}
		})
		req := kmsg.NewPtrAlterConfigsRequest()
		one := kmsg.AlterConfigsRequestResource{ResourceType: onTopic, ResourceName: "t0"}
		req.Resources = []kmsg.AlterConfigsRequestResource{one, one}
		resp := ask[*kmsg.AlterConfigsResponse](c, 2, req)
		if len(resp.Resources) != 1 || resp.Resources[0].ErrorCode != 42 {
			t.Errorf("a resource named twice: %+v", resp.Resources)
		}
	})
}

// checkTopic checks what is set on a topic.
func checkTopic(r *rig, name string, want map[string]string) {
	r.Helper()
	topic, ok := r.cat.View().Topic(name)
	if !ok {
		r.Fatalf("there is no topic %s", name)
	}
	if diff := cmp.Diff(want, maps.Clone(topic.Config), equateEmpty); diff != "" {
		r.Errorf("settings of %s (-want +got):\n%s", name, diff)
	}
}

func TestIncrementalAlterConfigs(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		c := r.client("c")
		eachVersion(r, kmsg.IncrementalAlterConfigs, func(v int16) {
			name := fmt.Sprint("t", v)
			c.created(newTopic(name, 1, 1, "retention.ms", "1000"))
			steps := []struct {
				name string
				ops  []op
				code int16
				want map[string]string
			}{
				{"set and unset", []op{set("segment.bytes", " 100 "), unset("retention.ms")}, 0, map[string]string{"segment.bytes": "100"}},
				{"append to the default", []op{{2, "cleanup.policy", new("compact")}}, 0, map[string]string{"segment.bytes": "100", "cleanup.policy": "delete,compact"}},
				{"subtract", []op{{3, "cleanup.policy", new("delete")}}, 0, map[string]string{"segment.bytes": "100", "cleanup.policy": "compact"}},
				{"all or nothing", []op{set("segment.bytes", "200"), set("retention.ms", "long")}, 40, nil},
				{"an unknown setting", []op{set("no.such", "1")}, 40, nil},
				{"unset what is unknown", []op{unset("no.such")}, 0, nil},
				{"a contradiction", []op{set("min.compaction.lag.ms", "9"), set("max.compaction.lag.ms", "8")}, 40, nil},
				{"append to a number", []op{{2, "segment.bytes", new("1")}}, 40, nil},
				{"an unknown operation", []op{{9, "segment.bytes", new("1")}}, 42, nil},
				{"a setting twice", []op{set("segment.bytes", "300"), unset("segment.bytes")}, 42, nil},
				{"no value", []op{{0, "segment.bytes", nil}}, 42, nil},
				{"nothing", nil, 0, nil},
			}
			want := map[string]string{"retention.ms": "1000"}
			for _, step := range steps {
				req := alterRequest(onTopic, name, step.ops...)
				req.ValidateOnly = true
				if got := alter(c, v, req); got != step.code {
					t.Errorf("v%d: %s, validated: error %d, want %d", v, step.name, got, step.code)
				}
				checkTopic(r, name, want)
				req.ValidateOnly = false
				if got := alter(c, v, req); got != step.code {
					t.Errorf("v%d: %s: error %d, want %d", v, step.name, got, step.code)
				}
				if step.want != nil {
					want = step.want
				}
				checkTopic(r, name, want)
			}
		})
		r.restart()
		checkTopic(r, "t1", map[string]string{"segment.bytes": "100", "cleanup.policy": "compact"})
		two := alterRequest(onTopic, "t0", set("segment.bytes", "400"))
		two.Resources = append(two.Resources, two.Resources[0])
		resp := ask[*kmsg.IncrementalAlterConfigsResponse](r.client("d"), 1, two)
		if len(resp.Resources) != 1 || resp.Resources[0].ErrorCode != 42 {
			t.Errorf("a resource named twice: %+v", resp.Resources)
		}
	})
}

// A setting holds for the logs as soon as the answer says so, and after a start.
func TestTopicSettingsHoldInTheLogs(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		topic := r.topic("t", 2)
		c := r.client("c")
		config := func() storage.LogConfig {
			t.Helper()
			log, ok := r.store.Log(storage.Partition{Topic: topic.ID, Index: 1})
			if !ok {
				t.Fatal("there is no log")
			}
			return log.Config()
		}
		mustAlter(c, onTopic, "t", set("retention.ms", "60000"), set("cleanup.policy", "compact"), set("max.message.bytes", "200"))
		check := func() {
			t.Helper()
			if got := config(); got.RetentionAge != time.Minute || got.Delete || !got.Compact || got.MaxMessageBytes != 200 {
				t.Errorf("the log has %+v", got)
			}
		}
		check()
		r.restart()
		check()
		c = r.client("c")
		mustAlter(c, onTopic, "t", unset("retention.ms"), unset("cleanup.policy"))
		mustAlter(c, onBroker, "", set("log.retention.ms", "5000"))
		if got := config(); got.RetentionAge != 5*time.Second || !got.Delete || got.Compact || got.MaxMessageBytes != 200 {
			t.Errorf("the log has %+v", got)
		}
		mustAlter(c, onBroker, "1", set("log.retention.ms", "6000"))
		if got := config(); got.RetentionAge != 6*time.Second {
			t.Errorf("the log keeps records for %v, want 6s", got.RetentionAge)
		}
		mustAlter(c, onTopic, "t", set("retention.ms", "7000"))
		r.restart()
		if got := config(); got.RetentionAge != 7*time.Second {
			t.Errorf("the log keeps records for %v, want 7s", got.RetentionAge)
		}
	})
}

// Broker settings that say how groups work are in force at once.
func TestGroupSettingsHoldAtOnce(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		c := r.client("c")
		short := func() int16 {
			t.Helper()
			req := joinRequest("g", "m", nil)
			req.SessionTimeoutMillis = 100
			return ask[*kmsg.JoinGroupResponse](c, 5, req).ErrorCode
		}
		if got := short(); got != 26 {
			t.Errorf("a short session: error %d, want 26", got)
		}
		mustAlter(c, onBroker, "1", set("group.min.session.timeout.ms", "100"))
		if got := short(); got != 25 {
			t.Errorf("a session as short as allowed: error %d, want 25", got)
		}
		r.restart()
		c = r.client("c")
		if got := short(); got != 25 {
			t.Errorf("after a restart: error %d, want 25", got)
		}
	})
}

func TestBrokerSettingsThatCannotChange(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		c := r.client("c")
		for _, test := range []struct {
			name string
			op   op
		}{
			{"one that only a start can change", set("num.partitions", "5")},
			{"one that does not exist", set("no.such.setting", "5")},
			{"a topic setting", set("retention.ms", "5")},
			{"a bad value", set("group.max.size", "0")},
			{"a contradiction", set("group.min.session.timeout.ms", "1800001")},
		} {
			for _, name := range []string{"", "1"} {
				if got := alter(c, 1, alterRequest(onBroker, name, test.op)); got != 42 {
					t.Errorf("%s, on %q: error %d, want 42", test.name, name, got)
				}
			}
		}
		for _, p := range broker.Properties() {
			if p.Dynamic || p.Default == "" {
				continue
			}
			if got := alter(c, 1, alterRequest(onBroker, "1", set(p.Name, p.Default))); got != 42 {
				t.Errorf("%s: error %d, want 42", p.Name, got)
			}
		}
		if left := r.cat.View().Broker(); len(left) != 0 {
			t.Errorf("kept: %v", left)
		}
	})
}

// What would break an internal topic cannot be changed; what bounds its
// records can.
func TestSettingsOfInternalTopics(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		c := r.client("c")
		for _, o := range []op{set("cleanup.policy", "delete"), set("retention.ms", "1"), unset("compression.type")} {
			if got := alter(c, 1, alterRequest(onTopic, "__consumer_offsets", o)); got != 40 {
				t.Errorf("%s: error %d, want 40", o.name, got)
			}
		}
		if got := setting(c, onTopic, "__consumer_offsets", "cleanup.policy"); *got.Value != "compact" {
			t.Errorf("cleanup.policy is %s", *got.Value)
		}
		mustAlter(c, onTopic, "__consumer_offsets", set("segment.bytes", "1000000"))
	})
}

// B61: a group record that is too large for the offsets topic refuses the
// assignment, and nobody else's.
func TestGroupRecordThatIsTooLarge(t *testing.T) {
	inBubble(t, map[string]string{"group.initial.rebalance.delay.ms": "1000"}, func(r *rig) {
		r.topic("t", 1)
		admin := r.client("admin")
		mustAlter(admin, onTopic, "__consumer_offsets", set("max.message.bytes", "65536"))

		const size = 10
		members := make([]*client, size)
		metadata, part := bytes.Repeat([]byte("m"), 10_000), bytes.Repeat([]byte("p"), 5_000)
		ids := make([]string, size)
		for i := range members {
			members[i] = r.client(fmt.Sprint("c", i))
			ids[i] = ask[*kmsg.JoinGroupResponse](members[i], 5, joinRequest("big", "", metadata)).MemberID
		}
		rejoin := func() (generation int32, leader int) {
			t.Helper()
			for i, m := range members {
				m.send(5, joinRequest("big", ids[i], metadata))
			}
			leader = -1
			for i, m := range members {
				resp := m.joined()
				generation = resp.Generation
				if resp.LeaderID == ids[i] {
					leader = i
				}
			}
			if leader < 0 {
				t.Fatal("nobody leads")
			}
			return generation, leader
		}
		syncAll := func(generation int32, leader int) []*kmsg.SyncGroupResponse {
			t.Helper()
			plan := syncRequest("big", ids[leader], generation)
			for _, id := range ids {
				assign(plan, id, part)
			}
			for i, m := range members {
				if i != leader {
					m.send(4, syncRequest("big", ids[i], generation))
					m.parked()
				}
			}
			members[leader].send(4, plan)
			answers := make([]*kmsg.SyncGroupResponse, size)
			for i, m := range members {
				answers[i] = received[*kmsg.SyncGroupResponse](m)
			}
			return answers
		}

		generation, leader := rejoin()
		for i, resp := range syncAll(generation, leader) {
			if resp.ErrorCode != -1 || len(resp.MemberAssignment) != 0 {
				t.Errorf("member %d: error %d with %d bytes, want -1 and none", i, resp.ErrorCode, len(resp.MemberAssignment))
			}
		}
		if d := describe(admin, 5, "big"); d.State != "PreparingRebalance" {
			t.Errorf("the group is %s", d.State)
		}
		// Groups of the same partition go on.
		neighbour := neighbourOf(r, "big")
		m := alone(r.client("n"), neighbour, "t")
		m.must(8, by(m, commitRequest(neighbour, commit{topic: "t", offset: 3})))

		mustAlter(admin, onTopic, "__consumer_offsets", set("max.message.bytes", "1048576"))
		generation, leader = rejoin()
		for i, resp := range syncAll(generation, leader) {
			if resp.ErrorCode != 0 || !bytes.Equal(resp.MemberAssignment, part) {
				t.Fatalf("member %d: error %d with %d bytes", i, resp.ErrorCode, len(resp.MemberAssignment))
			}
		}
		r.restart()
		x := r.client("x")
		for _, id := range ids {
			if got := ask[*kmsg.HeartbeatResponse](x, 4, heartbeatRequest("big", id, generation)).ErrorCode; got != 0 {
				t.Errorf("heartbeat after a restart: error %d", got)
			}
		}
		if got := x.offset(neighbour, "t", 0); got != 3 {
			t.Errorf("the neighbour's offset is %d, want 3", got)
		}
	})
}

// neighbourOf finds a group that is kept in the same partition.
func neighbourOf(r *rig, group string) string {
	r.Helper()
	for i := range 10_000 {
		if name := fmt.Sprint("neighbour", i); r.co.PartitionOf(name) == r.co.PartitionOf(group) {
			return name
		}
	}
	r.Fatal("no neighbour found")
	return ""
}

// Everything that a message says is a sentence.
func TestMessagesAreSentences(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		c := r.client("c")
		r.topic("t", 1)
		var said []string
		for _, req := range []*kmsg.IncrementalAlterConfigsRequest{
			alterRequest(onTopic, "t", set("retention.ms", "x")),
			alterRequest(onTopic, "t", set("preallocate", "true")),
			alterRequest(onTopic, "t", set("cleanup.policy", "burn")),
			alterRequest(onBroker, "", set("group.max.size", "x")),
			alterRequest(onBroker, "", set("num.partitions", "1")),
			alterRequest(onBroker, "", set("group.min.session.timeout.ms", "2000000")),
			alterRequest(onBroker, "7", set("group.max.size", "1")),
			alterRequest(77, "x"),
		} {
			resp := ask[*kmsg.IncrementalAlterConfigsResponse](c, 1, req).Resources[0]
			if resp.ErrorCode == 0 || resp.ErrorMessage == nil {
				t.Fatalf("%+v was not refused", req.Resources[0])
			}
			said = append(said, *resp.ErrorMessage)
		}
		for _, s := range said {
			if !strings.HasSuffix(s, ".") || strings.HasSuffix(s, "..") || strings.Contains(s, "%!") {
				t.Errorf("no sentence: %s", s)
			}
		}
	})
}
