package storagetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/go-cmp/cmp"

	"rota/internal/record"
	"rota/internal/storage"
)

// Tests of the medium alone.
var mediumTests = []suiteTest{
	{"MediumRecoversFlushesInOrder", testMediumRecovers},
	{"MediumVoidsWhatReopenNames", testMediumReopen},
	{"MediumTrims", testMediumTrim},
	{"MediumSettles", testMediumSettle},
}

// recovered is what a medium hands over, in a form to compare.
type recovered struct {
	manifests []*storage.Manifest
	frames    []string
}

func (r *recovered) Manifest(m *storage.Manifest) error {
	r.manifests = append(r.manifests, m)
	return nil
}

func (r *recovered) Frame(flush uint64, f storage.Frame) error {
	s := fmt.Sprintf("%d: kind %d offset %d epoch %d", flush, f.Kind, f.Offset, f.Epoch)
	if f.Kind == storage.FrameBatch {
		all, err := Records(f.Batch)
		if err != nil {
			return err
		}
		s += " " + all[0].Value
	}
	r.frames = append(r.frames, s)
	return nil
}

// medium is a medium that has been recovered.
func (b *bed) medium() (storage.Medium, *recovered, storage.Report) {
	b.Helper()
	m, err := b.sub.Open()
	if err != nil {
		b.Fatal(err)
	}
	r := &recovered{}
	report, err := m.Recover(context.Background(), r)
	if err != nil {
		b.Fatalf("recover: %v", err)
	}
	return m, r, report
}

// flush sends one flush and waits for the outcome.
func flush(m storage.Medium, number uint64, frames ...storage.Frame) error {
	outcome := make(chan error, 1)
	m.Flush(storage.Flush{Number: number, Frames: frames}, func() {}, func(err error) { outcome <- err })
	return <-outcome
}

func batchFrame(p storage.Partition, offset int64, value string) storage.Frame {
	batch := Values(value)
	record.SetBaseOffset(batch, offset)
	record.SetLeaderEpoch(batch, 3)
	return storage.Frame{Kind: storage.FrameBatch, Partition: p, Offset: offset, Epoch: 3, Batch: batch}
}

func (b *bed) must(errs ...error) {
	b.Helper()
	if err := errors.Join(errs...); err != nil {
		b.Fatal(err)
	}
}

func testMediumRecovers(b *bed) {
	m, got, report := b.medium()
	if len(got.frames)+len(got.manifests) > 0 || report.LastFlush != 0 {
		b.Errorf("a new medium holds %+v, %+v", got, report)
	}
	b.must(
		flush(m, 1, storage.Frame{Kind: storage.FrameEpoch, Epoch: 3}),
		flush(m, 2, batchFrame(partA, 0, "a"), batchFrame(partB, 0, "b"), batchFrame(partA, 1, "c")),
		flush(m, 3, storage.Frame{Kind: storage.FrameStart, Partition: partA, Offset: 1, Epoch: 3}),
		flush(m, 4, storage.Frame{Kind: storage.FrameRemove, Partition: partB, Epoch: 3}),
		m.Close())
	m, got, report = b.medium()
	want := []string{
		"1: kind 3 offset 0 epoch 3",
		"2: kind 1 offset 0 epoch 3 a", "2: kind 1 offset 0 epoch 3 b", "2: kind 1 offset 1 epoch 3 c",
		"3: kind 2 offset 1 epoch 3",
		"4: kind 4 offset 0 epoch 3",
	}
	if diff := cmp.Diff(want, got.frames); diff != "" {
		b.Error(diff)
	}
	if report.LastFlush != 4 || report.Frames != 6 || report.TornBytes != 0 || len(report.Corrupt) != 0 {
		b.Errorf("report %+v", report)
	}
	if m.JournalSize() <= 0 {
		b.Errorf("journal has %d bytes", m.JournalSize())
	}
	if err := flush(m, 7, batchFrame(partA, 2, "d")); err == nil {
		b.Error("a flush out of turn was taken")
	}
	b.must(m.Close())
}

func testMediumReopen(b *bed) {
	if b.sub.FailFlush == nil {
		b.Skip("the medium cannot fail")
	}
	m, _, _ := b.medium()
	b.must(flush(m, 1, batchFrame(partA, 0, "a")))
	b.sub.FailFlush()
	if err := flush(m, 2, batchFrame(partA, 1, "void")); err == nil {
		b.Fatal("the flush did not fail")
	}
	if err := flush(m, 3, batchFrame(partA, 2, "void")); err == nil {
		b.Error("a flush after a failed one was taken")
	}
	var err error
	for range 50 {
		if err = m.Reopen(2); err == nil {
			break
		}
		time.Sleep(time.Second)
	}
	b.must(err, flush(m, 2, batchFrame(partA, 1, "b")), flush(m, 3, batchFrame(partA, 2, "c")), m.Close())
	m, got, report := b.medium()
	want := []string{"1: kind 1 offset 0 epoch 3 a", "2: kind 1 offset 1 epoch 3 b", "3: kind 1 offset 2 epoch 3 c"}
	if diff := cmp.Diff(want, got.frames); diff != "" || report.LastFlush != 3 {
		b.Error(report, diff)
	}
	b.must(m.Close())
}

