package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// packed replaces the records of the plain sample by their compressed form.
func packed(t testing.TB, codec Compression, records []byte) []byte {
	t.Helper()
	plain := sample(t, Uncompressed, nil)
	h, err := ParseHeader(plain)
	if err != nil {
		t.Fatal(err)
	}
	h.Attributes = Attributes(codec)
	b := append(plain[:HeaderSize:HeaderSize], records...)
	putHeader(b, &h)
	return b
}

func plainRecords(t testing.TB) []byte { return sample(t, Uncompressed, nil)[HeaderSize:] }

// What other implementations make of the same records.
func TestForeignCompression(t *testing.T) {
	plain := plainRecords(t)
	var c Codec
	for _, tt := range []struct {
		name  string
		codec Compression
		data  []byte
	}{
		{"bare snappy (librdkafka, franz-go)", Snappy, snappy.Encode(nil, plain)},
		{"snappy-java in small blocks", Snappy, func() []byte {
			out := []byte("\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01")
			for b := plain; len(b) > 0; {
				part := b[:min(len(b), 7)]
				b = b[len(part):]
				block := snappy.Encode(nil, part)
				out = append(binary.BigEndian.AppendUint32(out, uint32(len(block))), block...)
			}
			return out
		}()},
		{"gzip in two members", Gzip, append(gzipped(t, plain[:100]), gzipped(t, plain[100:])...)},
		{"lz4 with checksums and 4 MiB blocks", LZ4, lz4ed(t, plain, lz4.ChecksumOption(true), lz4.BlockChecksumOption(true), lz4.BlockSizeOption(lz4.Block4Mb))},
		{"lz4 with content size", LZ4, lz4ed(t, plain, lz4.SizeOption(uint64(len(plain))))},
		{"zstd stream with checksum", Zstd, zstdStream(t, plain, zstd.WithEncoderCRC(true))},
		{"zstd stream with 64 MiB window", Zstd, zstdStream(t, plain, zstd.WithWindowSize(64<<20), zstd.WithSingleSegment(false))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			batch := packed(t, tt.codec, tt.data)
			if _, err := Verify(batch, Rules{Client: true}, &c); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(sampleRecords(), readAll(t, &c, batch)); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
		})
	}
}

