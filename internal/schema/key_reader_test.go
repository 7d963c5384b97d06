package schema

import (
	"bytes"
	"fmt"
	"testing"
)

// A KeyReader reads what ParseKey reads as an OffsetKey, and nothing else.
func TestKeyReaderAgreesWithParseKey(t *testing.T) {
	var r KeyReader
	check := func(b []byte) {
		t.Helper()
		key, err := ParseKey(b)
		want, ok := key.(OffsetKey)
		if err != nil {
			ok = false
		}
		got, read := r.Read(b)
		if read != ok || ok && got != want {
			t.Errorf("%x is %+v, %t, want %+v, %t", b, got, read, want, ok)
		}
	}
	whole := AppendOffsetKey(nil, OffsetKey{Group: "g", Topic: "topic", Partition: 7})
	for n := range len(whole) + 1 {
		check(whole[:n])
	}
	check(append(bytes.Clone(whole), 1))
	check([]byte{0, 0, 0, 1, 'g', 0, 1, 't', 0, 0, 0, 9})  // type 0
	check([]byte{0, 1, 0xff, 0xff, 0, 1, 't', 0, 0, 0, 9}) // null group
	check([]byte{0xff, 0xff, 0, 1, 'g', 0, 1, 't', 0, 0, 0, 9})
	check(AppendGroupKey(nil, GroupKey{Group: "g"}))
	check([]byte{0, 3, 0, 1, 'g'})
	for i := range 2*topicsKept + 10 {
		check(AppendOffsetKey(nil, OffsetKey{Group: fmt.Sprint(i / 3), Topic: fmt.Sprint(i % (topicsKept + 5)), Partition: int32(-i)}))
	}
	if len(r.topics) > topicsKept {
		t.Errorf("%d topics are kept", len(r.topics))
	}
}

func TestKeyReaderDoesNotAllocate(t *testing.T) {
	var r KeyReader
	b := AppendOffsetKey(nil, OffsetKey{Group: "g", Topic: "topic", Partition: 7})
	if n := testing.AllocsPerRun(100, func() { r.Read(b) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
