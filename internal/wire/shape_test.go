package wire

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/api"
)

// eachLayout calls f for every version of every API that is served.
func eachLayout(t *testing.T, f func(t *testing.T, r *row, version int16)) {
	for _, r := range newRows(api.Table()) {
		if r == nil {
			continue
		}
		for v := r.Min; v <= r.Max; v++ {
			t.Run(fmt.Sprintf("%s v%d", r.Key.Name(), v), func(t *testing.T) { f(t, r, v) })
		}
	}
}

func TestShapesAreThoseOfTheProtocol(t *testing.T) {
	eachLayout(t, func(t *testing.T, r *row, version int16) {
		random := rand.New(rand.NewPCG(uint64(r.Key), uint64(version)))
		l := r.layout(version)
		for range 10 {
			req := r.Key.Request()
			req.SetVersion(version)
			randomize(random, reflect.ValueOf(req).Elem(), 0)
			req.SetVersion(version)
			body := req.AppendTo(nil)
			w := walker{cursor: cursor{b: body}, flexible: l.flexible}
			w.all(l.parts)
			if w.bad || len(w.b) != 0 {
				t.Fatalf("walk left %d of %d bytes, bad is %v: %+v", len(w.b), len(body), w.bad, req)
			}
			// What is cut off anywhere is found out.
			for cut := range body {
				if _, err := walk(l.parts, body[:cut], l.flexible); err == nil {
					t.Fatalf("walk accepts %d of %d bytes", cut, len(body))
				}
			}
		}
	})
}

// randomize fills in a request: short strings, arrays of up to three.
func randomize(r *rand.Rand, v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[kmsg.Tags]() {
			return
		}
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() && v.Type().Field(i).Name != "Version" {
				randomize(r, f, depth+1)
			}
		}
	case reflect.Pointer:
		if v.Type().Elem().Kind() == reflect.String {
			s := strings.Repeat("s", r.IntN(4))
			v.Set(reflect.ValueOf(&s))
		}
		if v.Type().Elem().Kind() == reflect.Struct && r.IntN(2) == 0 {
			v.Set(reflect.New(v.Type().Elem()))
			randomize(r, v.Elem(), depth+1)
		}
	case reflect.String:
		v.SetString(strings.Repeat("x", r.IntN(200)))
	case reflect.Slice:
		n := r.IntN(4)
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			randomize(r, v.Index(i), depth+1)
		}
	case reflect.Array:
		for i := range v.Len() {
			randomize(r, v.Index(i), depth+1)
		}
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(int8(r.Uint32())))
	case reflect.Uint8:
		v.SetUint(uint64(r.IntN(256)))
	default:
	}
}

func TestElementsAreCountedAndBounded(t *testing.T) {
	rows := newRows(api.Table())
	metadata := func(n int) []byte { // names of no letters, two bytes each
		body := []byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}
		return append(body, make([]byte, 2*n)...)
	}
	l := rows[kmsg.Metadata].layout(1)
	if n, err := walk(l.parts, metadata(1000), false); n != 1000 || err != nil {
		t.Errorf("%d elements and %v, want 1000", n, err)
	}
	if _, err := walk(l.parts, metadata(maxElements+1), false); err == nil {
		t.Error("too many elements are accepted")
	}
}

func TestCursorReadsNumbersOf32Bits(t *testing.T) {
	for _, c := range []struct {
		in   []byte
		want int
		bad  bool
	}{
		{[]byte{0}, 0, false},
		{[]byte{0x7f}, 127, false},
		{[]byte{0x80, 0x01}, 128, false},
		{[]byte{0xff, 0xff, 0xff, 0xff, 0x0f}, 1<<32 - 1, false},
		{[]byte{0x81, 0x80, 0x00}, 1, false}, // longer than it must be
		{[]byte{0xff, 0xff, 0xff, 0xff, 0x1f}, 0, true},
		{[]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0x01}, 0, true},
		{[]byte{0x80}, 0, true},
		{nil, 0, true},
	} {
		cur := cursor{b: c.in}
		if got := cur.uvarint(); got != c.want || cur.bad != c.bad {
			t.Errorf("uvarint(%x) = %d, bad %v; want %d, %v", c.in, got, cur.bad, c.want, c.bad)
		}
	}
}