func gzipped(t testing.TB, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func lz4ed(t testing.TB, data []byte, options ...lz4.Option) []byte {
	t.Helper()
	var out bytes.Buffer
	w := lz4.NewWriter(&out)
	if err := w.Apply(options...); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// zstdStream writes in pieces, so that the frame does not name its size.
func zstdStream(t testing.TB, data []byte, options ...zstd.EOption) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := zstd.NewWriter(&out, append(options, zstd.WithEncoderConcurrency(1))...)
	if err != nil {
		t.Fatal(err)
	}
	for len(data) > 0 {
		n := min(len(data), 1000)
		if _, err := w.Write(data[:n]); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		data = data[n:]
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestDamagedCompression(t *testing.T) {
	var c Codec
	for _, codec := range allCodecs[1:] {
		good := sample(t, codec, &c)
		data := good[HeaderSize:]
		for name, bad := range map[string][]byte{
			"nothing":  {},
			"cut off":  data[:len(data)-5],
			"garbage":  []byte("this is no compressed data at all"),
			"one byte": {0},
		} {
			batch := packed(t, codec, bad)
			if _, err := Verify(batch, Rules{}, &c); !errors.Is(err, ErrInvalid) {
				t.Errorf("%s %s: Verify: %v, want ErrInvalid", codec, name, err)
			}
			var err error
			for _, e := range c.Records(batch) {
				err = e
			}
			if !errors.Is(err, ErrInvalid) {
				t.Errorf("%s %s: Records: %v, want ErrInvalid", codec, name, err)
			}
		}
		if _, err := Verify(good, Rules{}, &c); err != nil {
			t.Errorf("%s: the codec is of no use after damaged data: %v", codec, err)
		}
	}
	dependent := lz4ed(t, plainRecords(t))
	dependent[4] &^= 0x20
	if _, err := Verify(packed(t, LZ4, dependent), Rules{}, &c); !errors.Is(err, ErrInvalid) {
		t.Errorf("lz4 with dependent blocks: %v, want ErrInvalid", err)
	}
}

// bomb is a batch whose one record has a value of size zero bytes.
func bomb(t testing.TB, codec Compression, size int64) []byte {
	t.Helper()
	head := []byte{0, 0, 0, 1} // attributes, two deltas, null key
	head = binary.AppendVarint(head, size)
	front := append(binary.AppendVarint(nil, int64(len(head))+size+1), head...)
	var out bytes.Buffer
	write := func(w interface {
		Write([]byte) (int, error)
		Close() error
	},
	) {
		chunk := make([]byte, 1<<20)
		_, err := w.Write(front)
		for n := size + 1; n > 0 && err == nil; n -= int64(len(chunk)) {
			_, err = w.Write(chunk[:min(n, int64(len(chunk)))])
		}
		if err == nil {
			err = w.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	switch codec {
	case Gzip:
		write(gzip.NewWriter(&out))
	case LZ4:
		write(lz4.NewWriter(&out))
	case Zstd:
		w, err := zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1))
		if err != nil {
			t.Fatal(err)
		}
		write(w)
	default:
		t.Fatalf("no bomb for %s", codec)
	}
	b := append(make([]byte, HeaderSize), out.Bytes()...)
	putHeader(b, &Header{Count: 1, Attributes: Attributes(codec), ProducerID: None, ProducerEpoch: None, BaseSequence: None})
	return b
}

// zstdBomb is a batch of 33 kB whose one record claims a value of a gigabyte,
// and has it: blocks of four bytes that each stand for 128 KiB.
func zstdBomb() []byte {
	const blocks, block = 8 << 10, 128 << 10
	value := int64(blocks*block - 1) // the last byte is the header count
	head := binary.AppendVarint([]byte{0, 0, 0, 1}, value)
	front := append(binary.AppendVarint(nil, int64(len(head))+value+1), head...)
	b := append(make([]byte, HeaderSize), "\x28\xb5\x2f\xfd\x00\x50"...) // window of 1 MiB
	blockHeader := func(last, kind, size int) {
		h := last | kind<<1 | size<<3
		b = append(b, byte(h), byte(h>>8), byte(h>>16))
	}
	blockHeader(0, 0, len(front)) // raw
	b = append(b, front...)
	for i := range blocks {
		last := 0
		if i == blocks-1 {
			last = 1
		}
		blockHeader(last, 1, block) // one byte, repeated
		b = append(b, 0)
	}
	putHeader(b, &Header{Count: 1, Attributes: Attributes(Zstd), ProducerID: None, ProducerEpoch: None, BaseSequence: None})
	return b
}

// A small batch that inflates to a gigabyte is refused, and the codec never
// holds much of it.
func TestBombs(t *testing.T) {
	for codec, batch := range map[Compression][]byte{Gzip: bomb(t, Gzip, 40<<20), LZ4: bomb(t, LZ4, 40<<20), Zstd: zstdBomb()} {
		c := &Codec{Limit: 32 << 20}
		before := allocated()
		if _, err := Verify(batch, Rules{}, c); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s of %d bytes: %v, want ErrTooLarge", codec, len(batch), err)
		}
		if n := allocated() - before; n > 24<<20 {
			t.Errorf("%s: verifying allocated %d MiB", codec, n>>20)
		}
		var err error
		for _, e := range c.Records(batch) {
			err = e
		}
		if !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: Records: %v, want ErrTooLarge", codec, err)
		}
		if cap(c.scratch) > keepScratch {
			t.Errorf("%s: the codec keeps %d bytes", codec, cap(c.scratch))
		}
	}
}

// A large record passes through the small window.
func TestLargeCompressedRecord(t *testing.T) {
	var c Codec
	for _, codec := range []Compression{Gzip, LZ4, Zstd} {
		batch := bomb(t, codec, 6<<20)
		if _, err := Verify(batch, Rules{}, &c); err != nil {
			t.Errorf("%s: %v", codec, err)
		}
		for r, err := range c.Records(batch) {
			if err != nil || len(r.Value) != 6<<20 {
				t.Errorf("%s: value of %d bytes, %v", codec, len(r.Value), err)
			}
		}
		if c.keep(c.scratch); cap(c.scratch) > keepScratch {
			t.Errorf("%s: the codec keeps %d bytes", codec, cap(c.scratch))
		}
	}
}

// What a header claims is not believed before there is data to it.
func TestClaimsOfSize(t *testing.T) {
	c := &Codec{Limit: 1 << 30}
	for _, tt := range []struct {
		name  string
		codec Compression
		data  []byte
		want  error
	}{
		{"snappy of 1 GiB in 8 bytes", Snappy, append(binary.AppendUvarint(nil, 1<<30-1), 0, 0, 0), ErrInvalid},
		{"snappy-java block of 1 GiB", Snappy, append([]byte("\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x08"), append(binary.AppendUvarint(nil, 1<<30-1), 0, 0, 0)...), ErrInvalid},
		{"snappy-java block beyond the end", Snappy, []byte("\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01\x7f\xff\xff\xff1"), ErrInvalid},
		{"zstd window of 128 MiB", Zstd, []byte("\x28\xb5\x2f\xfd\x00\x88\x01\x00\x00"), ErrInvalid},
		{"zstd window of 2 GiB", Zstd, []byte("\x28\xb5\x2f\xfd\x00\xa8\x01\x00\x00"), ErrTooLarge},
		{"second zstd frame with large window", Zstd, append(zstdStream(t, plainRecords(t)), "\x28\xb5\x2f\xfd\x00\x80\x01\x00\x00"...), ErrTooLarge},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := allocated()
			if _, err := Verify(packed(t, tt.codec, tt.data), Rules{}, c); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
			if n := allocated() - before; n > 24<<20 {
				t.Errorf("allocated %d MiB", n>>20)
			}
		})
	}
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// kmsg reads what we write.
func TestAgainstKmsg(t *testing.T) {
	batch := sample(t, Uncompressed, nil, func(b *Builder) { b.SetProducer(77, 2, 5) })
	SetBaseOffset(batch, 42)
	SetLeaderEpoch(batch, 3)
	var rb kmsg.RecordBatch
	if err := rb.ReadFrom(batch); err != nil {
		t.Fatal(err)
	}
	if rb.FirstOffset != 42 || rb.PartitionLeaderEpoch != 3 || rb.ProducerID != 77 || rb.ProducerEpoch != 2 || rb.FirstSequence != 5 ||
		rb.NumRecords != 3 || rb.FirstTimestamp != 1000 || rb.MaxTimestamp != 1005 || rb.LastOffsetDelta != 2 {
		t.Errorf("batch read as %+v", rb)
	}
	rest := rb.Records
	for i, want := range sampleRecords() {
		n, size := binary.Varint(rest)
		var r kmsg.Record
		if err := r.ReadFrom(rest[:size+int(n)]); err != nil {
			t.Fatal(err)
		}
		rest = rest[size+int(n):]
		g := got{int64(r.OffsetDelta), 1000 + r.TimestampDelta64, r.Key, r.Value, nil}
		for _, h := range r.Headers {
			g.Headers = append(g.Headers, Field{h.Key, h.Value})
		}
		if diff := cmp.Diff(want, g); diff != "" {
			t.Errorf("record %d (-want +got):\n%s", i, diff)
		}
	}
}

func TestInvalidErrorNamesTheRecord(t *testing.T) {
	_, err := Verify(raw(t, 2, "0e 00 00 00 02 6b 01 00  0e 00 00 04 02 6b 01 00"), Rules{}, nil)
	var invalid *InvalidError
	if !errors.As(err, &invalid) || invalid.Record != 1 || !strings.Contains(err.Error(), "record 1") {
		t.Errorf("error %v", err)
	}
}

func BenchmarkVerify(b *testing.B) {
	var c Codec
	for _, codec := range allCodecs {
		b.Run(codec.String(), func(b *testing.B) {
			var bu Builder
			bu.Reset(nil)
			value := bytes.Repeat([]byte("0123456789abcdef"), 64)
			for i := range 100 {
				binary.BigEndian.PutUint64(value, uint64(i)*0x9e3779b97f4a7c15)
				bu.Append(1000, nil, value)
			}
			batch, err := bu.FinishCompressed(codec, 0, &c)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(100 << 10)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Verify(batch, Rules{Client: true}, &c); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
