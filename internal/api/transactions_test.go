package api_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/catalog"
	"rota/internal/record"
)

// producer is a transactional producer of a test.
type producer struct {
	*client
	id         string
	producerID int64
	epoch      int16
	sequences  map[string]int32 // the next one, by topic and partition
}

// transactional gives the client a transactional id.
func (c *client) transactional(id string) *producer {
	c.Helper()
	p := &producer{client: c, id: id}
	if code := p.init(4); code != 0 {
		c.Fatalf("InitProducerID: error %d", code)
	}
	return p
}

// init takes the transactional id over.
func (p *producer) init(version int16) int16 {
	p.Helper()
	req := kmsg.NewPtrInitProducerIDRequest()
	req.TransactionalID, req.TransactionTimeoutMillis = &p.id, 60_000
	resp := ask[*kmsg.InitProducerIDResponse](p.client, version, req)
	if resp.ErrorCode == 0 {
		p.producerID, p.epoch, p.sequences = resp.ProducerID, resp.ProducerEpoch, map[string]int32{}
	}
	return resp.ErrorCode
}

// batch makes the next batch of the producer for a partition.
func (p *producer) batch(t *catalog.Topic, partition int32, values ...string) []byte {
	key := fmt.Sprint(t.Name, partition)
	var b record.Builder
	b.Reset(nil)
	b.SetProducer(p.producerID, p.epoch, p.sequences[key])
	b.SetTransactional()
	for i, v := range values {
		b.Append(int64(1000+i), []byte("k"), []byte(v))
	}
	p.sequences[key] += int32(len(values))
	return b.Finish()
}

func (p *producer) request(t *catalog.Topic, partition int32, values ...string) *kmsg.ProduceRequest {
	req := produceRequest(t, partition, -1, p.batch(t, partition, values...))
	req.TransactionID = &p.id
	return req
}

// write sends one transactional batch and returns the answer.
func (p *producer) write(version int16, t *catalog.Topic, partition int32, values ...string) kmsg.ProduceResponseTopicPartition {
	p.Helper()
	return ask[*kmsg.ProduceResponse](p.client, version, p.request(t, partition, values...)).Topics[0].Partitions[0]
}

// add adds partitions of a topic to the transaction.
func (p *producer) add(version int16, topic string, partitions ...int32) []int16 {
	p.Helper()
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch = p.id, p.producerID, p.epoch
	req.Topics = []kmsg.AddPartitionsToTxnRequestTopic{{Topic: topic, Partitions: partitions}}
	req.Transactions = []kmsg.AddPartitionsToTxnRequestTransaction{{
		TransactionalID: p.id, ProducerID: p.producerID, ProducerEpoch: p.epoch,
		Topics: []kmsg.AddPartitionsToTxnRequestTransactionTopic{{Topic: topic, Partitions: partitions}},
	}}
	resp := ask[*kmsg.AddPartitionsToTxnResponse](p.client, version, req)
	var codes []int16
	if version < 4 {
		for _, one := range resp.Topics[0].Partitions {
			codes = append(codes, one.ErrorCode)
		}
		return codes
	}
	for _, one := range resp.Transactions[0].Topics[0].Partitions {
		codes = append(codes, one.ErrorCode)
	}
	return codes
}

// end ends the transaction and waits until its markers are written.
func (p *producer) end(version int16, commit bool) int16 {
	p.Helper()
	resp := ask[*kmsg.EndTxnResponse](p.client, version, &kmsg.EndTxnRequest{
		TransactionalID: p.id, ProducerID: p.producerID, ProducerEpoch: p.epoch, Commit: commit,
	})
	if version >= 5 && resp.ErrorCode == 0 {
		p.producerID, p.epoch, p.sequences = resp.ProducerID, resp.ProducerEpoch, map[string]int32{}
	}
	settle()
	return resp.ErrorCode
}

// readCommitted fetches partition 0 of a topic with read_committed.
func (c *client) readCommitted(t *catalog.Topic) kmsg.FetchResponseTopicPartition {
	c.Helper()
	req := fetchOf(from{topic: t})
	req.IsolationLevel = 1
	return ask[*kmsg.FetchResponse](c, 12, req).Topics[0].Partitions[0]
}

