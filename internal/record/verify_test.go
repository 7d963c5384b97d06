package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var allCodecs = []Compression{Uncompressed, Gzip, Snappy, LZ4, Zstd}

// sample is a batch of three records with the timestamps 1000, 1005, 1003.
func sample(t testing.TB, codec Compression, c *Codec, set ...func(*Builder)) []byte {
	t.Helper()
	var b Builder
	b.Reset(nil)
	for _, f := range set {
		f(&b)
	}
	b.Append(1000, []byte("a"), []byte("first"), Field{"h1", []byte("x")}, Field{"h2", nil})
	b.Append(1005, []byte{}, nil)
	b.Append(1003, []byte("c"), bytes.Repeat([]byte("long "), 1000))
	batch, err := b.FinishCompressed(codec, 0, c)
	if err != nil {
		t.Fatal(err)
	}
	return batch
}

func sampleRecords() []got {
	return []got{
		{0, 1000, []byte("a"), []byte("first"), []Field{{"h1", []byte("x")}, {"h2", nil}}},
		{1, 1005, []byte{}, nil, nil},
		{2, 1003, []byte("c"), bytes.Repeat([]byte("long "), 1000), nil},
	}
}

func TestRoundTripOfEachCodec(t *testing.T) {
	var c Codec
	for _, from := range allCodecs {
		batch := sample(t, from, &c)
		v, err := Verify(batch, Rules{Client: true, Keys: true}, &c)
		if err != nil {
			t.Fatalf("%s: %v", from, err)
		}
		if v.MinTimestamp != 1000 || v.MaxTimestamp != 1005 || v.MaxTimestampDelta != 1 || v.Attributes.Compression() != from || v.Size() != len(batch) {
			t.Errorf("%s: verified as %+v", from, v)
		}
		if diff := cmp.Diff(sampleRecords(), readAll(t, &c, batch)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", from, diff)
		}
		for _, to := range allCodecs {
			SetBaseOffset(batch, 70)
			SetLeaderEpoch(batch, 7)
			again, err := Recompress([]byte("front"), batch, to, 0, &c)
			if err != nil {
				t.Fatalf("%s to %s: %v", from, to, err)
			}
			again = again[5:]
			if v, err := Verify(again, Rules{}, &c); err != nil || v.Attributes.Compression() != to || v.BaseOffset != 70 || v.LeaderEpoch != 7 {
				t.Errorf("%s to %s: verified as %+v, %v", from, to, v, err)
			}
			SetBaseOffset(again, 0)
			if diff := cmp.Diff(sampleRecords(), readAll(t, &c, again)); diff != "" {
				t.Errorf("%s to %s (-want +got):\n%s", from, to, diff)
			}
		}
	}
}

func TestCompressionLevels(t *testing.T) {
	var c Codec
	plain := sample(t, Uncompressed, &c)
	for codec, levels := range map[Compression][]int{Gzip: {1, 9, -1}, LZ4: {1, 9, 17}, Zstd: {-131072, 1, 22}} {
		for _, level := range levels {
			packed, err := Recompress(nil, plain, codec, level, &c)
			if err != nil {
				t.Fatalf("%s level %d: %v", codec, level, err)
			}
			if diff := cmp.Diff(sampleRecords(), readAll(t, &c, packed)); diff != "" {
				t.Errorf("%s level %d (-want +got):\n%s", codec, level, diff)
			}
		}
	}
}

func TestHeaderInPlace(t *testing.T) {
	batch := sample(t, Uncompressed, nil, func(b *Builder) { b.SetProducer(9, 3, math.MaxInt32-1); b.SetTransactional() })
	SetBaseOffset(batch, 100)
	SetLeaderEpoch(batch, 12)
	if !CheckCRC(batch) {
		t.Error("base offset or leader epoch changed the checksum")
	}
	h, err := ParseHeader(append(batch, "more"...))
	if err != nil {
		t.Fatal(err)
	}
	want := Header{
		BaseOffset: 100, Length: int32(len(batch) - 12), LeaderEpoch: 12, Magic: 2, CRC: h.CRC, Attributes: transactionalBit,
		LastOffsetDelta: 2, BaseTimestamp: 1000, MaxTimestamp: 1005, ProducerID: 9, ProducerEpoch: 3, BaseSequence: math.MaxInt32 - 1, Count: 3,
	}
	if diff := cmp.Diff(want, h); diff != "" {
		t.Errorf("header (-want +got):\n%s", diff)
	}
	if h.LastOffset() != 102 || h.NextOffset() != 103 || NextOffset(batch) != 103 || BaseOffset(batch) != 100 || h.LastSequence() != 0 {
		t.Errorf("last offset %d, next %d, last sequence %d", h.LastOffset(), h.NextOffset(), h.LastSequence())
	}

	SetLogAppendTime(batch, 5000)
	v, err := Verify(batch, Rules{}, nil)
	if err != nil || !v.Attributes.LogAppendTime() || v.MinTimestamp != 5000 || v.MaxTimestamp != 5000 {
		t.Errorf("after SetLogAppendTime: %+v, %v", v, err)
	}
	for _, r := range readAll(t, nil, batch) {
		if r.Timestamp != 5000 {
			t.Errorf("record %d has timestamp %d, want 5000", r.Offset, r.Timestamp)
		}
	}
}

