package api_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/catalog"
)

// commitRequest is a TxnOffsetCommit of one partition for each offset, by name
// and by id.
func (p *producer) commitRequest(group string, t *catalog.Topic, offsets ...int64) *kmsg.TxnOffsetCommitRequest {
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Group = p.id, p.producerID, p.epoch, group
	topic := kmsg.TxnOffsetCommitRequestTopic{Topic: t.Name, TopicID: t.ID}
	for i, offset := range offsets {
		o := kmsg.NewTxnOffsetCommitRequestTopicPartition()
		o.Partition, o.Offset, o.LeaderEpoch, o.Metadata = int32(i), offset, 3, new("m")
		topic.Partitions = append(topic.Partitions, o)
	}
	req.Topics = []kmsg.TxnOffsetCommitRequestTopic{topic}
	return req
}

// addOffsets makes a group part of the transaction.
func (p *producer) addOffsets(version int16, group string) int16 {
	p.Helper()
	return ask[*kmsg.AddOffsetsToTxnResponse](p.client, version, &kmsg.AddOffsetsToTxnRequest{
		TransactionalID: p.id, ProducerID: p.producerID, ProducerEpoch: p.epoch, Group: group,
	}).ErrorCode
}

// commits sends the request and returns the codes of all partitions.
func (p *producer) commits(version int16, req *kmsg.TxnOffsetCommitRequest) []int16 {
	p.Helper()
	var codes []int16
	for _, t := range ask[*kmsg.TxnOffsetCommitResponse](p.client, version, req).Topics {
		for _, one := range t.Partitions {
			codes = append(codes, one.ErrorCode)
		}
	}
	return codes
}

func TestTxnOffsetCommitInEveryVersion(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		topic := r.topic("t", 2)
		p := r.client("writer").transactional("tx")
		eachVersion(r, kmsg.TxnOffsetCommit, func(v int16) {
			group := fmt.Sprint("g", v)
			if v < 5 {
				if code := p.addOffsets(v, group); code != 0 {
					t.Fatalf("AddOffsetsToTxn v%d: error %d", v, code)
				}
			}
			want := &kmsg.TxnOffsetCommitResponse{Topics: []kmsg.TxnOffsetCommitResponseTopic{{
				Topic: "t", TopicID: topic.ID, Partitions: []kmsg.TxnOffsetCommitResponseTopicPartition{{Partition: 0}, {Partition: 1}},
			}}}
			equal(t, ask[*kmsg.TxnOffsetCommitResponse](p.client, v, p.commitRequest(group, topic, 7, 8)), want)
			if _, got := p.offsets(8, group, nil); len(got) != 0 {
				t.Errorf("v%d, before the end: %v", v, got)
			}
			if code := p.end(5, true); code != 0 {
				t.Errorf("v%d: the end: error %d", v, code)
			}
			epoch := int32(-1)
			if v >= 2 {
				epoch = 3
			}
			wanted := []fetched{{"t", 0, 7, epoch, "m", 0}, {"t", 1, 8, epoch, "m", 0}}
			if _, got := p.offsets(8, group, nil); !cmp.Equal(wanted, got) {
				t.Errorf("v%d, at the end: %v", v, got)
			}
		})
	})
}

// What the API, the transaction coordinator and the group refuse, in this
// order.
func TestTxnOffsetCommitRefusals(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		topic := r.topic("t", 1)
		p := r.client("writer").transactional("tx")
		unknown := *topic
		unknown.Name, unknown.ID = "nosuch", [16]byte{9}
		for _, s := range []struct {
			name    string
			version int16
			req     *kmsg.TxnOffsetCommitRequest
			want    []int16
		}{
			{"nothing that exists: nobody else is asked", 3, p.commitRequest("g", &unknown, 1), []int16{3}},
			{"the same by id", 6, p.commitRequest("g", &unknown, 1), []int16{100}},
			{"no group", 3, p.commitRequest("", topic, 1), []int16{24}},
			{"not part of the transaction", 3, p.commitRequest("g", topic, 1, 2), []int16{48, 3}},
			{"the same, of a client that knows it", 4, p.commitRequest("g", topic, 1), []int16{120}},
		} {
			if got := p.commits(s.version, s.req); !cmp.Equal(s.want, got) {
				t.Errorf("%s: %v, want %v", s.name, got, s.want)
			}
		}
		stranger := *p
		stranger.producerID++
		if got := stranger.commits(5, stranger.commitRequest("g", topic, 1)); !cmp.Equal([]int16{49}, got) {
			t.Errorf("another producer id: %v", got)
		}
		zombie := *p
		p.init(4)
		if got := zombie.commits(3, zombie.commitRequest("g", topic, 1)); !cmp.Equal([]int16{47}, got) {
			t.Errorf("a fenced producer: %v", got)
		}
		p.addOffsets(3, "g")
		of := p.commitRequest("g", topic, 1)
		of.MemberID, of.Generation = "zombie", 3
		if got := p.commits(3, of); !cmp.Equal([]int16{22}, got) {
			t.Errorf("a generation of no group: %v", got)
		}
		if got := p.commits(6, of); !cmp.Equal([]int16{69}, got) {
			t.Errorf("the same in version 6: %v", got)
		}
		if got := p.commits(3, p.commitRequest("g", topic, 1, 2)); !cmp.Equal([]int16{0, 3}, got) {
			t.Errorf("one that exists and one that does not: %v", got)
		}
	})
}

