package catalog

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"rota/internal/record"
	"rota/internal/storage"
)

// ConfigError says why a topic's configuration is refused (INVALID_CONFIG), in
// a plain sentence that names the setting.
type ConfigError struct {
	Name   string
	Reason string
}

func (e *ConfigError) Error() string { return e.Reason }

// CheckTopicConfig checks what is set on a topic, by Kafka's names. broker
// holds the broker settings that topic settings fall back to, as in Resolve.
// It returns a *ConfigError for the first thing that is wrong, by name: a
// setting that does not exist, a value that it cannot have, a value that this
// broker does not honour, or two settings that contradict each other.
func CheckTopicConfig(topic, broker map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(topic)) {
		k, ok := TopicKeyNamed(name)
		if !ok {
			return &ConfigError{name, fmt.Sprintf("There is no topic setting %s.", name)}
		}
		if err := k.Check(topic[name]); err != nil {
			return err
		}
	}
	v := values{topic, broker}
	if lo, hi := v.int("min.compaction.lag.ms"), v.int("max.compaction.lag.ms"); lo > hi {
		return &ConfigError{"min.compaction.lag.ms", fmt.Sprintf("min.compaction.lag.ms (%d) is above max.compaction.lag.ms (%d).", lo, hi)}
	}
	return nil
}

// Check says what is wrong with value as a value of k: nil or a *ConfigError.
// As in Kafka, space around a value does not count.
func (k TopicKey) Check(value string) error {
	value = strings.TrimSpace(value)
	if why := k.wrong(value); why != "" {
		return &ConfigError{k.Name, fmt.Sprintf("%s %s, not %q.", k.Name, why, value)}
	}
	if k.Effect == Fixed && k.canonical(value) != k.Default {
		return &ConfigError{k.Name, fmt.Sprintf("%s can only be %s here. %s", k.Name, k.Default, k.Doc)}
	}
	return nil
}

// wrong says what the value should be, or nothing if it is that.
func (k TopicKey) wrong(value string) string {
	switch k.Kind {
	case KindBool:
		if !strings.EqualFold(value, "true") && !strings.EqualFold(value, "false") {
			return "is true or false"
		}
	case KindInt, KindLong:
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return "is a whole number"
		}
		if (n < k.Min || n > k.Max) && (k.Also == 0 || n != k.Also) {
			return "is " + k.Range()
		}
	case KindDouble:
		f, err := strconv.ParseFloat(value, 64)
		if err != nil || !(f >= 0 && f <= 1) {
			return "is a number from 0 to 1"
		}
	case KindString:
		if !slices.Contains(k.Values, value) {
			return "is one of " + strings.Join(k.Values, ", ")
		}
	case KindList:
		return k.wrongList(value)
	}
	return ""
}

func (k TopicKey) wrongList(value string) string {
	if k.check != nil {
		if !k.check(value) {
			return "is * or pairs of partition and broker, as in 0:1,1:1"
		}
		return ""
	}
	words := splitList(value)
	for i, word := range words {
		if !slices.Contains(k.Values, word) || slices.Contains(words[:i], word) {
			return "takes " + strings.Join(k.Values, " and ") + ", each once, separated by commas"
		}
	}
	return ""
}

// canonical is the form of a checked value in which equal ones are the same.
func (k TopicKey) canonical(value string) string {
	switch k.Kind {
	case KindBool:
		return strings.ToLower(value)
	case KindInt, KindLong:
		if n, err := strconv.ParseInt(value, 10, 64); err == nil {
			return strconv.FormatInt(n, 10)
		}
	case KindString, KindDouble, KindList:
	}
	return value
}

// Range describes the values that k takes.
func (k TopicKey) Range() string {
	switch k.Kind {
	case KindInt, KindLong:
		most := int64(anyLong)
		if k.Kind == KindInt {
			most = anyInt
		}
		var text string
		switch {
		case k.Min == math.MinInt64:
			return "any number"
		case k.Max == most:
			text = fmt.Sprintf("%d or more", k.Min)
		default:
			text = fmt.Sprintf("from %d to %d", k.Min, k.Max)
		}
		if k.Also != 0 {
			text += fmt.Sprintf(", or %d", k.Also)
		}
		return text
	case KindDouble:
		return "from 0 to 1"
	case KindBool:
		return "true, false"
	case KindString, KindList:
	}
	return strings.Join(k.Values, ", ")
}

