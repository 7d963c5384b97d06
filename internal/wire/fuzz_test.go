package wire

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/api"
)

// FuzzRequestDecode takes any bytes for a frame, behind its size and key. What
// decodes is bounded in its elements, and comes out the same when it is
// encoded and decoded again.
func FuzzRequestDecode(f *testing.F) {
	rows := newRows(api.Table())
	format := kmsg.NewRequestFormatter(kmsg.FormatterClientID("fuzz"))
	for _, r := range rows {
		if r == nil {
			continue
		}
		for v := r.Min; v <= r.Max; v++ {
			req := r.Key.Request()
			req.SetVersion(v)
			f.Add(uint8(r.Key), uint8(v), format.AppendRequest(nil, req, 1)[sizeLen+headerLen:])
		}
	}
	f.Fuzz(func(t *testing.T, key, version uint8, frame []byte) {
		if int(key) >= len(rows) || rows[key] == nil || !rows[key].serves(int16(version)) {
			return
		}
		c := &conn{}
		cl := &call{row: rows[key]}
		h := header{key: int16(key), version: int16(version)}
		body, err := c.header(cl.row, h, frame)
		if err != nil {
			return
		}
		elements, err := c.decode(cl, h, body)
		if err != nil {
			return
		}
		if elements > maxElements || elements > len(body) {
			t.Fatalf("%d elements in %d bytes", elements, len(body))
		}
		again := cl.row.Key.Request()
		again.SetVersion(h.version)
		if err := again.ReadFrom(cl.Request.AppendTo(nil)); err != nil {
			t.Fatalf("what was decoded cannot be encoded and decoded: %v", err)
		}
		if diff := cmp.Diff(cl.Request, again, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(kmsg.Tags{})); diff != "" {
			t.Fatalf("decoded again (-first +second):\n%s", diff)
		}
	})
}
