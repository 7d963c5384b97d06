package coordinator

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rota/internal/group"
	"rota/internal/record"
	"rota/internal/schema"
	"rota/internal/storage"
	"rota/internal/storage/disk"
	"rota/internal/vfs"
)

// newCompactedHouse is a house on a disk, whose logs have small segments and
// keep no tombstone longer than they must.
func newCompactedHouse(t *testing.T) *house {
	t.Helper()
	fsys := vfs.NewMem()
	h := &house{
		t: t, config: testConfig(),
		open: func() (storage.Medium, error) { return disk.Open(disk.Config{FS: fsys, Dir: "data"}) },
		log:  storage.LogConfig{Internal: true, Compact: true, SegmentBytes: 8 << 10, Compression: -1},
	}
	h.config.InitialDelay = 100 * time.Millisecond
	h.start()
	t.Cleanup(h.stop)
	return h
}

func (h *house) compact() {
	h.t.Helper()
	if err := h.store.Clean(context.Background()); err != nil {
		h.t.Fatal(err)
	}
}

// commits commits offsets of partitions of topic t, from 0 on.
func (h *house) commits(id string, offsets ...int64) {
	h.t.Helper()
	c := commit(0)
	c.Offsets = nil
	for p, offset := range offsets {
		c.Offsets = append(c.Offsets, group.CommitOffset{
			TopicPartition: group.TopicPartition{Topic: "t", Partition: int32(p)}, Offset: offset, LeaderEpoch: -1, Timestamp: -1,
		})
	}
	if got := outcome(h.ask(id, c)); got != "0" {
		h.t.Fatalf("commit of %s: %s", id, got)
	}
}

// offsets is all that a group has, by partition of topic t.
func (h *house) offsets(id string) map[int32]int64 {
	h.t.Helper()
	got := h.ask(id, group.FetchOffsets{All: true}).(group.FetchedOffsets)
	if got.Code != 0 {
		h.t.Fatalf("fetch of %s: %d", id, got.Code)
	}
	all := map[int32]int64{}
	for _, o := range got.Offsets {
		all[o.Partition] = o.Offset
	}
	return all
}

// everything is what all groups have, and which there are.
func (h *house) everything() map[string]map[int32]int64 {
	h.t.Helper()
	list, code, err := h.c.List(context.Background())
	if code != 0 || err != nil {
		h.t.Fatalf("list: %d, %v", code, err)
	}
	all := map[string]map[int32]int64{}
	for _, g := range list {
		all[g.ID] = h.offsets(g.ID)
	}
	return all
}

// churn commits, deletes groups and deletes offsets, by a seed.
func (h *house) churn(rnd *rand.Rand, n int) {
	h.t.Helper()
	for range n {
		id := fmt.Sprint("g", rnd.IntN(60))
		switch rnd.IntN(10) {
		case 0:
			h.ask(id, group.Delete{})
		case 1:
			h.ask(id, group.DeleteOffsets{Partitions: []group.TopicPartition{t0}})
		default:
			h.commits(id, rnd.Int64N(1000), rnd.Int64N(1000), rnd.Int64N(1000))
		}
	}
}

// B57 (KAFKA-17306, KAFKA-19862): compaction leaves tombstones without what
// they deleted, and offsets without their group. It loads all the same, and
// comes to the same.
func TestLoadAfterCompaction(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newCompactedHouse(t)
		rnd := rand.New(rand.NewPCG(1, 1))
		h.form("members", 3)
		for range 5 {
			h.churn(rnd, 200)
			before := h.everything()
			h.compact()
			h.churnUnknown(rnd)
			h.compact()
			h.restart()
			if diff := cmp.Diff(before, h.everything()); diff != "" {
				t.Fatal(diff)
			}
			if got := h.state("members"); got != "Stable" {
				t.Errorf("group is %s", got)
			}
		}
	})
}

