package catalog

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rota/internal/storage"
)

func TestTopicKeysAreSortedAndTheirDefaultsValid(t *testing.T) {
	if !slices.IsSortedFunc(topicKeys, func(a, b TopicKey) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the table is not sorted")
	}
	for _, k := range TopicKeys() {
		if found, ok := TopicKeyNamed(k.Name); !ok || found.Name != k.Name {
			t.Errorf("%s is not found", k.Name)
		}
		if err := k.Check(k.Default); err != nil {
			t.Errorf("default of %s: %v", k.Name, err)
		}
		if k.Doc == "" || !strings.HasSuffix(k.Doc, ".") {
			t.Errorf("%s has no sentence of documentation", k.Name)
		}
		if k.Kind == KindInt && (k.Min < math.MinInt32 || k.Max > math.MaxInt32) {
			t.Errorf("%s does not fit 32 bits", k.Name)
		}
	}
}

// The settings that a broker of Kafka 4.4 reports for a topic.
func TestTopicKeysAreKafkas(t *testing.T) {
	want := strings.Fields(`cleanup.policy compression.gzip.level compression.lz4.level compression.type compression.zstd.level
		delete.retention.ms file.delete.delay.ms flush.messages flush.ms follower.replication.throttled.replicas index.interval.bytes
		leader.replication.throttled.replicas local.retention.bytes local.retention.ms max.compaction.lag.ms max.message.bytes
		message.timestamp.after.max.ms message.timestamp.before.max.ms message.timestamp.type min.cleanable.dirty.ratio
		min.compaction.lag.ms min.insync.replicas preallocate remote.copy.lag.bytes remote.copy.lag.ms remote.log.copy.disable
		remote.log.delete.on.disable remote.storage.enable retention.bytes retention.ms segment.bytes segment.index.bytes
		segment.jitter.ms segment.ms unclean.leader.election.enable`)
	var got []string
	for _, k := range TopicKeys() {
		got = append(got, k.Name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

func TestCheckTopicConfig(t *testing.T) {
	for _, tt := range []struct {
		name, value string
		want        string // part of the sentence; "": accepted
	}{
		{"cleanup.policy", "compact", ""},
		{"cleanup.policy", "compact, delete", ""},
		{"cleanup.policy", "", ""},
		{"cleanup.policy", "compact,compact", "each once"},
		{"cleanup.policy", "shred", "takes compact and delete"},
		{"cleanup.policy", "Delete", "takes compact and delete"},
		{"compression.type", "zstd", ""},
		{"compression.type", "none", "one of producer, uncompressed"},
		{"compression.gzip.level", "-1", ""},
		{"compression.gzip.level", "0", "from 1 to 9, or -1"},
		{"compression.gzip.level", "10", "from 1 to 9, or -1"},
		{"compression.zstd.level", "-131072", ""},
		{"retention.ms", "-1", ""},
		{"retention.ms", " 1000 ", ""},
		{"retention.ms", "-2", "-1 or more"},
		{"retention.ms", "week", "whole number"},
		{"retention.ms", "1.5", "whole number"},
		{"retention.ms", "9223372036854775808", "whole number"},
		{"retention.bytes", "-9", ""},
		{"segment.bytes", "1048576", ""},
		{"segment.bytes", "13", "14 or more"},
		{"segment.bytes", "2147483648", "14 or more"},
		{"max.message.bytes", "0", ""},
		{"message.timestamp.type", "LogAppendTime", ""},
		{"message.timestamp.type", "logappendtime", "one of CreateTime, LogAppendTime"},
		{"min.cleanable.dirty.ratio", "0.01", ""},
		{"min.cleanable.dirty.ratio", "1.1", "from 0 to 1"},
		{"min.cleanable.dirty.ratio", "NaN", "from 0 to 1"},
		{"min.insync.replicas", "2", ""},
		{"min.insync.replicas", "0", "1 or more"},
		{"unclean.leader.election.enable", "TRUE", ""},
		{"unclean.leader.election.enable", "yes", "true or false"},
		{"leader.replication.throttled.replicas", "*", ""},
		{"leader.replication.throttled.replicas", "0:1,1:1", ""},
		{"leader.replication.throttled.replicas", "", ""},
		{"follower.replication.throttled.replicas", "0-1", "pairs"},
		{"follower.replication.throttled.replicas", "0:1,", "pairs"},
		{"remote.storage.enable", "false", ""},
		{"remote.storage.enable", "true", "can only be false here. There is no tiered storage."},
		{"preallocate", "False", ""},
		{"preallocate", "true", "can only be false"},
		{"segment.jitter.ms", "+0", ""},
		{"segment.jitter.ms", "100", "can only be 0"},
		{"flush.messages", "1", ""},
		{"segment.byts", "1", "There is no topic setting segment.byts."},
		{"message.format.version", "2.0", "There is no topic setting"},
		{"min.compaction.lag.ms", "9223372036854775807", ""},
	} {
		err := CheckTopicConfig(map[string]string{tt.name: tt.value}, nil)
		if tt.want == "" {
			if err != nil {
				t.Errorf("%s=%q: %v", tt.name, tt.value, err)
			}
			continue
		}
		var refused *ConfigError
		if !errors.As(err, &refused) || refused.Name != tt.name || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), tt.name) {
			t.Errorf("%s=%q: error %v, want one with %q", tt.name, tt.value, err, tt.want)
		}
	}
	err := CheckTopicConfig(map[string]string{"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "9"}, nil)
	if err == nil || err.Error() != "min.compaction.lag.ms (10) is above max.compaction.lag.ms (9)." {
		t.Errorf("contradiction: %v", err)
	}
}

func TestResolve(t *testing.T) {
	week := 7 * 24 * time.Hour
	defaults := storage.LogConfig{
		MaxMessageBytes: 1048588, SegmentBytes: 1 << 30, SegmentAge: week, RetentionBytes: -1, RetentionAge: week,
		Delete: true, TimestampBefore: -1, TimestampAfter: time.Hour, Compression: -1,
		DeleteRetention: 24 * time.Hour, MaxCompactionLag: longest, DirtyRatio: 0.5,
	}
	with := func(f func(*storage.LogConfig)) storage.LogConfig {
		c := defaults
		f(&c)
		return c
	}
	for _, tt := range []struct {
		name          string
		topic, broker map[string]string
		want          storage.LogConfig
	}{
		{"nothing", nil, nil, defaults},
		{"the topic's", map[string]string{
			"cleanup.policy": "compact", "compression.type": "lz4", "max.message.bytes": "100", "segment.bytes": "2000", "segment.ms": "3000",
			"retention.bytes": "4000", "retention.ms": " 5000", "message.timestamp.type": "LogAppendTime",
			"message.timestamp.before.max.ms": "6000", "message.timestamp.after.max.ms": "7000",
			"delete.retention.ms": "8000", "min.compaction.lag.ms": "9000", "max.compaction.lag.ms": "10000", "min.cleanable.dirty.ratio": "0.25",
		}, map[string]string{"log.retention.ms": "1", "compression.type": "gzip"}, storage.LogConfig{
			MaxMessageBytes: 100, SegmentBytes: 2000, SegmentAge: 3 * time.Second, RetentionBytes: 4000, RetentionAge: 5 * time.Second,
			Compact: true, LogAppendTime: true, TimestampBefore: 6 * time.Second, TimestampAfter: 7 * time.Second, Compression: 3,
			DeleteRetention: 8 * time.Second, MinCompactionLag: 9 * time.Second, MaxCompactionLag: 10 * time.Second, DirtyRatio: 0.25,
		}},
		{"the broker's", map[string]string{"cleanup.policy": "compact,delete"}, map[string]string{
			"message.max.bytes": "100", "log.segment.bytes": "2000", "log.roll.hours": "1", "log.retention.bytes": "4000",
			"log.cleanup.policy": "compact", "log.message.timestamp.type": "LogAppendTime", "compression.type": "uncompressed",
		}, storage.LogConfig{
			MaxMessageBytes: 100, SegmentBytes: 2000, SegmentAge: time.Hour, RetentionBytes: 4000, RetentionAge: week,
			Delete: true, Compact: true, LogAppendTime: true, TimestampBefore: -1, TimestampAfter: time.Hour, Compression: 0,
			DeleteRetention: 24 * time.Hour, MaxCompactionLag: longest, DirtyRatio: 0.5,
		}},
		{
			"minutes before hours", nil,
			map[string]string{"log.retention.minutes": "2", "log.retention.hours": "1"},
			with(func(c *storage.LogConfig) { c.RetentionAge = 2 * time.Minute }),
		},
		{
			"milliseconds before minutes", nil,
			map[string]string{"log.retention.ms": "3", "log.retention.minutes": "2"},
			with(func(c *storage.LogConfig) { c.RetentionAge = 3 * time.Millisecond }),
		},
		{
			"hours for ever", nil,
			map[string]string{"log.retention.hours": "-1"},
			with(func(c *storage.LogConfig) { c.RetentionAge = -1 }),
		},
		{
			"more than a duration holds",
			map[string]string{"retention.ms": "9223372036854775807", "segment.ms": "9223372036854775807", "message.timestamp.after.max.ms": "9223372036854775807"},
			nil,
			with(func(c *storage.LogConfig) { c.RetentionAge, c.SegmentAge, c.TimestampAfter = -1, longest, -1 }),
		},
		{
			"zeros",
			map[string]string{"retention.ms": "0", "retention.bytes": "0", "max.message.bytes": "0", "message.timestamp.before.max.ms": "0"},
			nil,
			with(func(c *storage.LogConfig) {
				c.RetentionAge, c.RetentionBytes, c.MaxMessageBytes, c.TimestampBefore = 0, 0, 1, 1
			}),
		},
		{"no policy", map[string]string{"cleanup.policy": ""}, nil, with(func(c *storage.LogConfig) { c.Delete = false })},
		{"negative size", map[string]string{"retention.bytes": "-7"}, nil, defaults},
		{"zstd", map[string]string{"compression.type": "zstd"}, nil, with(func(c *storage.LogConfig) { c.Compression = 4 })},
		{
			"zstd at a level",
			map[string]string{"compression.type": "zstd", "compression.zstd.level": "-5", "compression.lz4.level": "4"},
			nil,
			with(func(c *storage.LogConfig) { c.Compression, c.CompressionLevel = 4, -5 }),
		},
		{
			"lz4 at the broker's level",
			map[string]string{"compression.type": "lz4"},
			map[string]string{"compression.lz4.level": "4"},
			with(func(c *storage.LogConfig) { c.Compression, c.CompressionLevel = 3, 4 }),
		},
		{
			"gzip at its default level",
			map[string]string{"compression.type": "gzip", "compression.gzip.level": "-1"},
			nil,
			with(func(c *storage.LogConfig) { c.Compression = 1 }),
		},
		{"snappy has no levels", map[string]string{"compression.type": "snappy"}, nil, with(func(c *storage.LogConfig) { c.Compression = 2 })},
		{"producer", map[string]string{"compression.type": "producer"}, map[string]string{"compression.type": "zstd"}, defaults},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := CheckTopicConfig(tt.topic, tt.broker); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, Resolve(tt.topic, tt.broker)); diff != "" {
				t.Errorf("log config (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWriteTopicConfigDoc(t *testing.T) {
	var b strings.Builder
	if err := WriteTopicConfigDoc(&b); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != len(topicKeys)+2 {
		t.Errorf("%d lines for %d settings", len(lines), len(topicKeys))
	}
	want := "| `retention.ms` | long | `604800000` | -1 or more | `log.retention.ms`, `log.retention.minutes`, `log.retention.hours` | How long records are kept. -1: for ever. |"
	if !slices.Contains(lines, want) {
		t.Errorf("no line %s in\n%s", want, b.String())
	}
	for _, line := range lines {
		if strings.Count(line, "|") != 7 {
			t.Errorf("line does not have six columns: %s", line)
		}
	}
}
