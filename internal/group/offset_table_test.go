package group

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"rota/internal/schema"
)

// A table holds what a map would hold.
func TestOffsetTableIsAMap(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	var table, copied offsetTable
	want := map[TopicPartition]offset{}
	atCopy := 0
	for i := range 5000 {
		tp := TopicPartition{"t" + strconv.Itoa(rng.IntN(5)), rng.Int32N(30)}
		o := offset{at: Offset(i)}
		o.Offset, o.LeaderEpoch, o.CommitTimestamp, o.ExpireTimestamp = rng.Int64(), rng.Int32(), rng.Int64(), schema.None
		if rng.IntN(3) == 0 {
			o.Metadata, o.ExpireTimestamp, o.TopicID = "m", rng.Int64(), [16]byte{byte(i)}
		}
		if rng.IntN(3) == 0 {
			table.remove(tp)
			delete(want, tp)
		} else {
			table.put(tp, o)
			want[tp] = o
		}
		if i == 2500 {
			copied, atCopy = table.clone(), table.len()
		}
		if table.len() != len(want) {
			t.Fatalf("step %d: %d offsets, want %d", i, table.len(), len(want))
		}
		got, ok := table.get(tp)
		if w, there := want[tp]; ok != there || got != w {
			t.Fatalf("step %d: %v is %+v, %v; want %+v, %v", i, tp, got, ok, w, there)
		}
	}
	listed := table.partitions()
	for i, tp := range listed {
		if o, _ := table.get(tp); o != want[tp] {
			t.Errorf("%v is %+v, want %+v", tp, o, want[tp])
		}
		if i > 0 && comparePartitions(listed[i-1], tp) >= 0 {
			t.Errorf("%v is listed before %v", listed[i-1], tp)
		}
	}
	if len(listed) != len(want) {
		t.Errorf("%d are listed, want %d", len(listed), len(want))
	}
	if copied.len() != atCopy || len(copied.partitions()) != atCopy {
		t.Error("a copy has changed with the original")
	}
}
