package storagetest

import (
	"fmt"
	"strings"

	"github.com/google/go-cmp/cmp"

	"rota/internal/record"
	"rota/internal/storage"
)

// Tests of what is lent. A medium that does not lend passes them.
var lendTests = []suiteTest{
	{"WhatIsLentIsWhatIsRead", testLend},
	{"LendsWhatIsCommitted", testLendCommitted},
	{"CompactionLeavesWhatIsLent", testLendBesideCompaction},
	{"DeletionLeavesWhatIsLent", testLendBesideDeletion},
}

// drain reads a stretch to its end, size bytes at a time, and closes it.
func (b *bed) drain(st storage.Stretch, size int) []byte {
	b.Helper()
	defer st.Close()
	var got []byte
	buf := make([]byte, size)
	for {
		n, lent, err := st.Next(buf)
		if err != nil {
			b.Fatalf("behind %d of %d bytes: %v", len(got), st.Size(), err)
		}
		if n+len(lent) == 0 {
			break
		}
		got = append(append(got, buf[:n]...), lent...)
	}
	if len(got) != st.Size() {
		b.Fatalf("a stretch of %d bytes gave %d", st.Size(), len(got))
	}
	return got
}

// wantLent compares what is lent with what is read, and returns how many bytes
// are lent.
func (b *bed) wantLent(l *storage.Log, offset int64, o storage.ReadOptions) int {
	b.Helper()
	st, lentInfo := l.Lend(offset, o)
	if st == nil {
		return 0
	}
	got := b.drain(st, 1+int(offset)%97)
	want, info, err := l.Read(nil, offset, o)
	if err != nil || !strings.HasPrefix(string(want), string(got)) || len(got) > o.MaxBytes {
		b.Fatalf("lent at %d with %+v: %d bytes that are not the first of the %d that are read, %v", offset, o, len(got), len(want), err)
	}
	if len(got) == len(want) {
		if diff := cmp.Diff(info, lentInfo); diff != "" {
			b.Errorf("at %d (-read +lent): %s", offset, diff)
		}
	}
	return len(got)
}

func (b *bed) lends() bool {
	_, ok := b.gate.Medium.(storage.Lender)
	return ok
}

func testLend(b *bed) {
	b.open()
	l := b.log(partA, small())
	b.fill(l, 30, record.Uncompressed)
	for range 2 {
		lent := 0
		for offset := int64(-1); offset < 62; offset++ {
			for _, o := range []storage.ReadOptions{{MaxBytes: 1 << 20}, {MaxBytes: 1 << 20, Committed: true}, {MaxBytes: 200}, {MaxBytes: 1, Whole: true}, {}} {
				lent += b.wantLent(l, offset, o)
			}
		}
		if lent == 0 && b.lends() {
			b.Error("nothing is lent")
		}
		if st, _ := l.Lend(58, storage.ReadOptions{MaxBytes: 1 << 20}); st != nil && l.Bounds().End == 60 && !l.Lends(58) {
			b.Error("what is in the tail is lent")
		}
		b.restart()
		l = b.log(partA, small())
	}
}

func testLendCommitted(b *bed) {
	b.open()
	conf := keepAll
	conf.SegmentBytes = 4 << 10
	l := b.log(partA, conf)
	for i := range 20 {
		b.txn(l, int64(7+i%3), 0, int32(i/3), strings.Repeat(fmt.Sprint(i), 100))
		b.endTxn(l, int64(7+i%3), 0, i%2 == 0)
	}
	b.txn(l, 70, 0, 0, "open") // holds back the last stable offset
	b.append(l, Values("behind"))
	b.settle()
	for range 2 {
		aborted, lent := 0, 0
		for offset := range l.Bounds().End {
			o := storage.ReadOptions{MaxBytes: 1 << 20, Committed: true}
			lent += b.wantLent(l, offset, o)
			if st, info := l.Lend(offset, o); st != nil {
				aborted += len(info.Aborted)
				for batch := range record.Batches(b.drain(st, 1<<20)) {
					if record.NextOffset(batch) > l.Bounds().LastStable {
						b.Fatalf("offset %d is lent, the last stable one is %d", record.BaseOffset(batch), l.Bounds().LastStable)
					}
				}
			}
		}
		if (aborted == 0 || lent == 0) && b.lends() {
			b.Errorf("%d bytes are lent, with %d aborted transactions", lent, aborted)
		}
		b.restart()
		l = b.log(partA, conf)
	}
}

func testLendBesideCompaction(b *bed) {
	b.open()
	l, k := b.log(partA, compacted()), NewKeyed()
	b.churn(k, l, 60, 20)
	b.settle()
	o := storage.ReadOptions{MaxBytes: 1 << 20}
	st, _ := l.Lend(0, o)
	want, _, err := l.Read(nil, 0, o)
	b.must(err)
	b.clean()
	if left := b.records(l); left > 60 {
		b.Fatalf("%d records are left", left)
	}
	if st != nil {
		if got := b.drain(st, 100); !strings.HasPrefix(string(want), string(got)) {
			b.Error("compaction has changed what was lent")
		}
	}
	for offset := range l.Bounds().End {
		b.wantLent(l, offset, o)
	}
	b.check(k, l)
}

func testLendBesideDeletion(b *bed) {
	b.open()
	l := b.log(partA, small())
	b.fill(l, 20, record.Uncompressed)
	o := storage.ReadOptions{MaxBytes: 1 << 20}
	st, _ := l.Lend(0, o)
	want, _, err := l.Read(nil, 0, o)
	b.must(err)
	b.deleteRecords(l, 30)
	b.must(b.s.Retain())
	if again, _ := l.Lend(0, o); again != nil {
		b.Error("what is deleted is lent")
	}
	b.settle()
	if st != nil {
		if got := b.drain(st, 10); !strings.HasPrefix(string(want), string(got)) {
			b.Error("deletion has changed what was lent")
		}
	}
}