// churnUnknown writes into every log what other versions and kinds of groups
// may have left there.
func (h *house) churnUnknown(rnd *rand.Rand) {
	h.t.Helper()
	for p := range int32(4) {
		l, err := h.c.open(p)
		if err != nil {
			h.t.Fatal(err)
		}
		var b record.Builder
		b.Reset(nil)
		b.Append(1, schema.AppendGroupKey(nil, schema.GroupKey{Group: fmt.Sprint("unknown", rnd.IntN(5))}), nil)
		b.Append(2, schema.AppendOffsetKey(nil, schema.OffsetKey{Group: "unknown", Topic: "t", Partition: rnd.Int32N(3)}), nil)
		b.Append(3, []byte{0, 3, 0, 1, 'g'}, nil)
		b.Append(4, []byte{0, 8, 0, 1, 'g', 0, 1, byte(rnd.IntN(3))}, []byte{0, 1, 2})
		b.Append(5, []byte{0, 99, byte(rnd.IntN(3))}, []byte("?"))
		done := make(chan error, 1)
		l.(storedLog).Append(b.Finish(), storage.DurableAck, func(a storage.Appended) { done <- a.Err })
		if err := <-done; err != nil {
			h.t.Fatal(err)
		}
	}
}

// busyLog compacts whenever somebody reads, and reads in small steps.
type busyLog struct {
	partitionLog
	clean func()
}

func (l busyLog) Read(dst []byte, offset int64, o storage.ReadOptions) ([]byte, storage.ReadInfo, error) {
	defer l.clean()
	o.MaxBytes = 1500
	return l.partitionLog.Read(dst, offset, o)
}

// B57: compaction runs at the same time as the load.
func TestLoadDuringCompaction(t *testing.T) {
	for seed := range uint64(5) {
		bubble(t, func(t *testing.T) {
			h := newCompactedHouse(t)
			rnd := rand.New(rand.NewPCG(seed, 2))
			for range 3 {
				h.churn(rnd, 300)
				before := h.everything()
				if err := h.c.Close(); err != nil {
					t.Fatal(err)
				}
				var passes atomic.Int32
				h.wrap = func(l partitionLog) partitionLog {
					return busyLog{l, func() {
						passes.Add(1)
						_ = h.store.Clean(context.Background()) // fails if a load begins in between
					}}
				}
				h.lead()
				if diff := cmp.Diff(before, h.everything()); diff != "" {
					t.Fatal(diff)
				}
				if n := passes.Load(); n < 8 {
					t.Errorf("%d passes during the load", n)
				}
			}
		})
	}
}

// B35, forced compaction: a deleted group stays deleted, and leaves nothing.
func TestDeletedGroupStaysGone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newCompactedHouse(t)
		h.commits("g", 1, 2, 3)
		h.commits("other", 4)
		h.compact()
		if got := h.ask("g", group.Delete{}).(group.Deleted); got.Code != 0 {
			t.Fatalf("delete: %+v", got)
		}
		for range 3 {
			h.compact()
			h.restart()
			want := map[string]map[int32]int64{"other": {0: 4}}
			if diff := cmp.Diff(want, h.everything()); diff != "" {
				t.Error(diff)
			}
			if got := h.offsets("g"); len(got) != 0 {
				t.Errorf("offsets of a deleted group: %v", got)
			}
			time.Sleep(time.Second)
		}
		keys := 0
		for p := range int32(4) {
			l, err := h.c.open(p)
			if err != nil {
				t.Fatal(err)
			}
			data, _, err := l.Read(nil, l.Bounds().Start, storage.ReadOptions{MaxBytes: 1 << 20, Whole: true})
			if err != nil {
				t.Fatal(err)
			}
			for batch := range record.Batches(data) {
				for range new(record.Codec).Records(batch) {
					keys++
				}
			}
		}
		if keys != 1 {
			t.Errorf("%d records are left, want that of the other group only", keys)
		}
	})
}

// B58, where there are no transactions: of an offset the key is group, topic
// and partition.
func TestCompactionKeepsOffsetsApart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newCompactedHouse(t)
		h.commits("g", 10, 11)
		h.commits("h", 20)
		for range 2 {
			h.compact()
			h.restart()
			want := map[string]map[int32]int64{"g": {0: 10, 1: 11}, "h": {0: 20}}
			if diff := cmp.Diff(want, h.everything()); diff != "" {
				t.Error(diff)
			}
		}
		h.commits("g", 30)
		h.compact()
		h.restart()
		want := map[string]map[int32]int64{"g": {0: 30, 1: 11}, "h": {0: 20}}
		if diff := cmp.Diff(want, h.everything()); diff != "" {
			t.Error(diff)
		}
	})
}
