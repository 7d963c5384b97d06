package storage

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rota/internal/record"
)

func header(id int64, epoch int16, sequence, count int32) *record.Header {
	return &record.Header{ProducerID: id, ProducerEpoch: epoch, BaseSequence: sequence, LastOffsetDelta: count - 1, MaxTimestamp: 99}
}

// producerTypes may be compared as they are.
var producerTypes = cmp.AllowUnexported(producers{}, producer{}, sequence{}, spans{}, span{}, queue[span]{})

// transactional is header's batch as part of a transaction.
func transactional(id int64, epoch int16, sequence, count int32) *record.Header {
	h := header(id, epoch, sequence, count)
	var b record.Builder
	b.Reset(nil)
	b.SetTransactional()
	b.Append(0, nil, nil)
	parsed, _ := record.ParseHeader(b.Finish())
	h.Attributes = parsed.Attributes
	return h
}

func TestProducersEncoding(t *testing.T) {
	var ps producers
	offset := int64(0)
	for id := range int64(4) {
		for i := range int32(2 * id) {
			ps.add(header(id*1000, int16(id), math.MaxInt32-3+i*3, 3), offset, 777)
			offset += 3
		}
	}
	ps.add(transactional(2000, 2, 9, 1), offset, 778)
	ps.add(transactional(4000, 0, record.None, 1), offset+1, 779)
	ps.known[3000].coordinator = 12
	b := ps.encode()
	got, err := decodeProducers(b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(ps, got, producerTypes); diff != "" {
		t.Error(diff)
	}
	if string(got.encode()) != string(b) {
		t.Error("encoding is not a function of the state")
	}
	for n := 1; n < len(b); n++ {
		if _, err := decodeProducers(b[:n]); !errors.Is(err, errProducers) {
			t.Fatalf("%d of %d bytes: %v", n, len(b), err)
		}
	}
	if _, err := decodeProducers(append(b, 0)); !errors.Is(err, errProducers) {
		t.Errorf("a byte too many: %v", err)
	}
	if none, err := decodeProducers(nil); len(none.known) != 0 || err != nil {
		t.Errorf("nothing: %v, %v", none, err)
	}
}

func TestProducersCloneIsDeep(t *testing.T) {
	var ps producers
	ps.add(header(1, 0, 0, 1), 0, 5)
	c := ps.clone()
	c.add(header(1, 0, 1, 1), 1, 6)
	c.add(transactional(2, 0, 0, 1), 2, 6)
	if ps.known[1].n != 1 || len(ps.known) != 1 || ps.spans.len() != 0 {
		t.Errorf("the original changed: %+v", ps.known[1])
	}
}

func TestProducerThatExpiredIsNew(t *testing.T) {
	var ps producers
	ps.add(header(1, 5, 10, 1), 0, 1000)
	if _, err := ps.check(header(1, 0, 77, 1), 1999, 1000); !errors.Is(err, ErrInvalidProducerEpoch) {
		t.Errorf("before: %v", err)
	}
	if q, err := ps.check(header(1, 0, 77, 1), 2000, 1000); q != nil || err != nil {
		t.Errorf("after: %v, %v", q, err)
	}
	ps.expire(1999, 1000)
	if len(ps.known) != 1 {
		t.Error("expired too early")
	}
	ps.expire(2000, 1000)
	if len(ps.known) != 0 {
		t.Error("not expired")
	}
}

// Version 1, as folders have it from before there were transactions.
func TestProducersOfVersion1(t *testing.T) {
	b := []byte{
		1, 0, 0, 0, 1,
		0, 0, 0, 0, 0, 0, 0, 7, 0, 2, 0, 0, 0, 0, 0, 0, 3, 9, 1,
		0, 0, 0, 4, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 99,
	}
	got, err := decodeProducers(b)
	if err != nil {
		t.Fatal(err)
	}
	want := producers{known: map[int64]*producer{7: {
		epoch: 2, n: 1, coordinator: -1, seen: 777, stamp: 99, txn: -1,
		last: [keptSequences]sequence{{first: 4, last: 6, base: 20, count: 3, stamp: 99}},
	}}}
	if diff := cmp.Diff(want, got, producerTypes); diff != "" {
		t.Error(diff)
	}
}

func TestProducerWithOpenTransactionStays(t *testing.T) {
	var ps producers
	ps.add(transactional(1, 0, 0, 1), 10, 1000)
	ps.expire(1_000_000, 1000)
	if len(ps.known) != 1 {
		t.Fatal("expired")
	}
	if _, err := ps.check(header(1, 0, 77, 1), 1_000_000, 1000); !errors.Is(err, ErrOutOfOrderSequence) {
		t.Errorf("its sequence is not known any more: %v", err)
	}
}

func FuzzProducers(f *testing.F) {
	var ps producers
	ps.add(header(1, 0, 0, 1), 0, 5)
	ps.add(transactional(2, 0, 0, 1), 1, 5)
	f.Add(ps.encode())
	f.Add([]byte{1, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		ps, err := decodeProducers(b)
		if err != nil {
			return
		}
		again, err := decodeProducers(ps.encode())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(ps, again, producerTypes); diff != "" {
			t.Error(diff)
		}
	})
}
