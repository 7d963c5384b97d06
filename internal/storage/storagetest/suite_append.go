package storagetest

import (
	"errors"
	"fmt"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"rota/internal/record"
	"rota/internal/storage"
)

var appendTests = []suiteTest{
	{"AppendsGetOffsetsInOrder", testAppendOrder},
	{"NothingIsVisibleBeforeItIsDurable", testVisibleWhenDurable},
	{"WrittenAckIsAnsweredWhenWritten", testWrittenAck},
	{"AnswersOfAPartitionComeInOrder", testAnswerOrder},
	{"InternalBatchesGoFirst", testInternalFirst},
	{"FlushIsBounded", testFlushBound},
	{"BatchesAreVerified", testVerified},
	{"LogAppendTimeIsStamped", testLogAppendTime},
	{"BatchesAreRecompressed", testRecompressed},
	{"WriterIsFenced", testWriterFenced},
	{"WatchersAreWoken", testWatch},
	{"CloseAnswersEverybody", testClose},
}

func testAppendOrder(b *bed) {
	b.open()
	l := b.log(partA, keepAll)
	offset := int64(0)
	for i := range 20 {
		values := []string{fmt.Sprint(i), fmt.Sprint(i, "b")}[:1+i%2]
		got := b.append(l, Values(values...))
		want := storage.Appended{Base: offset, LogAppend: -1}
		if diff := cmp.Diff(want, got); diff != "" {
			b.Fatalf("append %d: %s", i, diff)
		}
		offset += int64(len(values))
	}
	want := storage.Bounds{HighWatermark: offset, LastStable: offset, End: offset, Epoch: b.s.Epoch()}
	if diff := cmp.Diff(want, l.Bounds()); diff != "" {
		b.Error(diff)
	}
}

func testVisibleWhenDurable(b *bed) {
	b.open()
	l := b.log(partA, keepAll)
	b.append(l, Values("a"))
	b.gate.Shut()
	answered := b.send(l, Values("b"), storage.DurableAck)
	synctest.Wait()
	if _, ok := answered.get(); ok {
		b.Error("answered before it is durable")
	}
	want := storage.Bounds{HighWatermark: 1, LastStable: 1, End: 2, Epoch: b.s.Epoch()}
	if diff := cmp.Diff(want, l.Bounds()); diff != "" {
		b.Error(diff)
	}
	if diff := cmp.Diff([]string{"a"}, b.values(l)); diff != "" {
		b.Error(diff)
	}
	if n, err := l.Available(1, false); n != 0 || err != nil {
		b.Errorf("%d bytes available, %v", n, err)
	}
	data, _, err := l.Read(nil, 1, storage.ReadOptions{MaxBytes: 1000, Whole: true})
	if len(data) > 0 || err != nil {
		b.Errorf("read %d bytes, %v", len(data), err)
	}
	b.gate.Open()
	b.wait(answered)
	if diff := cmp.Diff([]string{"a", "b"}, b.values(l)); diff != "" {
		b.Error(diff)
	}
	if n, err := l.Available(1, false); n == 0 || err != nil {
		b.Errorf("%d bytes available, %v", n, err)
	}
}

func testWrittenAck(b *bed) {
	b.open()
	l := b.log(partA, keepAll)
	b.gate.ShutBehind()
	answered := b.send(l, Values("a"), storage.WrittenAck)
	none := b.send(l, Values("b"), storage.NoAck)
	if got := b.wait(answered); got.Err != nil || got.Base != 0 {
		b.Errorf("got %+v", got)
	}
	if hw := l.Bounds().HighWatermark; hw != 0 {
		b.Errorf("high watermark %d before anything is durable", hw)
	}
	b.gate.Open()
	b.append(l, Values("c"))
	if _, ok := none.get(); ok {
		b.Error("acks=0 was answered")
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, b.values(l)); diff != "" {
		b.Error(diff)
	}
}