func testMediumTrim(b *bed) {
	m, _, _ := b.medium()
	b.must(flush(m, 1, storage.Frame{Kind: storage.FrameEpoch, Epoch: 9}))
	for i := range uint64(20) {
		b.must(flush(m, i+2, batchFrame(partA, int64(i), "v")))
	}
	before := m.JournalSize()
	b.must(m.Trim(21))
	if size := m.JournalSize(); size >= before/4 {
		b.Errorf("%d of %d bytes are left after trimming all", size, before)
	}
	b.must(m.Close())
	for range 2 { // what was trimmed may be read again, but never half of it
		var got *recovered
		var report storage.Report
		m, got, report = b.medium()
		if report.LastFlush < 21 {
			b.Errorf("flush numbers begin again behind %d", report.LastFlush)
		}
		epoch := false
		for _, f := range got.frames {
			var flush, kind, offset, e int
			if _, err := fmt.Sscanf(f, "%d: kind %d offset %d epoch %d", &flush, &kind, &offset, &e); err != nil {
				b.Fatal(err)
			}
			epoch = epoch || kind == int(storage.FrameEpoch) && e >= 9
		}
		if !epoch {
			b.Errorf("the leader epoch counter is lost: %v", got.frames)
		}
		b.must(flush(m, report.LastFlush+1, batchFrame(partA, 100, "next")), m.Trim(report.LastFlush+1), m.Close())
	}
}

func testMediumSettle(b *bed) {
	m, _, _ := b.medium()
	b.must(flush(m, 1, batchFrame(partA, 0, "in the journal")))
	var data []byte
	var at []int64
	for i := range int64(10) {
		at = append(at, int64(len(data)))
		f := batchFrame(partA, i, fmt.Sprint(i))
		record.SetMaxTimestamp(f.Batch, 1000+100*i)
		data = append(data, f.Batch...)
	}
	token, next := m.NewToken(partA, 0), m.NewToken(partA, 5)
	if token == next || token == m.NewToken(partA, 0) {
		b.Error("two segments have one name")
	}
	first := storage.Segment{Base: 0, End: 5, Size: at[5], MaxTimestamp: 1400, MaxTimestampOffset: 4, Created: 77, Token: token}
	second := storage.Segment{Base: 5, End: 10, Size: int64(len(data)) - at[5], MaxTimestamp: 1900, MaxTimestampOffset: 9, Created: 78, Token: next}
	half := &storage.Manifest{Partition: partA, End: 3, Flush: 1, Segments: []storage.Segment{first}}
	half.Segments[0].Size, half.Segments[0].End = at[3], 3
	full := &storage.Manifest{
		Partition: partA, Start: 1, End: 10, Flush: 8, Segments: []storage.Segment{first, second}, LastStable: 10,
		Epochs: []storage.EpochStart{{Epoch: 2, Start: 0}, {Epoch: 3, Start: 4}}, Producers: []byte("state"),
	}
	b.must(m.Settle([]storage.Move{{Manifest: half, Writes: []storage.SegmentWrite{
		{Token: token, Base: 0, At: 0, Batches: data[:at[2]]}, {Token: token, Base: 0, At: at[2], Batches: data[at[2]:at[3]]},
	}}}))
	b.must(m.Settle([]storage.Move{{Manifest: full, Writes: []storage.SegmentWrite{
		{Token: token, Base: 0, At: at[3], Batches: data[at[3]:at[5]]}, {Token: next, Base: 5, At: 0, Batches: data[at[5]:]},
	}}}))
	for range 2 {
		for i := range int64(10) {
			seg := first
			if i >= 5 {
				seg = second
			}
			got, err := m.Read(partA, seg, i, 1, []byte("x"))
			b.must(err)
			if all, err := Records(got[1:]); err != nil || len(all) != 1 || all[0].Offset != i {
				b.Errorf("read %d: %v, %v", i, all, err)
			}
			got, err = m.Read(partA, seg, i, 1<<20, nil)
			b.must(err)
			if all, err := Records(got); err != nil || len(all) != int(seg.End-i) {
				b.Errorf("read from %d: %v, %v", i, all, err)
			}
			if offset, err := m.Seek(partA, seg, 1000+100*i); offset > i || err != nil {
				b.Errorf("seek %d: %d, %v", i, offset, err)
			}
		}
		if offset, err := m.Seek(partA, second, 1901); offset != 10 && offset != 9 || err != nil {
			b.Errorf("seek beyond: %d, %v", offset, err)
		}
		b.must(m.Close())
		var got *recovered
		m, got, _ = b.medium()
		if diff := cmp.Diff([]*storage.Manifest{full}, got.manifests); diff != "" {
			b.Error(diff)
		}
	}
	full.Start, full.Segments = 5, []storage.Segment{second}
	b.must(m.Settle([]storage.Move{{Manifest: full}}))
	m.Drop(partA, []storage.Segment{first})
	if _, err := m.Read(partA, second, 7, 1, nil); err != nil {
		b.Errorf("read after another segment was dropped: %v", err)
	}
	b.must(m.Remove(partA), m.Remove(partB), m.Close())
	m, got, _ := b.medium()
	if len(got.manifests) != 0 {
		b.Errorf("manifests after removal: %v", got.manifests)
	}
	b.must(m.Close())
}
