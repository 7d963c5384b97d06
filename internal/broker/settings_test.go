package broker

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rota/internal/catalog"
)

func TestPropertiesAreSortedAndTheirDefaultsAreValid(t *testing.T) {
	if !slices.IsSortedFunc(properties, func(a, b Property) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("properties are not sorted by name")
	}
	for _, p := range properties {
		if p.Doc == "" || !strings.HasSuffix(p.Doc, ".") {
			t.Errorf("%s: its doc is no sentence: %q", p.Name, p.Doc)
		}
		if p.Default == "" {
			continue
		}
		if err := p.Check(p.Default); err != nil {
			t.Errorf("default of %s: %v", p.Name, err)
		}
	}
}

func TestParseSettingsRefuses(t *testing.T) {
	tests := []struct{ name, key, value, want string }{
		{"an unknown name", "no.such.setting", "1", "There is no setting no.such.setting."},
		{"text for a number", "group.max.size", "many", `group.max.size is a whole number, not "many".`},
		{"a number below its range", "group.max.size", "0", `group.max.size is 1 or more, not "0".`},
		{"a number above its range", "num.partitions", "10001", `num.partitions is from 1 to 10000, not "10001".`},
		{"a yes", "auto.create.topics.enable", "yes", `auto.create.topics.enable is true or false, not "yes".`},
		{"an unknown word", "durability", "maybe", `durability is one of fsync, interval, never, not "maybe".`},
		{"an unknown word in a list", "log.cleanup.policy", "delete,burn", `log.cleanup.policy takes compact and delete, each once, separated by commas, not "delete,burn".`},
		{"contradictions", "group.min.session.timeout.ms", "1800001", "group.min.session.timeout.ms (1800001) is above group.max.session.timeout.ms (1800000)."},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := ParseSettings(map[string]string{test.key: test.value})
			if err == nil || err.Error() != test.want {
				t.Errorf("got error %v, want %s", err, test.want)
			}
		})
	}
}

func TestSettingsThatWereSetLastWin(t *testing.T) {
	s, err := ParseSettings(map[string]string{"log.segment.bytes": "100", "broker.id": "7"})
	if err != nil {
		t.Fatal(err)
	}
	s, err = s.with(map[string]string{
		"log.segment.bytes":   "200",
		"7/log.segment.bytes": "300",
		"8/log.segment.bytes": "400", // another broker's
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []Sourced{
		{Name: "log.segment.bytes", Value: "300", Source: DynamicBroker},
		{Name: "log.segment.bytes", Value: "200", Source: DynamicDefault},
		{Name: "log.segment.bytes", Value: "100", Source: StaticBroker},
		{Name: "log.segment.bytes", Value: "1073741824", Source: Default},
	}
	if diff := cmp.Diff(want, s.Sources("log.segment.bytes")); diff != "" {
		t.Errorf("sources (-want +got):\n%s", diff)
	}
	if got := s.Int("log.segment.bytes"); got != 300 {
		t.Errorf("log.segment.bytes is %d, want 300", got)
	}
}

func TestDynamicSettingsAreCheckedAgainstStaticOnes(t *testing.T) {
	s, err := ParseSettings(map[string]string{"group.max.session.timeout.ms": "5000", "group.min.session.timeout.ms": "100"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.with(map[string]string{"group.min.session.timeout.ms": "6000"}); err == nil {
		t.Error("a smallest session timeout above the largest was accepted")
	}
}

func TestRetentionComesFromTheFinestUnitThatWasSet(t *testing.T) {
	tests := []struct {
		name  string
		given map[string]string
		want  string
	}{
		{"nothing", nil, "604800000"},
		{"hours", map[string]string{"log.retention.hours": "2"}, "7200000"},
		{"minutes before hours", map[string]string{"log.retention.hours": "2", "log.retention.minutes": "3"}, "180000"},
		{"milliseconds before all", map[string]string{"log.retention.hours": "2", "log.retention.minutes": "3", "log.retention.ms": "5"}, "5"},
		{"for ever, in hours", map[string]string{"log.retention.hours": "-1"}, "-1"},
		{"for ever, in milliseconds", map[string]string{"log.retention.ms": "-1", "log.retention.hours": "2"}, "-1"},
		{"the longest hours there are", map[string]string{"log.retention.hours": "2147483647"}, "7730941129200000"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, err := ParseSettings(test.given)
			if err != nil {
				t.Fatal(err)
			}
			k, _ := catalog.TopicKeyNamed("retention.ms")
			if got, _ := s.topicValue(nil, k); got != test.want {
				t.Errorf("retention.ms is %s, want %s", got, test.want)
			}
			age := catalog.Resolve(nil, s.set).RetentionAge
			if ms, err := strconv.ParseInt(test.want, 10, 64); err != nil || age.Milliseconds() != max(ms, 0) && age >= 0 {
				t.Errorf("logs keep records for %v, and the setting says %s ms", age, test.want)
			}
		})
	}
}

func TestGroupConfigOfSettings(t *testing.T) {
	s, err := ParseSettings(map[string]string{
		"offsets.retention.minutes": "2147483647", "group.initial.rebalance.delay.ms": "0",
	})
	if err != nil {
		t.Fatal(err)
	}
	c := s.Group(1000)
	if c.OffsetsRetention != longest {
		t.Errorf("a retention beyond what a duration holds is %v, want %v", c.OffsetsRetention, longest)
	}
	if c.InitialDelay != 0 || c.MinSessionTimeout != 6*time.Second || c.MaxSessionTimeout != 30*time.Minute ||
		c.MaxSize != math.MaxInt32 || c.MaxMetadata != 4096 || c.NewMemberTimeout != 5*time.Minute || c.MaxRecordBytes != 1000 {
		t.Errorf("group config is %+v", c)
	}
}