func testAnswerOrder(b *bed) {
	b.open()
	l := b.log(partA, keepAll)
	var order sequence[int64]
	acks := []storage.Ack{storage.DurableAck, storage.WrittenAck, storage.DurableAck, storage.WrittenAck, storage.WrittenAck}
	var want []int64
	for i := range int64(50) {
		l.Append(Values(fmt.Sprint(i)), acks[i%5], func(a storage.Appended) { order.add(a.Base) })
		want = append(want, i)
		if i%7 == 0 {
			synctest.Wait()
		}
	}
	time.Sleep(time.Minute)
	if diff := cmp.Diff(want, order.get()); diff != "" {
		b.Error(diff)
	}
}

// flushes records the order in which frames reach the medium.
type flushes struct {
	storage.Medium
	seen sequence[[]storage.Partition]
}

func (f *flushes) Flush(fl storage.Flush, written func(), done func(error)) {
	var parts []storage.Partition
	for i := range fl.Frames {
		if fl.Frames[i].Kind == storage.FrameBatch {
			parts = append(parts, fl.Frames[i].Partition)
		}
	}
	if len(parts) > 0 {
		f.seen.add(parts)
	}
	f.Medium.Flush(fl, written, done)
}

// spy puts a recorder of flushes behind the gate.
func (b *bed) spy() *flushes {
	f := &flushes{Medium: b.gate.Medium}
	b.gate.Medium = f
	return f
}

// shutGate shuts the gate and has the flush loop wait there, so that what is
// sent gathers for the next flush.
func (b *bed) shutGate(l *storage.Log) {
	b.gate.Shut()
	b.send(l, Values("filler"), storage.NoAck)
	synctest.Wait()
}

func testInternalFirst(b *bed) {
	b.conf.InternalFlushLimit = 1000
	b.open()
	seen := b.spy()
	client := b.log(partA, keepAll)
	conf := keepAll
	conf.Internal = true
	internal := b.log(partB, conf)
	b.shutGate(client)
	for range 10 {
		b.send(client, Values("c"), storage.DurableAck)
	}
	last := b.send(internal, Values("i"), storage.DurableAck)
	b.gate.Open()
	b.wait(last)
	time.Sleep(time.Minute)
	got := seen.seen.get()[1:]
	if len(got) < 2 || got[0][0] != partB {
		b.Fatalf("flushes carried %v", got)
	}
	if n := len(got[0]); n > 8 {
		b.Errorf("a flush with an internal batch took %d batches, beyond its limit", n)
	}
}

func testFlushBound(b *bed) {
	b.conf.FlushLimit = 2000
	b.open()
	seen := b.spy()
	l := b.log(partA, keepAll)
	b.shutGate(l)
	large := make([]byte, 3000)
	for i := range 40 {
		value := "small"
		if i == 20 {
			value = string(large)
		}
		b.send(l, Values(value), storage.DurableAck)
	}
	last := b.send(l, Values("last"), storage.DurableAck)
	b.gate.Open()
	b.wait(last)
	alone := false
	for _, parts := range seen.seen.get() {
		if len(parts) > 2000/64 {
			b.Errorf("a flush took %d batches", len(parts))
		}
		alone = alone || len(parts) == 1
	}
	if !alone {
		b.Error("the large batch had no flush of its own")
	}
	if got := len(b.values(l)); got != 42 {
		b.Errorf("read %d records", got)
	}
}

