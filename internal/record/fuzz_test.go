package record

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzRecordBatch takes bytes as a batch. Nothing panics or holds much memory,
// what Verify accepts can be read, and what was read survives being built and
// read again, compressed by every codec.
func FuzzRecordBatch(f *testing.F) {
	var c Codec
	for _, codec := range allCodecs {
		f.Add(sample(f, codec, &c), true)
	}
	f.Add(sample(f, Uncompressed, nil)[:70], false)
	f.Add(zstdBomb(), true)
	f.Fuzz(func(t *testing.T, b []byte, fix bool) {
		if n, ok := Size(b); fix && ok && n >= HeaderSize && len(b) >= HeaderSize {
			// Get past the checksum and the length, or nothing is ever found.
			h, _ := ParseHeader(b) // its fields are wanted, right or wrong
			b = bytes.Clone(b)
			putHeader(b, &h)
		}
		c := &Codec{Limit: 4 << 20}
		v, err := Verify(b, Rules{Gaps: true}, c)
		if err != nil {
			for _, err := range c.Records(b) {
				if err != nil {
					return
				}
			}
			return
		}
		first := readAll(t, c, b)
		if int32(len(first)) != v.Count {
			t.Fatalf("%d records, header says %d", len(first), v.Count)
		}
		checkStamps(t, c, b, &v, first)
		for _, to := range allCodecs {
			again, err := Recompress(nil, b, to, 0, c)
			if err != nil {
				t.Fatalf("recompress to %s: %v", to, err)
			}
			w, err := Verify(again, Rules{Gaps: true}, c)
			if err != nil || w.MinTimestamp != v.MinTimestamp || w.MaxTimestamp != v.MaxTimestamp {
				t.Fatalf("recompressed to %s: %+v, %v, want %+v", to, w, err, v)
			}
			if diff := cmp.Diff(first, readAll(t, c, again)); diff != "" {
				t.Fatalf("recompressed to %s (-want +got):\n%s", to, diff)
			}
		}
		checkRebuild(t, first)
	})
}

// checkStamps compares the ways to look for a timestamp with a plain search.
func checkStamps(t *testing.T, c *Codec, b []byte, v *Verified, all []got) {
	t.Helper()
	s, ok, err := c.MaxTimestamp(b)
	if err != nil || ok != (len(all) > 0) {
		t.Fatalf("MaxTimestamp: %v, %v", ok, err)
	}
	if ok && (s.Timestamp != v.MaxTimestamp || s.Offset < v.BaseOffset) {
		t.Fatalf("MaxTimestamp = %v, verified as %+v", s, v)
	}
	if ok {
		first, found, err := c.FirstSince(b, v.BaseOffset, s.Timestamp)
		if err != nil || !found || first != s {
			t.Fatalf("FirstSince(%d) = %v, %v, %v, want %v", s.Timestamp, first, found, err, s)
		}
	}
}

// checkRebuild builds the records anew and reads them back.
func checkRebuild(t *testing.T, all []got) {
	t.Helper()
	if len(all) == 0 {
		return
	}
	var bu Builder
	bu.Reset(nil)
	want := make([]got, len(all))
	for i, r := range all {
		bu.Append(r.Timestamp, r.Key, r.Value, r.Headers...)
		want[i] = r
		want[i].Offset = int64(i)
	}
	batch := bu.Finish()
	if _, err := Verify(batch, Rules{Client: true}, nil); err != nil {
		t.Fatalf("rebuilt batch: %v", err)
	}
	if diff := cmp.Diff(want, readAll(t, nil, batch)); diff != "" {
		t.Fatalf("rebuilt (-want +got):\n%s", diff)
	}
}
