package record

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// unhex turns a spaced hex dump into bytes.
func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// got is a record with its headers, for comparison.
type got struct {
	Offset, Timestamp int64
	Key, Value        []byte
	Headers           []Field
}

func readAll(t *testing.T, c *Codec, batch []byte) []got {
	t.Helper()
	var all []got
	for r, err := range c.Records(batch) {
		if err != nil {
			t.Fatalf("read records: %v", err)
		}
		g := got{Offset: r.Offset, Timestamp: r.Timestamp, Key: clone(r.Key), Value: clone(r.Value)}
		for k, v := range r.Headers() {
			g.Headers = append(g.Headers, Field{k, clone(v)})
		}
		all = append(all, g)
	}
	return all
}

// clone keeps the difference between null and empty.
func clone(b []byte) []byte {
	if b == nil {
		return nil
	}
	return append([]byte{}, b...)
}

// The expected bytes were put together by hand from KIP-98, but for the
// checksum, which was computed by another implementation.
func TestBuilderBytes(t *testing.T) {
	var b Builder
	b.Reset([]byte("front"))
	b.Append(1700000000000, []byte("k"), []byte("v"))
	b.Append(1700000000001, nil, []byte{}, Field{"h", nil}, Field{"", []byte("x")})
	out := b.Finish()
	want := unhex(t, `
		0000000000000000 00000047 ffffffff 02 e1c5ec31 0000 00000001
		0000018bcfe56800 0000018bcfe56801 ffffffffffffffff ffff ffffffff 00000002
		10 00 00 00 02 6b 02 76 00
		18 00 02 02 01 00 04 02 68 01 00 02 78`)
	if diff := cmp.Diff(want, out[5:]); diff != "" {
		t.Errorf("batch (-want +got):\n%s", diff)
	}
	if string(out[:5]) != "front" {
		t.Errorf("front = %q", out[:5])
	}
}
