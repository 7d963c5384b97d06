package coordinator

import (
	"testing"

	"rota/internal/group"
)

func txnCommit(producer, offset int64) group.TxnCommit {
	return group.TxnCommit{
		Version: 3, ProducerID: producer, Generation: -1,
		Offsets: []group.CommitOffset{{TopicPartition: group.TopicPartition{Topic: "t"}, Offset: offset, LeaderEpoch: -1, Timestamp: -1}},
	}
}

// TestPermitsAreVoidFromTheMarkerOn checks which permits a marker makes void,
// and that none is kept that nobody needs.
func TestPermitsAreVoidFromTheMarkerOn(t *testing.T) {
	var s endings
	key := ending{3, 7}
	first, second := s.take(key), s.take(key)
	otherPartition, otherProducer := s.take(ending{4, 7}), s.take(ending{3, 8})
	first.Release()
	s.end(key)
	later := s.take(key)
	for _, c := range []struct {
		name string
		p    *Permit
		good bool
	}{
		{"taken before", second, false},
		{"of another partition", otherPartition, true},
		{"of another producer", otherProducer, true},
		{"taken later", later, true},
	} {
		if c.p.Good() != c.good {
			t.Errorf("%s: good is %t", c.name, !c.good)
		}
		c.p.Release()
	}
	if len(s.permits) != 0 {
		t.Errorf("%d permits are kept", len(s.permits))
	}
}
