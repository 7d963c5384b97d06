package story

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
)

// fill sets everything that v holds to chance values, each field to its zero
// value now and then.
func fill(r *rand.Rand, v reflect.Value) {
	if r.IntN(4) == 0 {
		v.SetZero()
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for _, field := range v.Fields() {
			fill(r, field)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(r, v.Elem())
	case reflect.Slice:
		n := r.IntN(4)
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(r, v.Index(i))
		}
	case reflect.String:
		texts := []string{"group-1", "member-rejoined", "a \"quoted\" \\ one", "<&>", "line\nnext\x00", "\u00e4\u2028\U0001F600", "broken\xff", "\x7f~ "}
		v.SetString(texts[r.IntN(len(texts))])
	case reflect.Bool:
		v.SetBool(true)
	default:
		n := r.Int64() >> r.IntN(63)
		if r.IntN(2) == 0 {
			n = -n
		}
		if v.OverflowInt(n) {
			n %= math.MaxInt16
		}
		v.SetInt(n)
	}
}

func TestEventsAreWrittenAsTheirTagsSay(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		var e Event
		fill(r, reflect.ValueOf(&e).Elem())
		want, err := json.Marshal(&e)
		if err != nil {
			t.Fatal(err)
		}
		if got := e.JSON(); string(got) != string(want) {
			t.Fatalf("an event is written as\n%s\ninstead of\n%s", got, want)
		}
	}
}

func BenchmarkAppendJSON(b *testing.B) {
	e := Event{
		Version: 1, TimeMillis: 1_700_000_000_000, Group: "group", Kind: MemberRejoined, Generation: 7,
		Member: &Member{ID: "consumer-group-1-7f3d1a2e-7c1f-4d0c-9e6f-1b2c3d4e5f60", ClientID: "consumer-group-1", Host: "/127.0.0.1"},
	}
	b.ReportAllocs()
	var buf []byte
	for b.Loop() {
		buf = e.AppendJSON(buf[:0])
	}
}