func testVerified(b *bed) {
	b.open()
	conf := keepAll
	conf.Compact, conf.MaxMessageBytes = true, 500
	conf.TimestampBefore, conf.TimestampAfter = time.Hour, time.Hour
	l := b.log(partA, conf)
	now := time.Now().UnixMilli()
	good := Batch{Values: []string{"v"}, Keys: true, Timestamp: now}
	flipped := good.Bytes()
	flipped[len(flipped)-1] ^= 1
	noKey, early, late, large := good, good, good, good
	noKey.Keys = false
	early.Timestamp, late.Timestamp = now-2*3600*1000, now+2*3600*1000
	large.Values = []string{string(make([]byte, 500))}
	for _, c := range []struct {
		name  string
		batch []byte
		want  error
	}{
		{"good", good.Bytes(), nil},
		{"flipped bit", flipped, record.ErrCorrupt},
		{"cut off", good.Bytes()[:65], record.ErrInvalid},
		{"two batches", append(good.Bytes(), good.Bytes()...), record.ErrInvalid},
		{"nothing", nil, record.ErrInvalid},
		{"no key", noKey.Bytes(), record.ErrInvalid},
		{"too early", early.Bytes(), storage.ErrInvalidTimestamp},
		{"too late", late.Bytes(), storage.ErrInvalidTimestamp},
		{"too large", large.Bytes(), storage.ErrTooLarge},
		{"transactional", transactional(), storage.ErrNotVerified},
		{"control", control(), record.ErrInvalid},
	} {
		got := b.wait(b.send(l, c.batch, storage.DurableAck))
		if !errors.Is(got.Err, c.want) || c.want == nil && got.Err != nil {
			b.Errorf("%s: got %v, want %v", c.name, got.Err, c.want)
		}
	}
	if end := l.Bounds().End; end != 1 {
		b.Errorf("log ends at %d", end)
	}
}

func transactional() []byte {
	var builder record.Builder
	builder.Reset(nil)
	builder.SetProducer(5, 0, 0)
	builder.SetTransactional()
	builder.Append(time.Now().UnixMilli(), []byte("k"), []byte("v"))
	return builder.Finish()
}

func control() []byte {
	var builder record.Builder
	builder.Reset(nil)
	builder.SetProducer(5, 0, -1)
	builder.AppendMarker(time.Now().UnixMilli(), record.Marker{Type: record.ControlCommit})
	return builder.Finish()
}

func testLogAppendTime(b *bed) {
	b.open()
	conf := keepAll
	conf.LogAppendTime = true
	l := b.log(partA, conf)
	time.Sleep(time.Hour)
	now := time.Now().UnixMilli()
	if got := b.append(l, Values("a")); got.LogAppend != now {
		b.Errorf("told %d, want %d", got.LogAppend, now)
	}
	data, _, err := l.Read(nil, 0, storage.ReadOptions{MaxBytes: 1000})
	if err != nil {
		b.Fatal(err)
	}
	h, err := record.ParseHeader(data)
	if err != nil || h.MaxTimestamp != now || !h.Attributes.LogAppendTime() || !record.CheckCRC(data) {
		b.Errorf("stored %+v, %v", h, err)
	}
}

func testRecompressed(b *bed) {
	b.open()
	conf := keepAll
	conf.Compression = int8(record.Zstd)
	l := b.log(partA, conf)
	for _, from := range []record.Compression{record.Uncompressed, record.LZ4, record.Zstd} {
		b.append(l, Batch{Values: []string{from.String()}, Compression: from}.Bytes())
	}
	for offset := range int64(3) {
		data, _, err := l.Read(nil, offset, storage.ReadOptions{MaxBytes: 10, Whole: true})
		if err != nil {
			b.Fatal(err)
		}
		if h, err := record.ParseHeader(data); err != nil || h.Attributes.Compression() != record.Zstd {
			b.Errorf("stored %+v, %v", h, err)
		}
	}
	if diff := cmp.Diff([]string{"none", "lz4", "zstd"}, b.values(l)); diff != "" {
		b.Error(diff)
	}
}

