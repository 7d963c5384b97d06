package coordinator

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rota/internal/group"
	"rota/internal/storage"
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

// commitsIn commits offsets of partitions of topic t, from 0 on, within the
// transaction of a producer.
func (h *house) commitsIn(producer int64, id string, offsets ...int64) group.Code {
	h.t.Helper()
	permit := h.c.TakePermit(id, producer)
	defer permit.Release()
	return h.commitsWith(permit, producer, id, offsets...)
}

func (h *house) commitsWith(permit *Permit, producer int64, id string, offsets ...int64) group.Code {
	h.t.Helper()
	c := txnCommit(producer, 0)
	c.Offsets = nil
	for p, offset := range offsets {
		c.Offsets = append(c.Offsets, group.CommitOffset{
			TopicPartition: group.TopicPartition{Topic: "t", Partition: int32(p)}, Offset: offset, LeaderEpoch: -1, Timestamp: -1,
		})
	}
	got := make(chan group.Response, 1)
	h.c.CommitInTransaction(id, c, permit, func(r group.Response) { got <- r })
	return (<-got).(group.Committed).Codes[0]
}

// ends ends the transaction of a producer in the partitions of the groups.
func (h *house) ends(producer int64, commit bool, groups ...string) {
	h.t.Helper()
	for _, id := range groups {
		got := make(chan error, 1)
		h.c.EndTransaction(h.c.PartitionOf(id), storage.Marker{ProducerID: producer, Commit: commit}, func(err error) { got <- err })
		if err := <-got; err != nil {
			h.t.Fatalf("the marker for %s: %v", id, err)
		}
	}
}

// TestNoCommitLandsBehindItsMarker checks that a commit that was verified before
// its transaction ended is not taken afterwards: nobody would ever end it.
func TestNoCommitLandsBehindItsMarker(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newHouse(t)
		if code := h.commitsIn(7, "g", 10); code != 0 {
			t.Fatal(code)
		}
		permit := h.c.TakePermit("g", 7) // the transaction coordinator says yes to this one
		h.ends(7, true, "g")
		if code := h.commitsWith(permit, 7, "g", 11); code != codeInvalidTxnState {
			t.Errorf("behind the marker: error %d", code)
		}
		permit.Release()
		if code := h.commitsIn(7, "g", 12); code != 0 {
			t.Errorf("in the next transaction: error %d", code)
		}
		stable := h.ask("g", group.FetchOffsets{Partitions: []group.TopicPartition{t0}, RequireStable: true}).(group.FetchedOffsets)
		if got := stable.Offsets[0]; got.Code != 88 {
			t.Errorf("while that one is open: %+v", got)
		}
		h.ends(7, false, "g")
		for range 2 {
			if diff := cmp.Diff(map[int32]int64{0: 10}, h.offsets("g")); diff != "" {
				t.Error(diff)
			}
			h.restart()
		}
		if len(h.c.endings.permits) != 0 {
			t.Errorf("permits are kept: %v", h.c.endings.permits)
		}
	})
}

// B58: compaction keeps what transactions have committed, drops what they have
// given up, and leaves alone what is open.
func TestCompactionKeepsOffsetsOfTransactions(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newCompactedHouse(t)
		const p, q = 1, 2
		must := func(code group.Code) {
			t.Helper()
			if code != 0 {
				t.Fatalf("error %d", code)
			}
		}
		others := func() { // fill segments of all partitions
			for i := range 400 {
				h.commits(fmt.Sprint("filler-", i%8), int64(i), int64(i))
			}
		}
		check := func(what string, g, other map[int32]int64) {
			t.Helper()
			for _, w := range []struct {
				id   string
				want map[int32]int64
			}{{"g", g}, {"h", other}} {
				if diff := cmp.Diff(w.want, h.offsets(w.id)); diff != "" {
					t.Errorf("%s, group %s (-want +got):\n%s", what, w.id, diff)
				}
			}
		}
		must(h.commitsIn(p, "g", 10, 11))
		h.ends(p, true, "g")
		must(h.commitsIn(p, "h", 20))
		h.ends(p, true, "h")
		must(h.commitsIn(p, "g", 99))
		h.ends(p, false, "g")
		others()
		must(h.commitsIn(q, "g", 30))
		others()
		check("before compaction", map[int32]int64{0: 10, 1: 11}, map[int32]int64{0: 20})
		for range 2 {
			h.compact()
			h.restart()
			check("compacted, with one transaction open", map[int32]int64{0: 10, 1: 11}, map[int32]int64{0: 20})
		}
		h.ends(q, true, "g")
		check("at its end", map[int32]int64{0: 30, 1: 11}, map[int32]int64{0: 20})
		others()
		for range 2 {
			h.compact()
			h.restart()
			check("compacted at its end", map[int32]int64{0: 30, 1: 11}, map[int32]int64{0: 20})
		}
	})
}
