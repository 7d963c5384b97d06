package survey

import (
	"sync"
	"time"

	"rota/internal/group"
	"rota/internal/lag"
	"rota/internal/record"
	"rota/internal/storage"
	"rota/internal/story"
)

const (
	// datingTime is how long Date looks for timestamps. Some that it has found it
	// remembers, so that groups that stand still cost nothing the next time.
	datingTime = 50 * time.Millisecond
	// maxDates is how many timestamps are remembered.
	maxDates = 10_000
)

// Date says of each group how old the oldest record is that it has not
// consumed. It does not take longer for many groups than datingTime: those that
// it does not get to stay without.
func (s *Source) Date(list []Group) {
	until := time.Now().Add(datingTime)
	codec := new(record.Codec)
	for i := range list {
		if list[i].Lag == 0 {
			continue
		}
		if time.Now().After(until) {
			return
		}
		v, ok := s.Coordinator.Inspect(list[i].ID)
		if !ok {
			continue // deleted meanwhile
		}
		s.date(&list[i], &v, codec, until)
	}
}

func (s *Source) date(g *Group, v *group.Inspection, codec *record.Codec, until time.Time) {
	if oldest, ok := s.oldest(v, codec, until); ok {
		g.LagTime = story.Millis(time.Duration(max(s.present()-oldest, 0)) * time.Millisecond)
	}
}

// oldest is the timestamp of the oldest record that a group has not consumed;
// false if not all of them can be read, or not until then.
func (s *Source) oldest(v *group.Inspection, codec *record.Codec, until time.Time) (timestamp int64, ok bool) {
	ends := s.ends()
	for i := range v.Offsets {
		o := &v.Offsets[i]
		log := ends.log(o.Topic, o.Partition)
		if log == nil {
			continue // the topic is gone
		}
		b := log.Bounds()
		next := max(o.Offset, b.Start)
		if next >= b.HighWatermark {
			continue
		}
		if time.Now().After(until) {
			return 0, false
		}
		at := s.dates.of(log, next, codec)
		if at == lag.Unknown {
			return 0, false
		}
		if !ok || at < timestamp {
			timestamp, ok = at, true
		}
	}
	return timestamp, ok
}

// dates remembers the timestamps of the records that groups are to consume next:
// those of groups that stand still are asked for again and again. The zero
// value is ready.
type dates struct {
	mu    sync.Mutex
	known map[place]int64
}

// place is an offset of a partition.
type place struct {
	partition storage.Partition
	offset    int64
}

// of is the timestamp of the first record at or after an offset, lag.Unknown if
// it cannot be read.
func (d *dates) of(log *storage.Log, offset int64, codec *record.Codec) int64 {
	p := place{log.Partition(), offset}
	d.mu.Lock()
	at, ok := d.known[p]
	d.mu.Unlock()
	if ok {
		return at
	}
	if at = timestampAt(log, offset, codec); at == lag.Unknown {
		return at
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known == nil || len(d.known) >= maxDates {
		d.known = map[place]int64{}
	}
	d.known[p] = at
	return at
}