// Resolve is what a topic's configuration means for its logs. topic holds what
// is set on the topic and broker the broker's settings, both by Kafka's names
// and both checked; what neither has is Kafka's default. Whether the topic is
// Internal is not the configuration's affair.
func Resolve(topic, broker map[string]string) storage.LogConfig {
	v := values{topic, broker}
	policy := splitList(v.string("cleanup.policy"))
	c := storage.LogConfig{
		// Zero would be storage's default. No batch fits into either.
		MaxMessageBytes: max(1, int(v.int("max.message.bytes"))),
		SegmentBytes:    v.int("segment.bytes"),
		SegmentAge:      millis(v.int("segment.ms"), longest),
		RetentionBytes:  max(-1, v.int("retention.bytes")),
		RetentionAge:    millis(v.int("retention.ms"), -1),
		Delete:          slices.Contains(policy, "delete"),
		Compact:         slices.Contains(policy, "compact"),
		LogAppendTime:   v.string("message.timestamp.type") == "LogAppendTime",
		TimestampBefore: bound(v.int("message.timestamp.before.max.ms")),
		TimestampAfter:  bound(v.int("message.timestamp.after.max.ms")),

		DeleteRetention:  millis(v.int("delete.retention.ms"), longest),
		MinCompactionLag: millis(v.int("min.compaction.lag.ms"), longest),
		MaxCompactionLag: millis(v.int("max.compaction.lag.ms"), longest),
		DirtyRatio:       v.float("min.cleanable.dirty.ratio"),
	}
	c.Compression, c.CompressionLevel = v.compression()
	return c
}

// values looks topic settings up: on the topic, in the broker's settings, in
// the table.
type values struct{ topic, broker map[string]string }

func (v values) string(name string) string {
	if value, ok := v.topic[name]; ok {
		return strings.TrimSpace(value)
	}
	k, ok := TopicKeyNamed(name)
	if !ok {
		panic("catalog: there is no topic setting " + name)
	}
	for _, s := range k.Synonyms {
		if value, ok := v.broker[s.Name]; ok {
			return s.inTopicUnit(strings.TrimSpace(value))
		}
	}
	return k.Default
}

// compression is the codec that batches are stored with, -1 for the producer's,
// and its level, 0 for the codec's default.
func (v values) compression() (codec int8, level int) {
	name := v.string("compression.type")
	if name == "uncompressed" {
		return int8(record.Uncompressed), 0
	}
	for _, c := range []record.Compression{record.Gzip, record.Snappy, record.LZ4, record.Zstd} {
		if c.String() != name {
			continue
		}
		k, ok := TopicKeyNamed("compression." + name + ".level")
		if !ok || v.string(k.Name) == k.Default {
			return int8(c), 0
		}
		return int8(c), int(v.int(k.Name))
	}
	return -1, 0
}

func (v values) int(name string) int64 {
	n, err := strconv.ParseInt(v.string(name), 10, 64)
	if err != nil {
		panic("catalog: setting " + name + " was not checked: " + err.Error())
	}
	return n
}

func (v values) float(name string) float64 {
	f, err := strconv.ParseFloat(v.string(name), 64)
	if err != nil {
		panic("catalog: setting " + name + " was not checked: " + err.Error())
	}
	return f
}

// inTopicUnit converts minutes and hours to milliseconds.
func (s Synonym) inTopicUnit(value string) string {
	if s.Unit == 0 {
		return value
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		panic("catalog: setting " + s.Name + " was not checked: " + err.Error())
	}
	if n < 0 {
		return "-1"
	}
	return strconv.FormatInt(n*s.Unit.Milliseconds(), 10)
}

const longest = time.Duration(math.MaxInt64)

// millis is n milliseconds: above for more than a Duration holds, -1 if n is
// negative.
func millis(n int64, above time.Duration) time.Duration {
	switch {
	case n < 0:
		return -1
	case n > int64(longest/time.Millisecond):
		return above
	}
	return time.Duration(n) * time.Millisecond
}

// bound is a bound of n milliseconds on timestamps. Zero stands for none in
// storage, so the tightest one is the smallest that is not zero.
func bound(n int64) time.Duration { return cmp.Or(millis(n, -1), 1) }

// splitList takes a list of words apart; empty ones do not count.
func splitList(value string) []string {
	var words []string
	for word := range strings.SplitSeq(value, ",") {
		if word = strings.TrimSpace(word); word != "" {
			words = append(words, word)
		}
	}
	return words
}
