package record

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// thinSample has ten records, every third one a tombstone.
func thinSample(t *testing.T, codec Compression) []byte {
	t.Helper()
	var b Builder
	b.Reset(nil)
	b.SetProducer(7, 1, 40)
	for i := range 10 {
		value := []byte(fmt.Sprint("value ", i))
		if i%3 == 0 {
			value = nil
		}
		b.Append(int64(1000+100*(i%4)), []byte(fmt.Sprint("key ", i)), value, Field{Key: "h", Value: []byte{byte(i)}})
	}
	batch, err := b.FinishCompressed(codec, 0, new(Codec))
	if err != nil {
		t.Fatal(err)
	}
	SetBaseOffset(batch, 500)
	SetLeaderEpoch(batch, 3)
	return batch
}

// thinLine is what must survive of a record.
func thinLine(r Record) string {
	s := fmt.Sprint(r.Offset, r.Timestamp, string(r.Key), r.Value == nil, string(r.Value))
	for k, v := range r.Headers() {
		s += fmt.Sprintf("%s=%x", k, v)
	}
	return s
}

func thinLines(t *testing.T, batch []byte, keep func(Record) bool) []string {
	t.Helper()
	var lines []string
	for r, err := range new(Codec).Records(batch) {
		if err != nil {
			t.Fatal(err)
		}
		if keep(r) {
			lines = append(lines, thinLine(r))
		}
	}
	return lines
}

func all(Record) bool { return true }

func TestThinKeepsWhatItIsTold(t *testing.T) {
	for codec := Uncompressed; codec <= Zstd; codec++ {
		for _, horizon := range []int64{None, 0, 1_800_000_000_000} {
			for step := int64(1); step < 5; step++ {
				batch := thinSample(t, codec)
				keep := func(r Record) bool { return (r.Offset-500)%step == step-1 }
				thin := Thinner{Codec: new(Codec), Keep: keep, Horizon: horizon}
				out, kept, err := thin.Thin([]byte("before"), batch)
				if err != nil {
					t.Fatal(err)
				}
				out = out[len("before"):]
				v, err := Verify(out, Rules{Keys: true, Gaps: true}, new(Codec))
				if err != nil {
					t.Fatalf("%v, horizon %d, step %d: %v", codec, horizon, step, err)
				}
				want := thinLines(t, batch, keep)
				if diff := cmp.Diff(want, thinLines(t, out, all)); diff != "" {
					t.Errorf("%v, horizon %d, step %d: %s", codec, horizon, step, diff)
				}
				h, old := v.Header, mustHeader(t, batch)
				if int(kept) != len(want) || v.MaxTimestamp != h.MaxTimestamp {
					t.Errorf("kept %d of %d, largest timestamp %d in %d", kept, len(want), v.MaxTimestamp, h.MaxTimestamp)
				}
				tombstones := step != 3 // every third record is one
				if horizon != None && tombstones && (!h.Attributes.DeleteHorizon() || h.BaseTimestamp != horizon) {
					t.Errorf("no horizon: %+v", h)
				}
				h.Length, h.CRC, h.Attributes, h.BaseTimestamp, h.MaxTimestamp, h.Count = old.Length, old.CRC, old.Attributes, old.BaseTimestamp, old.MaxTimestamp, old.Count
				if diff := cmp.Diff(old, h); diff != "" {
					t.Error(diff)
				}
			}
		}
	}
}

func mustHeader(t *testing.T, batch []byte) Header {
	t.Helper()
	h, err := ParseHeader(batch)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestThinLeavesBatchesAlone(t *testing.T) {
	batch := thinSample(t, LZ4)
	thin := Thinner{Codec: new(Codec), Keep: all, Horizon: None}
	out, kept, err := thin.Thin(nil, batch)
	if err != nil || kept != 10 || !cmp.Equal(out, batch) {
		t.Errorf("changed a batch that nothing goes from: %d, %v", kept, err)
	}
	thin.Horizon = 5000
	once, _, err := thin.Thin(nil, batch)
	if err != nil {
		t.Fatal(err)
	}
	thin.Horizon = 9000
	twice, _, err := thin.Thin(nil, once)
	if err != nil || !cmp.Equal(once, twice) {
		t.Errorf("moved a horizon: %v", err)
	}
}

func TestThinToNothing(t *testing.T) {
	batch := thinSample(t, Zstd)
	thin := Thinner{Codec: new(Codec), Keep: func(Record) bool { return false }, Horizon: 5000}
	out, kept, err := thin.Thin(nil, batch)
	if err != nil || kept != 0 || len(out) != HeaderSize || !CheckCRC(out) {
		t.Fatalf("%d records, %d bytes, %v", kept, len(out), err)
	}
	h, old := mustHeader(t, out), mustHeader(t, batch)
	if h.LastOffset() != old.LastOffset() || h.LastSequence() != old.LastSequence() || h.ProducerID != 7 || h.MaxTimestamp != old.MaxTimestamp {
		t.Errorf("got %+v", h)
	}
	if lines := thinLines(t, out, all); lines != nil {
		t.Errorf("records in an empty batch: %q", lines)
	}
}