// valuesOf lists the values of a fetched partition as a client shows them:
// without markers, and without what the answer names as aborted.
func valuesOf(t *testing.T, p kmsg.FetchResponseTopicPartition) []string {
	t.Helper()
	aborted := p.AbortedTransactions
	slices.SortFunc(aborted, func(a, b kmsg.FetchResponseTopicPartitionAbortedTransaction) int {
		return int(a.FirstOffset - b.FirstOffset)
	})
	gone := map[int64]bool{} // producers whose records here are aborted
	var values []string
	codec := new(record.Codec)
	for batches := p.RecordBatches; len(batches) > 0; {
		h, err := record.ParseHeader(batches)
		if err != nil {
			t.Fatal(err)
		}
		batch := batches[:h.Size()]
		batches = batches[h.Size():]
		for len(aborted) > 0 && aborted[0].FirstOffset <= h.LastOffset() {
			gone[aborted[0].ProducerID] = true
			aborted = aborted[1:]
		}
		for r, err := range codec.Records(batch) {
			switch {
			case err != nil:
				t.Fatal(err)
			case h.Attributes.Control():
				gone[h.ProducerID] = false
			case !h.Attributes.Transactional() || !gone[h.ProducerID]:
				values = append(values, string(r.Value))
			}
		}
	}
	return values
}

// Every version of what a producer sends makes transactions that readers see
// whole or not at all.
func TestTransactionsInEveryVersion(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		topic := r.topic("t", 1)
		c := r.client("reader")
		p := r.client("writer").transactional("tx")
		var want []string
		n := 0
		check := func(what string) {
			t.Helper()
			got := c.readCommitted(topic)
			if diff := cmp.Diff(want, valuesOf(t, got), equateEmpty); diff != "" {
				t.Errorf("%s (-want +got):\n%s", what, diff)
			}
		}
		transaction := func(what string, commit bool, write func(value string), end func() int16) {
			t.Helper()
			n++
			value := fmt.Sprint(what, " ", n)
			write(value)
			check(what + ", while it is open")
			if code := end(); code != 0 {
				t.Errorf("%s: its end is error %d", what, code)
			}
			if commit {
				want = append(want, value)
			}
			check(what + ", at its end")
		}
		for _, commit := range []bool{true, false} {
			eachVersion(r, kmsg.AddPartitionsToTxn, func(v int16) {
				transaction(fmt.Sprint("AddPartitionsToTxn v", v), commit, func(value string) {
					if codes := p.add(v, "t", 0); codes[0] != 0 {
						t.Errorf("AddPartitionsToTxn v%d: %v", v, codes)
					}
					if got := p.write(9, topic, 0, value); got.ErrorCode != 0 {
						t.Errorf("%+v", got)
					}
				}, func() int16 { return p.end(3, commit) })
			})
			eachVersion(r, kmsg.EndTxn, func(v int16) {
				transaction(fmt.Sprint("EndTxn v", v), commit, func(value string) {
					p.add(3, "t", 0)
					if got := p.write(11, topic, 0, value); got.ErrorCode != 0 {
						t.Errorf("%+v", got)
					}
				}, func() int16 { return p.end(v, commit) })
			})
			eachVersion(r, kmsg.Produce, func(v int16) {
				transaction(fmt.Sprint("Produce v", v), commit, func(value string) {
					if v < 12 {
						p.add(3, "t", 0)
					}
					if got := p.write(v, topic, 0, value); got.ErrorCode != 0 {
						t.Errorf("Produce v%d: %+v", v, got)
					}
				}, func() int16 { return p.end(5, commit) })
			})
		}
		r.restart()
		c = r.client("reader")
		check("after a restart")
	})
}

