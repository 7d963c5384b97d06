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

func TestProducersEncoding(t *testing.T) {
	ps := make(producers)
	offset := int64(0)
	for id := range int64(4) {
		for i := range int32(2 * id) {
			ps.add(header(id*1000, int16(id), math.MaxInt32-3+i*3, 3), offset, 777)
			offset += 3
		}
	}
	b := ps.encode()
	got, err := decodeProducers(b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(ps, got, cmp.AllowUnexported(producer{}, sequence{})); diff != "" {
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
	if none, err := decodeProducers(nil); len(none) != 0 || err != nil {
		t.Errorf("nothing: %v, %v", none, err)
	}
}

func TestProducersCloneIsDeep(t *testing.T) {
	ps := make(producers)
	ps.add(header(1, 0, 0, 1), 0, 5)
	c := ps.clone()
	c.add(header(1, 0, 1, 1), 1, 6)
	c.add(header(2, 0, 0, 1), 2, 6)
	if ps[1].n != 1 || len(ps) != 1 {
		t.Errorf("the original changed: %+v", ps[1])
	}
}

func TestProducerThatExpiredIsNew(t *testing.T) {
	ps := make(producers)
	ps.add(header(1, 5, 10, 1), 0, 1000)
	if _, err := ps.check(header(1, 0, 77, 1), 1999, 1000); !errors.Is(err, ErrInvalidProducerEpoch) {
		t.Errorf("before: %v", err)
	}
	if q, err := ps.check(header(1, 0, 77, 1), 2000, 1000); q != nil || err != nil {
		t.Errorf("after: %v, %v", q, err)
	}
	ps.expire(1999, 1000)
	if len(ps) != 1 {
		t.Error("expired too early")
	}
	ps.expire(2000, 1000)
	if len(ps) != 0 {
		t.Error("not expired")
	}
}

func FuzzProducers(f *testing.F) {
	ps := make(producers)
	ps.add(header(1, 0, 0, 1), 0, 5)
	f.Add(ps.encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		ps, err := decodeProducers(b)
		if err != nil {
			return
		}
		again, err := decodeProducers(ps.encode())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(ps, again, cmp.AllowUnexported(producer{}, sequence{})); diff != "" {
			t.Error(diff)
		}
	})
}
