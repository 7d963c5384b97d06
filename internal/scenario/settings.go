package scenario

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"rota/internal/group"
)

// setting is a broker setting that a file may ask for.
type setting struct {
	name string
	// byDefault is what a file gets that says nothing: Kafka's own default.
	byDefault int64
	// scaled: in milliseconds, to be shortened with the file's other times.
	scaled bool
	put    func(*group.Config, int64)
}

// coreSettings begins the names of settings that Kafka does not have. Only a
// file that never plays over TCP may use them.
const coreSettings = "core."

var settings = []setting{
	{"group.min.session.timeout.ms", 6000, true, func(c *group.Config, n int64) { c.MinSessionTimeout = millis(n) }},
	{"group.max.session.timeout.ms", 1800000, true, func(c *group.Config, n int64) { c.MaxSessionTimeout = millis(n) }},
	{"group.initial.rebalance.delay.ms", 3000, true, func(c *group.Config, n int64) { c.InitialDelay = millis(n) }},
	{"group.max.size", math.MaxInt32, false, func(c *group.Config, n int64) { c.MaxSize = int(n) }},
	{"offset.metadata.max.bytes", 4096, false, func(c *group.Config, n int64) { c.MaxMetadata = int(n) }},
	{"offsets.retention.minutes", 10080, false, func(c *group.Config, n int64) {
		c.OffsetsRetention = time.Duration(n) * time.Minute
	}},
	// The pure rules have no timer for the retention pass; "expire" runs one.
	{"offsets.retention.check.interval.ms", 600000, true, func(*group.Config, int64) {}},
	{"core.new.member.timeout.ms", 300000, false, func(c *group.Config, n int64) { c.NewMemberTimeout = millis(n) }},
	{"core.max.record.bytes", 16 << 20, false, func(c *group.Config, n int64) { c.MaxRecordBytes = int(n) }},
}

func millis(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// parseSetting reads one word of a broker line.
func parseSetting(word string) (setting, int64, error) {
	name, value, _ := strings.Cut(word, "=")
	for _, s := range settings {
		if s.name != name {
			continue
		}
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < 0 || n > math.MaxInt32*1000 {
			return s, 0, fmt.Errorf("%s is not a number that %s can have", value, name)
		}
		return s, n, nil
	}
	return setting{}, 0, fmt.Errorf("unknown broker setting %q", name)
}

// brokerSettings returns what the file's broker lines ask for.
func (f *File) brokerSettings() map[string]int64 {
	asked := map[string]int64{}
	for _, b := range f.Blocks {
		if b.Input.Kind != Command || b.Input.Words[0] != "broker" {
			continue
		}
		for _, w := range b.Input.Words[1:] {
			if s, n, err := parseSetting(w); err == nil {
				asked[s.name] = n
			}
		}
	}
	return asked
}

// Config returns the settings of the file for the pure rules.
func (f *File) Config() *group.Config {
	c, asked := &group.Config{CheckInvariants: true}, f.brokerSettings()
	for _, s := range settings {
		n, ok := asked[s.name]
		if !ok {
			n = s.byDefault
		}
		s.put(c, n)
	}
	return c
}

// Settings returns the broker settings that the file needs in order to play
// over TCP with its times multiplied by scale, by Kafka's names, each ready for
// "--set". Those that have Kafka's default are there too, since a broker may
// have defaults of its own.
func (f *File) Settings(scale float64) map[string]string {
	set, asked := map[string]string{}, f.brokerSettings()
	for _, s := range settings {
		if strings.HasPrefix(s.name, coreSettings) {
			continue
		}
		n, ok := asked[s.name]
		if !ok {
			n = s.byDefault
		}
		if s.scaled {
			n = int64(math.Round(float64(n) * scale))
		}
		set[s.name] = strconv.FormatInt(n, 10)
	}
	return set
}