// A batch that belongs to no open transaction of its producer is refused, in
// the words that each version knows.
func TestTransactionalBatchesOfNoTransaction(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		topic := r.topic("t", 2)
		p := r.client("writer").transactional("tx")
		if got := p.produced(9, topic, 0, p.batch(topic, 0, "x")); got.ErrorCode != 53 {
			t.Errorf("without transactional id: %+v", got)
		}
		p.sequences = map[string]int32{}
		p.add(3, "t", 1)
		for v, code := range map[int16]int16{9: 48, 10: 48, 11: 120} {
			if got := p.write(v, topic, 0, "x"); got.ErrorCode != code {
				t.Errorf("v%d, of a partition that was not added: %+v, want error %d", v, got, code)
			}
			p.sequences = map[string]int32{}
		}
		other := *p
		other.sequences = map[string]int32{}
		other.producerID++
		if got := other.write(11, topic, 1, "x"); got.ErrorCode != 49 {
			t.Errorf("another producer id: %+v", got)
		}
		other = *p
		other.sequences = map[string]int32{}
		other.epoch++
		if got := other.write(12, topic, 1, "x"); got.ErrorCode != 47 {
			t.Errorf("another epoch: %+v", got)
		}
		if got := p.write(11, topic, 1, "x"); got.ErrorCode != 0 || got.BaseOffset != 0 {
			t.Errorf("of the partition that was added: %+v", got)
		}
		if code := p.end(3, false); code != 0 {
			t.Errorf("the end: error %d", code)
		}
		if got := p.write(11, topic, 1, "late"); got.ErrorCode != 120 && got.ErrorCode != 48 {
			t.Errorf("behind the marker: %+v", got)
		}
	})
}

// Batches that are sent one behind the other arrive in that order, though the
// first has to wait until its partition is part of the transaction.
func TestProducesKeepTheirOrderWhileTheyAreVerified(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		topic := r.topic("t", 3)
		p := r.client("writer").transactional("tx")
		for round := range 3 {
			for i := range 5 {
				req := p.request(topic, 0, fmt.Sprint(i))
				also := p.request(topic, int32(1+i%2), fmt.Sprint(i))
				req.Topics[0].Partitions = append(req.Topics[0].Partitions, also.Topics[0].Partitions...)
				p.send(13, req)
			}
			for i := range 5 {
				resp := received[*kmsg.ProduceResponse](p.client)
				for _, got := range resp.Topics[0].Partitions {
					if got.ErrorCode != 0 {
						t.Fatalf("round %d, request %d: %+v", round, i, got)
					}
				}
				// Each transaction leaves its records and a marker.
				if got := resp.Topics[0].Partitions[0].BaseOffset; got != int64(6*round+i) {
					t.Errorf("round %d, request %d is at offset %d", round, i, got)
				}
			}
			if code := p.end(5, true); code != 0 {
				t.Fatalf("round %d: error %d", round, code)
			}
		}
	})
}

// The next transaction may begin before the markers of the last are written:
// what it sends waits for them.
func TestTransactionsFollowEachOtherWithoutAPause(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		topic := r.topic("t", 1)
		p := r.client("writer").transactional("tx")
		for i := range 20 {
			if got := p.write(13, topic, 0, "x"); got.ErrorCode != 0 {
				t.Fatalf("transaction %d: %+v", i, got)
			}
			resp := ask[*kmsg.EndTxnResponse](p.client, 5, &kmsg.EndTxnRequest{
				TransactionalID: p.id, ProducerID: p.producerID, ProducerEpoch: p.epoch, Commit: true,
			})
			if resp.ErrorCode != 0 {
				t.Fatalf("end %d: error %d", i, resp.ErrorCode)
			}
			p.producerID, p.epoch, p.sequences = resp.ProducerID, resp.ProducerEpoch, map[string]int32{}
		}
		settle()
		if got := len(valuesOf(t, p.readCommitted(topic))); got != 20 {
			t.Errorf("%d records are committed", got)
		}
	})
}

// Markers may take a while, on a slow disk: the next transaction waits for them,
// as long as its producer has time, and is not sent away.
func TestNextTransactionWaitsForSlowMarkers(t *testing.T) {
	for _, c := range []struct {
		timeout int32 // of the Produce, milliseconds
		want    int16
		within  time.Duration
	}{
		{10_000, 0, 4 * time.Second},
		{0, 0, 4 * time.Second},
		{300, 51, 300 * time.Millisecond},
	} {
		t.Run(fmt.Sprint(c.timeout), func(t *testing.T) {
			inBubble(t, nil, func(r *rig) {
				topic := r.topic("t", 1)
				p := r.client("writer").transactional("tx")
				p.write(13, topic, 0, "x")
				r.flaky.delay(time.Second)
				resp := ask[*kmsg.EndTxnResponse](p.client, 5, &kmsg.EndTxnRequest{
					TransactionalID: p.id, ProducerID: p.producerID, ProducerEpoch: p.epoch, Commit: true,
				})
				p.producerID, p.epoch, p.sequences = resp.ProducerID, resp.ProducerEpoch, map[string]int32{}
				req := p.request(topic, 0, "y")
				req.TimeoutMillis = c.timeout
				began := time.Now()
				got := ask[*kmsg.ProduceResponse](p.client, 13, req).Topics[0].Partitions[0]
				if took := time.Since(began); got.ErrorCode != c.want || took > c.within {
					t.Errorf("after %s: %+v, want error %d", took, got, c.want)
				}
				r.flaky.delay(0)
				r.passes(5000)
			})
		})
	}
}

