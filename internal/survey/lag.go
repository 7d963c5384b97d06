package survey

import (
	"sync"

	"rota/internal/group"
	"rota/internal/lag"
	"rota/internal/record"
	"rota/internal/storage"
)

// maxDated is for how many partitions of a group the oldest record that is not
// consumed is read, to know its age.
const maxDated = 1000

// LagMeter says how far groups are behind. Unlike a Source it remembers: rates
// come from what it saw when it was asked before. It is safe for use by several
// goroutines.
type LagMeter struct {
	Source *Source

	mu      sync.Mutex
	tracker lag.Tracker
}

// Group judges every partition that the group has committed an offset of or
// that a member has, sorted by topic and partition. Errors: ErrUnknown.
func (m *LagMeter) Group(id string) ([]lag.Lag, error) {
	v, ok := m.Source.Coordinator.Inspect(id)
	if !ok {
		return nil, ErrUnknown
	}
	readings := m.Source.readings(&v)
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.tracker.Judge(id, readings), nil
}

// readings look at the partitions of a group.
func (s *Source) readings(v *group.Inspection) []lag.Reading {
	now, ends, codec, dated := s.present(), s.ends(), new(record.Codec), 0
	owned := ownedBy(v)
	list := make([]lag.Reading, 0, len(v.Offsets)+len(owned))
	add := func(r lag.Reading) {
		log := ends.log(r.Topic, r.Partition)
		if log == nil {
			return // the topic is gone
		}
		b := log.Bounds()
		r.AtMillis, r.LogStart, r.LogEnd, r.NextMillis = now, b.Start, b.HighWatermark, lag.Unknown
		if next := max(r.Committed, b.Start); next < b.HighWatermark && dated < maxDated {
			dated++
			r.NextMillis = s.dates.of(log, next, codec)
		}
		list = append(list, r)
	}
	for i := range v.Offsets {
		o := &v.Offsets[i]
		add(lag.Reading{
			Topic: o.Topic, Partition: o.Partition, Committed: o.Offset, CommittedMillis: o.CommitMillis,
			ExpiresMillis: o.ExpiresMillis, Owned: owned[o.TopicPartition],
		})
		delete(owned, o.TopicPartition)
	}
	for tp := range owned { // nothing committed yet
		add(lag.Reading{Topic: tp.Topic, Partition: tp.Partition, Committed: lag.Unknown, CommittedMillis: lag.Unknown, ExpiresMillis: lag.Unknown, Owned: true})
	}
	lag.Sort(list)
	return list
}

// ownedBy is what the members of a group have, as far as it can be read.
func ownedBy(v *group.Inspection) map[group.TopicPartition]bool {
	owned := map[group.TopicPartition]bool{}
	for i := range v.Members {
		for _, t := range member(&v.Members[i], v.ProtocolType).Assigned {
			for _, p := range t.Partitions {
				owned[group.TopicPartition{Topic: t.Topic, Partition: p}] = true
			}
		}
	}
	return owned
}

// timestampAt is the timestamp of the first record at or after an offset,
// lag.Unknown if it cannot be read.
func timestampAt(log *storage.Log, offset int64, codec *record.Codec) int64 {
	batches, _, err := log.Read(nil, offset, storage.ReadOptions{MaxBytes: 1, Whole: true})
	if err != nil {
		return lag.Unknown
	}
	for batch, err := range record.Batches(batches) {
		if err != nil {
			return lag.Unknown
		}
		for r, err := range codec.Records(batch) {
			if err != nil {
				return lag.Unknown
			}
			if r.Offset >= offset {
				return r.Timestamp
			}
		}
	}
	return lag.Unknown
}

// log returns the log of a partition, nil if there is none.
func (e *logEnds) log(topic string, index int32) *storage.Log {
	t, ok := e.view.Topic(topic)
	if !ok {
		return nil
	}
	log, _ := e.store.Log(storage.Partition{Topic: t.ID, Index: index})
	return log
}
