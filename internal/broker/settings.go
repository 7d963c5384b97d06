package broker

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"rota/internal/catalog"
	"rota/internal/group"
)

// Source says where the value of a setting comes from. The numbers are those
// of DescribeConfigs.
type Source int8

const (
	// DynamicTopic is set on the topic.
	DynamicTopic Source = 1
	// DynamicBroker is set on this broker while it ran.
	DynamicBroker Source = 2
	// DynamicDefault is set on all brokers while they ran.
	DynamicDefault Source = 3
	// StaticBroker is given at the start.
	StaticBroker Source = 4
	// Default holds because nobody set it.
	Default Source = 5
)

// Settings is the broker's configuration at one moment: the defaults, what was
// given at the start, and above it what was set while the broker ran. It never
// changes.
type Settings struct {
	static map[string]string
	// cluster and node are the dynamic ones: of all brokers, and of this one,
	// which wins.
	cluster, node map[string]string
	nodePrefix    string
	// set holds what any of them sets, the one that wins.
	set map[string]string
}

// ParseSettings checks what was given at the start, by Kafka's names. It
// refuses unknown names, values out of their range and contradictions with a
// *catalog.ConfigError.
func ParseSettings(given map[string]string) (*Settings, error) {
	s := &Settings{static: map[string]string{}}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		value := strings.TrimSpace(given[name])
		if name == "broker.id" {
			name = "node.id"
		}
		p, ok := PropertyNamed(name)
		if !ok {
			return nil, &catalog.ConfigError{Name: name, Reason: fmt.Sprintf("There is no setting %s.", name)}
		}
		if err := p.Check(value); err != nil {
			return nil, err
		}
		s.static[name] = value
	}
	s.set = s.static
	s.nodePrefix = s.String("node.id") + "/"
	return s, s.check()
}

// defaultSettings is what holds when nobody set anything.
func defaultSettings() *Settings {
	s, err := ParseSettings(nil)
	if err != nil {
		panic("broker: defaults: " + err.Error())
	}
	return s
}

// with returns the settings below the dynamic configuration that the catalog
// keeps: settings of all brokers under their names, those of one broker under
// "id/name".
func (s *Settings) with(dynamic map[string]string) (*Settings, error) {
	n := &Settings{
		static: s.static, nodePrefix: s.nodePrefix,
		cluster: map[string]string{}, node: map[string]string{}, set: maps.Clone(s.static),
	}
	for name, value := range dynamic {
		if own, ok := strings.CutPrefix(name, s.nodePrefix); ok {
			n.node[own] = value
		} else if !strings.Contains(name, "/") {
			n.cluster[name] = value
		}
	}
	maps.Copy(n.set, n.cluster)
	maps.Copy(n.set, n.node)
	return n, n.check()
}

// check finds contradictions between settings.
func (s *Settings) check() error {
	if lo, hi := s.Int("group.min.session.timeout.ms"), s.Int("group.max.session.timeout.ms"); lo > hi {
		return &catalog.ConfigError{
			Name:   "group.min.session.timeout.ms",
			Reason: fmt.Sprintf("group.min.session.timeout.ms (%d) is above group.max.session.timeout.ms (%d).", lo, hi),
		}
	}
	return nil
}

// Sourced is a value and where it comes from.
type Sourced struct {
	Name, Value string
	Source      Source
}

// Sources lists every value that name has, the one that holds first.
func (s *Settings) Sources(name string) []Sourced {
	var found []Sourced
	for _, level := range []struct {
		values map[string]string
		source Source
	}{{s.node, DynamicBroker}, {s.cluster, DynamicDefault}, {s.static, StaticBroker}} {
		if v, ok := level.values[name]; ok {
			found = append(found, Sourced{Name: name, Value: v, Source: level.source})
		}
	}
	if p, ok := PropertyNamed(name); ok && p.Default != "" {
		found = append(found, Sourced{Name: name, Value: p.Default, Source: Default})
	}
	return found
}

// Lookup returns the value that holds for name, and false if it has none.
func (s *Settings) Lookup(name string) (string, bool) {
	if v, ok := s.set[name]; ok {
		return v, true
	}
	p, ok := PropertyNamed(name)
	if !ok {
		panic("broker: there is no setting " + name)
	}
	return p.Default, p.Default != ""
}

// String returns the value of name, "" if it has none.
func (s *Settings) String(name string) string {
	v, _ := s.Lookup(name)
	return v
}

// Int returns the number that name is set to, 0 if it has none.
func (s *Settings) Int(name string) int64 {
	v, ok := s.Lookup(name)
	if !ok {
		return 0
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		panic("broker: setting " + name + " was not checked: " + err.Error())
	}
	return n
}

// Bool returns whether name is set to true.
func (s *Settings) Bool(name string) bool { return strings.EqualFold(s.String(name), "true") }

// Millis returns the duration that name gives in milliseconds. It ends at the
// longest duration there is; a negative number stays negative.
func (s *Settings) Millis(name string) time.Duration { return millis(s.Int(name)) }

func millis(n int64) time.Duration {
	if n > int64(longest/time.Millisecond) {
		return longest
	}
	if n < 0 {
		return -1
	}
	return time.Duration(n) * time.Millisecond
}

const longest = time.Duration(1<<63 - 1)

// Group is what the settings mean for the rules of groups. maxRecord is the
// largest record that __consumer_offsets takes.
func (s *Settings) Group(maxRecord int) group.Config {
	return group.Config{
		MinSessionTimeout: s.Millis("group.min.session.timeout.ms"),
		MaxSessionTimeout: s.Millis("group.max.session.timeout.ms"),
		InitialDelay:      s.Millis("group.initial.rebalance.delay.ms"),
		MaxSize:           int(s.Int("group.max.size")),
		MaxMetadata:       int(s.Int("offset.metadata.max.bytes")),
		OffsetsRetention:  millis(s.Int("offsets.retention.minutes") * time.Minute.Milliseconds()),
		NewMemberTimeout:  5 * time.Minute,
		MaxRecordBytes:    maxRecord,
	}
}

// topicSources lists the broker settings behind a topic setting, in its unit,
// the one that holds first: what somebody set wins over what nobody did.
func (s *Settings) topicSources(k catalog.TopicKey) []Sourced {
	var found []Sourced
	for _, synonym := range k.Synonyms {
		found = append(found, s.Sources(synonym.Name)...)
	}
	slices.SortStableFunc(found, func(a, b Sourced) int {
		return int(a.Source/Default) - int(b.Source/Default)
	})
	return found
}

// topicValue is the value that a topic setting has, and where from, when own
// is what is set on the topic.
func (s *Settings) topicValue(own map[string]string, k catalog.TopicKey) (string, Source) {
	if value, ok := own[k.Name]; ok {
		return value, DynamicTopic
	}
	behind := s.topicSources(k)
	if len(behind) == 0 {
		return k.Default, Default
	}
	first := behind[0]
	for _, synonym := range k.Synonyms {
		if synonym.Name == first.Name && synonym.Unit != 0 {
			return inMillis(first.Value, synonym.Unit), first.Source
		}
	}
	return first.Value, first.Source
}

// inMillis converts a checked number of units to milliseconds; a negative one
// means for ever.
func inMillis(value string, unit time.Duration) string {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		panic("broker: a setting was not checked: " + err.Error())
	}
	if n < 0 {
		return "-1"
	}
	return strconv.FormatInt(n*unit.Milliseconds(), 10)
}