// Whoever takes a transactional id over fences the one before, who is told in
// the words that each version knows.
func TestFencedProducers(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		topic := r.topic("t", 1)
		first := r.client("first").transactional("tx")
		first.add(3, "t", 0)
		if got := first.write(9, topic, 0, "zombie"); got.ErrorCode != 0 {
			t.Fatalf("%+v", got)
		}
		second := r.client("second").transactional("tx")
		if second.producerID != first.producerID || second.epoch <= first.epoch {
			t.Errorf("epoch %d of producer %d follows %d of %d", second.epoch, second.producerID, first.epoch, first.producerID)
		}
		if got := first.write(9, topic, 0, "again"); got.ErrorCode != 47 {
			t.Errorf("Produce: %+v", got)
		}
		for v, code := range map[int16]int16{0: 47, 1: 47, 2: 90, 5: 90} {
			if got := first.add(v, "t", 0); got[0] != code {
				t.Errorf("AddPartitionsToTxn v%d: %v, want %d", v, got, code)
			}
			if got := first.end(v, true); got != code {
				t.Errorf("EndTxn v%d: %d, want %d", v, got, code)
			}
		}
		for v, code := range map[int16]int16{0: 47, 1: 47, 2: 90, 4: 90} {
			req := &kmsg.AddOffsetsToTxnRequest{TransactionalID: "tx", ProducerID: first.producerID, ProducerEpoch: first.epoch, Group: "g"}
			if got := ask[*kmsg.AddOffsetsToTxnResponse](first.client, v, req).ErrorCode; got != code {
				t.Errorf("AddOffsetsToTxn v%d: %d, want %d", v, got, code)
			}
		}
		for v, code := range map[int16]int16{3: 47, 4: 90, 5: 90} {
			req := kmsg.NewPtrInitProducerIDRequest()
			req.TransactionalID, req.TransactionTimeoutMillis = &first.id, 60_000
			req.ProducerID, req.ProducerEpoch = first.producerID, first.epoch
			if got := ask[*kmsg.InitProducerIDResponse](first.client, v, req).ErrorCode; got != code {
				t.Errorf("InitProducerID v%d: %d, want %d", v, got, code)
			}
		}
		second.add(3, "t", 0)
		second.write(9, topic, 0, "heir")
		second.end(3, true)
		if diff := cmp.Diff([]string{"heir"}, valuesOf(t, second.readCommitted(topic))); diff != "" {
			t.Error(diff)
		}
	})
}

// Half an id and epoch is no producer.
func TestInitProducerIDOfHalfAProducer(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		c := r.client("c")
		for _, half := range [][2]int64{{4711, -1}, {-1, 3}} {
			for _, id := range []*string{nil, new("tx")} {
				req := kmsg.NewPtrInitProducerIDRequest()
				req.TransactionalID, req.TransactionTimeoutMillis = id, 60_000
				req.ProducerID, req.ProducerEpoch = half[0], int16(half[1])
				if resp := ask[*kmsg.InitProducerIDResponse](c, 5, req); resp.ErrorCode != 42 || resp.ProducerID != -1 {
					t.Errorf("%v: %+v", half, resp)
				}
			}
		}
	})
}

// If one partition cannot be added none is.
func TestAddPartitionsToTxnAllOrNone(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.topic("t", 2)
		p := r.client("writer").transactional("tx")
		if diff := cmp.Diff([]int16{55, 3, 55}, p.add(3, "t", 0, 2, 1)); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]int16{29}, p.add(3, "__consumer_offsets", 0)); diff != "" {
			t.Errorf("an internal topic:\n%s", diff)
		}
		states := ask[*kmsg.DescribeTransactionsResponse](p.client, 0, &kmsg.DescribeTransactionsRequest{TransactionalIDs: []string{"tx"}})
		if got := states.TransactionStates[0]; got.State != "Empty" || len(got.Topics) != 0 {
			t.Errorf("%+v", got)
		}
	})
}