// rebuilt changes the header of a copy of the batch and gives it a new checksum.
func rebuilt(batch []byte, change func(b []byte)) []byte {
	b := bytes.Clone(batch)
	change(b)
	setCRC(b)
	return b
}

func put32(at int, v int32) func([]byte) {
	return func(b []byte) { binary.BigEndian.PutUint32(b[at:], uint32(v)) }
}

// raw is a batch around records that were written by hand.
func raw(t *testing.T, count int32, records string) []byte {
	t.Helper()
	b := append(make([]byte, HeaderSize), unhex(t, records)...)
	putHeader(b, &Header{LastOffsetDelta: count - 1, Count: count, ProducerID: None, ProducerEpoch: None, BaseSequence: None})
	return b
}

func TestVerifyRefuses(t *testing.T) {
	good := sample(t, Uncompressed, nil)
	client := Rules{Client: true}
	for _, tt := range []struct {
		name  string
		batch []byte
		rules Rules
		want  error
		text  string
	}{
		{"nothing", nil, client, ErrInvalid, "not one whole"},
		{"cut off header", good[:40], client, ErrInvalid, "not one whole"},
		{"cut off records", good[:len(good)-1], client, ErrInvalid, "not one whole"},
		{"two batches", append(bytes.Clone(good), good...), client, ErrInvalid, "more than one"},
		{"length too small", rebuilt(good, put32(atLength, 48)), client, ErrCorrupt, "length"},
		{"negative length", rebuilt(good, put32(atLength, -1)), client, ErrCorrupt, "length"},
		{"short with bad length", rebuilt(good, put32(atLength, 3))[:20], client, ErrCorrupt, "length"},
		{"magic 1", rebuilt(good, func(b []byte) { b[atMagic] = 1 }), client, ErrInvalid, "magic"},
		{"flipped bit", func() []byte { b := bytes.Clone(good); b[70] ^= 1; return b }(), client, ErrCorrupt, "checksum"},
		{"codec 5", rebuilt(good, func(b []byte) { b[atAttributes+1] = 5 }), client, ErrUnsupportedCompression, ""},
		{"no records", rebuilt(good, func(b []byte) { put32(atCount, 0)(b); put32(atLastOffsetDelta, -1)(b) }), client, ErrInvalid, "last offset delta"},
		{"count zero", rebuilt(good, put32(atCount, 0)), client, ErrInvalid, "no records"},
		{"negative count", rebuilt(good, put32(atCount, -3)), client, ErrInvalid, "no records"},
		{"count below delta", rebuilt(good, put32(atCount, 2)), client, ErrInvalid, "differ"},
		{"count above records", rebuilt(good, func(b []byte) { put32(atCount, 4)(b); put32(atLastOffsetDelta, 3)(b) }), client, ErrInvalid, "record 3"},
		{"count below records", rebuilt(good, func(b []byte) { put32(atCount, 2)(b); put32(atLastOffsetDelta, 1)(b) }), client, ErrInvalid, "behind the last"},
		{"huge delta", rebuilt(good, put32(atLastOffsetDelta, math.MaxInt32)), client, ErrInvalid, "last offset delta"},
		{"control batch", rebuilt(good, func(b []byte) { b[atAttributes+1] = byte(controlBit) }), client, ErrInvalid, "control"},
		{"LogAppendTime", rebuilt(good, func(b []byte) { b[atAttributes+1] = byte(logAppendTimeBit) }), client, ErrTimestampType, ""},
		{"producer without sequence", rebuilt(good, put32(atProducerID+4, 5)), client, nil, ""}, // id is negative still
		{"producer id without epoch", rebuilt(good, func(b []byte) { put32(atProducerID, 0)(b); put32(atProducerID+4, 5)(b) }), client, ErrInvalid, "producer id"},
		{"transactional without producer", rebuilt(good, func(b []byte) { b[atAttributes+1] = byte(transactionalBit) }), client, ErrInvalid, "transactional"},
		{"no key", raw(t, 1, "0e 00 00 00 01 02 76 00"), Rules{Keys: true}, ErrInvalid, "record 0 is invalid: compacted"},
		{"offset delta skips", raw(t, 2, "0e 00 00 00 02 6b 01 00  0e 00 00 04 02 6b 01 00"), client, ErrInvalid, "record 1 is invalid: offset"},
		{"offset delta repeats", raw(t, 2, "0e 00 00 00 02 6b 01 00  0e 00 00 00 02 6b 01 00"), client, ErrInvalid, "record 1 is invalid: offset"},
		{"record length zero", raw(t, 1, "00"), client, ErrInvalid, "record length"},
		{"record length negative", raw(t, 1, "01 00 00 00 01 01 00"), client, ErrInvalid, "record length"},
		{"record length beyond the batch", raw(t, 1, "10 00 00 00 02 6b 01 00"), client, ErrInvalid, "too soon"},
		{"record length too long", raw(t, 1, "10 00 00 00 02 6b 01 00 00"), client, ErrInvalid, "add up"},
		{"record length too short", raw(t, 1, "0c 00 00 00 02 6b 01 00"), client, ErrInvalid, "add up"},
		{"key length below null", raw(t, 1, "0e 00 00 00 03 6b 01 00"), client, ErrInvalid, "key length"},
		{"key beyond record", raw(t, 1, "0e 00 00 00 20 6b 01 00"), client, ErrInvalid, "key length"},
		{"value length below null", raw(t, 1, "0e 00 00 00 02 6b 05 00"), client, ErrInvalid, "value length"},
		{"value beyond record", raw(t, 1, "0e 00 00 00 02 6b 40 00"), client, ErrInvalid, "value length"},
		{"negative header count", raw(t, 1, "0e 00 00 00 02 6b 01 01"), client, ErrInvalid, "number of headers"},
		{"header count beyond record", raw(t, 1, "0e 00 00 00 02 6b 01 02"), client, ErrInvalid, "number of headers"},
		{"null header key", raw(t, 1, "12 00 00 00 02 6b 01 02 01 01"), client, ErrInvalid, "header length"},
		{"header value beyond record", raw(t, 1, "12 00 00 00 02 6b 01 02 00 02"), client, ErrInvalid, "header length"},
		{"endless varint", raw(t, 1, "0e 00 ffffffffffffffffffff"), client, ErrInvalid, "too soon"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Verify(tt.batch, tt.rules, nil)
			if !errors.Is(err, tt.want) || err != nil && !strings.Contains(err.Error(), tt.text) {
				t.Errorf("got error %v, want %v with %q", err, tt.want, tt.text)
			}
		})
	}
}