func testWriterFenced(b *bed) {
	b.open()
	l := b.log(partA, keepAll)
	first := l.Writer(b.s.Epoch())
	var told sequence[error]
	if base, err := first.Append(Values("a"), told.add); base != 0 || err != nil {
		b.Fatalf("appended at %d, %v", base, err)
	}
	epoch, err := b.s.NextEpoch()
	if err != nil || epoch != b.s.Epoch() {
		b.Fatalf("next epoch %d, %v, newest %d", epoch, err, b.s.Epoch())
	}
	second := l.Writer(epoch)
	if _, err := first.Append(Values("late"), told.add); !errors.Is(err, storage.ErrFenced) {
		b.Errorf("old handle got %v", err)
	}
	if base, err := second.Append(Values("b"), told.add); base != 1 || err != nil {
		b.Errorf("appended at %d, %v", base, err)
	}
	if _, err := l.Writer(epoch-1).Append(Values("older"), told.add); !errors.Is(err, storage.ErrFenced) {
		b.Errorf("handle of an older epoch got %v", err)
	}
	time.Sleep(time.Minute)
	if diff := cmp.Diff([]error{nil, nil}, told.get()); diff != "" {
		b.Error(diff)
	}
	all, _, err := ReadAll(l)
	want := []Record{{Offset: 0, Epoch: epoch - 1, Value: "a"}, {Offset: 1, Epoch: epoch, Value: "b"}}
	if diff := cmp.Diff(want, all); diff != "" || err != nil {
		b.Error(diff, err)
	}
	if e, end := l.EndOfEpoch(epoch - 1); e != epoch-1 || end != 1 {
		b.Errorf("epoch %d ends at %d", e, end)
	}
	if e := l.EpochAt(0); e != epoch-1 {
		b.Errorf("record 0 has epoch %d", e)
	}
	if e := l.EpochAt(1); e != epoch {
		b.Errorf("record 1 has epoch %d", e)
	}
}

func testWatch(b *bed) {
	b.open()
	l := b.log(partA, keepAll)
	var calls sequence[int64]
	stopOther := l.Watch(func() { b.Error("stopped watch was called") })
	stop := l.Watch(func() { calls.add(1) })
	stopOther()
	b.append(l, Values("a"))
	if n := len(calls.get()); n != 1 {
		b.Errorf("%d calls after an append", n)
	}
	if start := b.deleteRecords(l, -1); start != 1 {
		b.Errorf("log start %d", start)
	}
	if n := len(calls.get()); n != 2 {
		b.Errorf("%d calls after DeleteRecords", n)
	}
	stop()
	stop()
	b.append(l, Values("b"))
	if n := len(calls.get()); n != 2 {
		b.Errorf("%d calls after the end of the watch", n)
	}
	l.Watch(func() { calls.add(1) })
	if err := b.s.Remove(partA); err != nil {
		b.Error(err)
	}
	if n := len(calls.get()); n != 3 {
		b.Errorf("%d calls after Remove", n)
	}
}

func testClose(b *bed) {
	b.open()
	l := b.log(partA, keepAll)
	answered := b.send(l, Values("a"), storage.DurableAck)
	woken := false
	l.Watch(func() { woken = true })
	b.end()
	if got, ok := answered.get(); !ok || got.Err != nil {
		b.Errorf("answer to what was sent before: %+v, %t", got, ok)
	}
	if !woken {
		b.Error("watcher was not woken")
	}
	got, ok := b.send(l, Values("b"), storage.DurableAck).get()
	if !ok || !errors.Is(got.Err, storage.ErrClosed) {
		b.Errorf("append after Close: %+v, %t", got, ok)
	}
	if _, _, err := l.Read(nil, 0, storage.ReadOptions{MaxBytes: 1}); !errors.Is(err, storage.ErrClosed) {
		b.Errorf("read after Close: %v", err)
	}
	if diff := cmp.Diff([]string{"a"}, b.values(mustLog(b))); diff != "" {
		b.Error(diff)
	}
}

// mustLog opens the store again and returns partition A.
func mustLog(b *bed) *storage.Log {
	b.Helper()
	l, ok := b.open().Log(partA)
	if !ok {
		b.Fatal("log is gone")
	}
	return l
}