// An open transaction shows in what tools ask for, and an operator can end it
// in a partition.
func TestToolsSeeTransactions(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		topic := r.topic("t", 2)
		r.topic("a", 1)
		p := r.client("writer").transactional("tx")
		idle := r.client("idle").transactional("idle")
		p.add(3, "t", 1, 0)
		p.add(3, "a", 0)
		p.write(11, topic, 0, "x", "y")
		r.passes(5000)

		described := ask[*kmsg.DescribeTransactionsResponse](p.client, 0, &kmsg.DescribeTransactionsRequest{TransactionalIDs: []string{"tx", "idle", "nosuch", ""}})
		want := &kmsg.DescribeTransactionsResponse{TransactionStates: []kmsg.DescribeTransactionsResponseTransactionState{
			{
				TransactionalID: "tx", State: "Ongoing", ProducerID: p.producerID, ProducerEpoch: p.epoch, TimeoutMillis: 60_000,
				StartTimestamp: described.TransactionStates[0].StartTimestamp,
				Topics: []kmsg.DescribeTransactionsResponseTransactionStateTopic{
					{Topic: "a", Partitions: []int32{0}}, {Topic: "t", Partitions: []int32{0, 1}},
				},
			},
			{TransactionalID: "idle", State: "Empty", ProducerID: idle.producerID, ProducerEpoch: idle.epoch, TimeoutMillis: 60_000, StartTimestamp: -1},
			{TransactionalID: "nosuch", ErrorCode: 105, ProducerID: -1, ProducerEpoch: -1, StartTimestamp: -1},
			{TransactionalID: "", ErrorCode: 42},
		}}
		want.TransactionStates[3] = described.TransactionStates[3]
		equal(t, described, want)
		if started := described.TransactionStates[0].StartTimestamp; time.Since(time.UnixMilli(started)) != 5*time.Second {
			t.Errorf("the transaction began at %d", started)
		}
		if got := described.TransactionStates[3]; got.ErrorCode != 42 {
			t.Errorf("the empty id: %+v", got)
		}

		list := func(v int16, change func(*kmsg.ListTransactionsRequest)) (ids, unknown []string) {
			req := kmsg.NewPtrListTransactionsRequest()
			req.DurationFilterMillis = -1
			change(req)
			resp := ask[*kmsg.ListTransactionsResponse](p.client, v, req)
			for _, s := range resp.TransactionStates {
				ids = append(ids, s.TransactionalID+" "+s.TransactionState)
			}
			return ids, resp.UnknownStateFilters
		}
		for _, s := range []struct {
			name    string
			version int16
			change  func(*kmsg.ListTransactionsRequest)
			want    []string
		}{
			{"all", 0, func(*kmsg.ListTransactionsRequest) {}, []string{"idle Empty", "tx Ongoing"}},
			{"state", 0, func(q *kmsg.ListTransactionsRequest) { q.StateFilters = []string{"Ongoing"} }, []string{"tx Ongoing"}},
			{"producer", 0, func(q *kmsg.ListTransactionsRequest) { q.ProducerIDFilters = []int64{idle.producerID} }, []string{"idle Empty"}},
			{"long enough", 1, func(q *kmsg.ListTransactionsRequest) {
				q.StateFilters, q.DurationFilterMillis = []string{"Ongoing"}, 4999
			}, []string{"tx Ongoing"}},
			{"not long enough", 1, func(q *kmsg.ListTransactionsRequest) {
				q.StateFilters, q.DurationFilterMillis = []string{"Ongoing"}, 5000
			}, nil},
			{"pattern", 2, func(q *kmsg.ListTransactionsRequest) { q.TransactionalIDPattern = new("t.") }, []string{"tx Ongoing"}},
			{"part of a pattern", 2, func(q *kmsg.ListTransactionsRequest) { q.TransactionalIDPattern = new("t") }, nil},
			{"empty pattern", 2, func(q *kmsg.ListTransactionsRequest) { q.TransactionalIDPattern = new("") }, []string{"idle Empty", "tx Ongoing"}},
		} {
			if got, _ := list(s.version, s.change); !cmp.Equal(s.want, got, equateEmpty) {
				t.Errorf("%s: %v, want %v", s.name, got, s.want)
			}
		}
		if _, unknown := list(0, func(q *kmsg.ListTransactionsRequest) { q.StateFilters = []string{"Ongoing", "Bored"} }); !cmp.Equal([]string{"Bored"}, unknown) {
			t.Errorf("unknown states: %v", unknown)
		}
		broken := kmsg.NewPtrListTransactionsRequest()
		broken.TransactionalIDPattern = new("(")
		if resp := ask[*kmsg.ListTransactionsResponse](p.client, 2, broken); resp.ErrorCode != 128 {
			t.Errorf("a broken pattern: %+v", resp)
		}

		producers := func() kmsg.DescribeProducersResponseTopicPartition {
			return ask[*kmsg.DescribeProducersResponse](p.client, 0, &kmsg.DescribeProducersRequest{
				Topics: []kmsg.DescribeProducersRequestTopic{{Topic: "t", Partitions: []int32{0}}},
			}).Topics[0].Partitions[0]
		}
		open := producers().ActiveProducers
		if len(open) != 1 || open[0].ProducerID != p.producerID || open[0].CurrentTxnStartOffset != 0 || open[0].LastSequence != 1 {
			t.Errorf("%+v", open)
		}
		end := &kmsg.WriteTxnMarkersRequest{Markers: []kmsg.WriteTxnMarkersRequestMarker{{
			ProducerID: p.producerID, ProducerEpoch: p.epoch, CoordinatorEpoch: open[0].CoordinatorEpoch,
			Topics: []kmsg.WriteTxnMarkersRequestMarkerTopic{{Topic: "t", Partitions: []int32{0, 7}}, {Topic: "nosuch", Partitions: []int32{0}}},
		}}}
		if end.Markers[0].CoordinatorEpoch < 0 {
			end.Markers[0].CoordinatorEpoch = 0
		}
		// It ends what was before this transaction, if its epoch is above that (KIP-1228).
		end.Markers[0].TransactionVersion = 2
		late := ask[*kmsg.WriteTxnMarkersResponse](p.client, 2, end).Markers[0].Topics[0].Partitions[0]
		if now := producers().ActiveProducers; late.ErrorCode != 47 || now[0].CurrentTxnStartOffset != 0 {
			t.Errorf("a late marker: %+v, then %+v", late, now)
		}
		marked := ask[*kmsg.WriteTxnMarkersResponse](p.client, 1, end)
		equal(t, marked, &kmsg.WriteTxnMarkersResponse{Markers: []kmsg.WriteTxnMarkersResponseMarker{{
			ProducerID: p.producerID, Topics: []kmsg.WriteTxnMarkersResponseMarkerTopic{
				{Topic: "t", Partitions: []kmsg.WriteTxnMarkersResponseMarkerTopicPartition{{Partition: 0}, {Partition: 7, ErrorCode: 3}}},
				{Topic: "nosuch", Partitions: []kmsg.WriteTxnMarkersResponseMarkerTopicPartition{{Partition: 0, ErrorCode: 3}}},
			},
		}}})
		if open := producers().ActiveProducers; len(open) != 1 || open[0].CurrentTxnStartOffset != -1 {
			t.Errorf("after the marker: %+v", open)
		}
		if got := p.readCommitted(topic); got.LastStableOffset != 3 || len(valuesOf(t, got)) != 0 {
			t.Errorf("after the marker: %+v", got)
		}
	})
}

// A producer that says nothing for longer than its transaction may take loses
// it, and readers go on (B41 in the meantime).
func TestSilentProducersLoseTheirTransaction(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		topic := r.topic("t", 1)
		p := r.client("writer").transactional("tx")
		p.write(13, topic, 0, "x")
		r.passes(59_000)
		// B41: what is held back is no record, and not null.
		if got := p.readCommitted(topic); got.LastStableOffset != 0 || got.HighWatermark != 1 || got.RecordBatches == nil || len(got.RecordBatches) != 0 {
			t.Errorf("before the time is over: %+v", got)
		}
		r.passes(3000)
		if got := p.readCommitted(topic); got.LastStableOffset != 2 || len(valuesOf(t, got)) != 0 {
			t.Errorf("when the time is over: %+v", got)
		}
		if code := p.end(5, true); code != 48 {
			t.Errorf("its commit comes too late: error %d", code)
		}
	})
}