func TestVerifyAllowsCompactedBatches(t *testing.T) {
	thinned := raw(t, 2, "0e 00 00 02 02 6b 01 00  0e 00 04 06 02 6b 01 00")
	thinned = rebuilt(thinned, put32(atLastOffsetDelta, 9))
	if v, err := Verify(thinned, Rules{Gaps: true}, nil); err != nil || v.MaxTimestampDelta != 3 {
		t.Errorf("thinned batch: %+v, %v", v, err)
	}
	if _, err := Verify(thinned, Rules{}, nil); !errors.Is(err, ErrInvalid) {
		t.Errorf("thinned batch without Gaps: %v", err)
	}
	emptied := rebuilt(raw(t, 1, ""), put32(atCount, 0))
	if _, err := Verify(emptied, Rules{Gaps: true}, nil); err != nil {
		t.Errorf("emptied batch: %v", err)
	}
	if _, ok, err := (*Codec)(nil).MaxTimestamp(emptied); ok || err != nil {
		t.Errorf("emptied batch has a max timestamp: %v, %v", ok, err)
	}
}

func TestVerifyDoesNotAllocate(t *testing.T) {
	batch := sample(t, Uncompressed, nil)
	if n := testing.AllocsPerRun(100, func() {
		if _, err := Verify(batch, Rules{Client: true, Keys: true}, nil); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
	var b Builder
	var buf []byte
	key, value := []byte("key"), []byte("value")
	if n := testing.AllocsPerRun(100, func() {
		b.Reset(buf[:0])
		b.Append(1, key, value)
		b.Append(2, key, nil)
		buf = b.Finish()
	}); n != 0 {
		t.Errorf("building: %v allocations, want none", n)
	}
}

func TestFindByTimestamp(t *testing.T) {
	var c Codec
	for _, codec := range allCodecs {
		batch := sample(t, codec, &c)
		SetBaseOffset(batch, 10)
		for _, tt := range []struct {
			from, ts int64
			want     Stamp
			ok       bool
		}{
			{0, 0, Stamp{10, 1000}, true},
			{0, 1001, Stamp{11, 1005}, true},
			{12, 1001, Stamp{12, 1003}, true},
			{12, 1004, Stamp{}, false},
			{0, 1006, Stamp{}, false},
		} {
			s, ok, err := c.FirstSince(batch, tt.from, tt.ts)
			if s != tt.want || ok != tt.ok || err != nil {
				t.Errorf("%s: FirstSince(%d, %d) = %v, %v, %v, want %v, %v", codec, tt.from, tt.ts, s, ok, err, tt.want, tt.ok)
			}
		}
		if s, ok, err := c.MaxTimestamp(batch); s != (Stamp{11, 1005}) || !ok || err != nil {
			t.Errorf("%s: MaxTimestamp = %v, %v, %v", codec, s, ok, err)
		}
	}
}

func TestMarkers(t *testing.T) {
	var b Builder
	b.Reset(nil)
	b.SetProducer(4, 1, None)
	b.AppendMarker(1700000000000, Marker{ControlCommit, 6})
	batch := b.Finish()
	v, err := Verify(batch, Rules{}, nil)
	if err != nil || !v.Attributes.Control() || !v.Attributes.Transactional() || v.ProducerID != 4 || v.BaseSequence != None {
		t.Errorf("marker verified as %+v, %v", v, err)
	}
	records := readAll(t, nil, batch)
	if want := unhex(t, "0000 0001"); !bytes.Equal(records[0].Key, want) {
		t.Errorf("key %x, want %x", records[0].Key, want)
	}
	if want := unhex(t, "0000 00000006"); !bytes.Equal(records[0].Value, want) {
		t.Errorf("value %x, want %x", records[0].Value, want)
	}
	for _, tt := range []struct {
		name, key, value string
		want             Marker
		ok               bool
		err              error
	}{
		{"commit", "0000 0001", "0000 00000006", Marker{ControlCommit, 6}, true, nil},
		{"abort", "0000 0000", "0000 00000000", Marker{ControlAbort, 0}, true, nil},
		{"newer", "0001 0000 aa", "0001 00000002 bb", Marker{ControlAbort, 2}, true, nil},
		{"another type", "0000 0002", "", Marker{}, false, nil},
		{"short key", "0000", "0000 00000006", Marker{}, false, ErrInvalid},
		{"short value", "0000 0001", "0000 0000", Marker{}, false, ErrInvalid},
		{"negative version", "ffff 0001", "0000 00000000", Marker{}, false, ErrInvalid},
	} {
		m, ok, err := ParseMarker(unhex(t, tt.key), unhex(t, tt.value))
		if ok != tt.ok || ok && m != tt.want || !errors.Is(err, tt.err) {
			t.Errorf("%s: %v, %v, %v, want %v, %v, %v", tt.name, m, ok, err, tt.want, tt.ok, tt.err)
		}
	}
}

func TestBatches(t *testing.T) {
	one, two := sample(t, Uncompressed, nil), raw(t, 1, "0e 00 00 00 02 6b 01 00")
	all := append(bytes.Clone(one), two...)
	var found [][]byte
	for b, err := range Batches(append(bytes.Clone(all), one[:30]...)) {
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, b)
	}
	if diff := cmp.Diff([][]byte{one, two}, found); diff != "" {
		t.Errorf("batches (-want +got):\n%s", diff)
	}
	bad := rebuilt(one, func(b []byte) { b[atMagic] = 1 })
	var last error
	for _, err := range Batches(append(bytes.Clone(two), bad...)) {
		last = err
	}
	if !errors.Is(last, ErrInvalid) {
		t.Errorf("walking into magic 1: error %v", last)
	}
	if n, ok := Size(all); n != len(one) || !ok {
		t.Errorf("Size = %d, %v, want %d", n, ok, len(one))
	}
	if _, ok := Size(all[:11]); ok {
		t.Error("Size of 11 bytes is known")
	}
}