// B26: the flag for stable answers counts in every form of OffsetFetch, and for
// every group.
func TestStableOffsetsInEveryVersion(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		topic := r.topic("t", 1)
		p := r.client("writer").transactional("tx")
		ask[*kmsg.OffsetCommitResponse](p.client, 8, commitRequest("g", commit{topic: "t", offset: 40, epoch: -1}))
		type found struct {
			offset int64
			code   int16
		}
		fetches := func(v int16, stable bool) (g, h found) {
			t.Helper()
			h = found{-1, 0}
			if v < 8 {
				req := fetchRequest("g", []named{{"t", []int32{0}}})
				req.RequireStable = stable
				one := ask[*kmsg.OffsetFetchResponse](p.client, v, req).Topics[0].Partitions[0]
				return found{one.Offset, one.ErrorCode}, h
			}
			req := fetchGroups(fetchGroup("g", []named{{"t", []int32{0}}}), fetchGroup("h", []named{{"t", []int32{0}}}))
			req.RequireStable = stable
			for i := range req.Groups {
				req.Groups[i].Topics[0].TopicID = topic.ID
			}
			resp := ask[*kmsg.OffsetFetchResponse](p.client, v, req)
			one, other := resp.Groups[0].Topics[0].Partitions[0], resp.Groups[1].Topics[0].Partitions[0]
			return found{one.Offset, one.ErrorCode}, found{other.Offset, other.ErrorCode}
		}
		p.addOffsets(3, "g")
		if got := p.commits(3, p.commitRequest("g", topic, 50)); !cmp.Equal([]int16{0}, got) {
			t.Fatal(got)
		}
		eachVersion(r, kmsg.OffsetFetch, func(v int16) {
			if v >= 7 {
				if g, h := fetches(v, true); g.offset != -1 || g.code != 88 || h.offset != -1 || h.code != 0 {
					t.Errorf("v%d, stable, while it is open: %+v and %+v", v, g, h)
				}
			}
			if g, _ := fetches(v, false); g.offset != 40 || g.code != 0 {
				t.Errorf("v%d, while it is open: %+v", v, g)
			}
		})
		p.end(3, true)
		eachVersion(r, kmsg.OffsetFetch, func(v int16) {
			if g, _ := fetches(v, v >= 7); g.offset != 50 || g.code != 0 {
				t.Errorf("v%d, at the end: %+v", v, g)
			}
		})
	})
}

// The next transaction may commit offsets of the same group before the marker
// of the last is written.
func TestTxnOffsetCommitsFollowEachOtherWithoutAPause(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		topic := r.topic("t", 1)
		p := r.client("writer").transactional("tx")
		for i := range int64(20) {
			if got := p.commits(5, p.commitRequest("g", topic, i)); !cmp.Equal([]int16{0}, got) {
				t.Fatalf("commit %d: %v", i, got)
			}
			resp := ask[*kmsg.EndTxnResponse](p.client, 5, &kmsg.EndTxnRequest{
				TransactionalID: p.id, ProducerID: p.producerID, ProducerEpoch: p.epoch, Commit: i%3 != 2,
			})
			if resp.ErrorCode != 0 {
				t.Fatalf("end %d: error %d", i, resp.ErrorCode)
			}
			p.producerID, p.epoch = resp.ProducerID, resp.ProducerEpoch
		}
		settle()
		if got := p.offset("g", "t", 0); got != 19 {
			t.Errorf("committed is %d", got)
		}
	})
}

// Records and offsets of one transaction are committed together, also if the
// broker restarts before the end; and not at all if nobody ends it.
func TestOffsetsGoWithTheirTransactionOverARestart(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		topic := r.topic("t", 1)
		p, q := r.client("p").transactional("p"), r.client("q").transactional("q")
		for i, one := range []*producer{p, q} {
			if got := one.write(13, topic, 0, one.id); got.ErrorCode != 0 {
				t.Fatalf("%+v", got)
			}
			if got := one.commits(5, one.commitRequest(one.id, topic, int64(10+i))); !cmp.Equal([]int16{0}, got) {
				t.Fatal(got)
			}
		}
		r.restart()
		p.client, q.client = r.client("p"), r.client("q")
		if code := p.end(5, true); code != 0 {
			t.Fatalf("error %d", code)
		}
		if got := p.offset("p", "t", 0); got != 10 {
			t.Errorf("committed is %d", got)
		}
		if got := p.offset("q", "t", 0); got != -1 {
			t.Errorf("committed of what is open is %d", got)
		}
		r.passes(62_000)
		if got := p.offset("q", "t", 0); got != -1 {
			t.Errorf("committed of what nobody ended is %d", got)
		}
		if diff := cmp.Diff([]string{"p"}, valuesOf(t, p.readCommitted(topic))); diff != "" {
			t.Error(diff)
		}
	})
}
