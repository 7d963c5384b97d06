package storagetest

import (
	"errors"
	"fmt"
	"slices"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"rota/internal/record"
	"rota/internal/storage"
)

var keepTests = []suiteTest{
	{"RestartKeepsEverything", testRestart},
	{"SettlingKeepsEverything", testSettle},
	{"OldBatchesAreSettledByThemselves", testTailAge},
	{"FullTailIsSettledByItself", testTailLimit},
	{"RemoveEndsALog", testRemove},
	{"EpochsRiseForEver", testEpochs},
	{"ManyPartitions", testManyPartitions},
}

func testRestart(b *bed) {
	b.open()
	l := b.log(partA, keepAll)
	var want []string
	for i := range 5 {
		for j := range 3 {
			v := fmt.Sprintf("%d.%d", i, j)
			b.append(l, Values(v))
			want = append(want, v)
		}
		before, epoch := l.Bounds(), b.s.Epoch()
		if i == 2 {
			b.settle()
		}
		b.restart()
		l = b.log(partA, keepAll)
		after := l.Bounds()
		if b.s.Epoch() <= epoch || after.Epoch != b.s.Epoch() {
			b.Errorf("epoch %d (log %d) after %d", b.s.Epoch(), after.Epoch, epoch)
		}
		if e, end := l.EndOfEpoch(epoch); e != epoch || end != before.End {
			b.Errorf("epoch %d ended at %d (%d), want %d", epoch, end, e, before.End)
		}
		before.Epoch = after.Epoch
		if diff := cmp.Diff(before, after); diff != "" {
			b.Error(diff)
		}
		if diff := cmp.Diff(want, b.values(l)); diff != "" {
			b.Error(diff)
		}
	}
	if e, end := l.EndOfEpoch(0); e != 0 || end != 0 {
		b.Errorf("an epoch before all others ends at %d (%d)", end, e)
	}
	if e, end := l.EndOfEpoch(l.Bounds().Epoch + 1); e != -1 || end != -1 {
		b.Errorf("a future epoch ends at %d (%d)", end, e)
	}
}

func testSettle(b *bed) {
	b.open()
	l, other := b.log(partA, small()), b.log(partB, keepAll)
	var want []string
	for i := range 40 {
		v := fmt.Sprint(i)
		if i%10 == 9 {
			v += string(make([]byte, 50<<10)) // a large one, passed on where it lies
		}
		b.append(l, Values(v))
		b.append(other, Values(v))
		want = append(want, v)
		if i%15 == 14 {
			b.settle()
		}
	}
	b.settle()
	if size := b.gate.JournalSize(); size > 1000 {
		b.Errorf("the journal has %d bytes after settling", size)
	}
	for range 2 {
		if !slices.Equal(want, b.values(l)) || !slices.Equal(want, b.values(other)) {
			b.Error("logs differ from what was appended")
		}
		b.restart()
		l, other = b.log(partA, small()), b.log(partB, keepAll)
	}
	if frames := b.s.Report().Frames; frames > 10 {
		b.Errorf("a restart after settling read %d frames", frames)
	}
}

func testTailAge(b *bed) {
	b.open()
	l := b.log(partA, keepAll)
	b.append(l, Values("a"))
	before := b.gate.JournalSize()
	time.Sleep(5 * time.Second)
	b.append(l, Values("b"))
	if now := b.gate.JournalSize(); now <= before {
		b.Errorf("journal shrank from %d to %d too early", before, now)
	}
	time.Sleep(20 * time.Second)
	if now := b.gate.JournalSize(); now >= before {
		b.Errorf("journal has %d bytes after the tail's age, %d before", now, before)
	}
	if diff := cmp.Diff([]string{"a", "b"}, b.values(l)); diff != "" {
		b.Error(diff)
	}
}

func testTailLimit(b *bed) {
	b.conf.TailLimit = 16 << 20
	b.open()
	l := b.log(partA, keepAll)
	value := string(make([]byte, 900<<10))
	b.gate.ShutBehind()
	var sent []*answer
	for range 20 {
		sent = append(sent, b.send(l, Values(value), storage.DurableAck))
	}
	synctest.Wait()
	pressed := b.s.Pressed()
	if pressed == nil {
		b.Fatal("no pressure although the tail is over its limit")
	}
	b.gate.Open()
	<-pressed
	for _, a := range sent {
		if got := b.wait(a); got.Err != nil {
			b.Error(got.Err)
		}
	}
	if b.s.Pressed() != nil {
		b.Error("pressure remains")
	}
	if n := len(b.values(l)); n != 20 {
		b.Errorf("read %d records", n)
	}
}

func testRemove(b *bed) {
	b.open()
	l, other := b.log(partA, small()), b.log(partB, small())
	b.fill(l, 10, record.Uncompressed)
	b.fill(other, 10, record.Uncompressed)
	b.gate.Shut()
	for range b.gate.InFlight() + 2 {
		b.send(l, Values("x"), storage.NoAck)
		synctest.Wait()
	}
	parked := b.send(l, Values("y"), storage.DurableAck)
	removed := &answer{}
	go func(s *storage.Store) { removed.set(storage.Appended{Err: s.Remove(partA)}) }(b.s)
	synctest.Wait()
	if got, ok := parked.get(); !ok || !errors.Is(got.Err, storage.ErrClosed) {
		b.Errorf("append that waited: %+v, %t", got, ok)
	}
	if _, ok := b.s.Log(partA); ok {
		b.Error("log is there although it is being removed")
	}
	b.gate.Open()
	if got := b.wait(removed); got.Err != nil {
		b.Fatal(got.Err)
	}
	if got := b.wait(b.send(l, Values("z"), storage.DurableAck)); !errors.Is(got.Err, storage.ErrClosed) {
		b.Errorf("append to a removed log: %v", got.Err)
	}
	if err := b.s.Remove(partA); err != nil {
		b.Errorf("remove again: %v", err)
	}
	b.restart()
	if diff := cmp.Diff([]storage.Partition{partB}, b.s.Partitions()); diff != "" {
		b.Error(diff)
	}
	b.checkStart(b.log(partB, small()), 0)
	l = b.log(partA, small())
	if got := b.append(l, Values("new")); got.Base != 0 {
		b.Errorf("a new log begins at %d", got.Base)
	}
	b.settle()
	b.restart()
	if diff := cmp.Diff([]string{"new"}, b.values(b.log(partA, small()))); diff != "" {
		b.Error(diff)
	}
}

func testEpochs(b *bed) {
	last := int32(-1)
	for i := range 4 {
		b.restart()
		for range 3 {
			epoch, err := b.s.NextEpoch()
			if err != nil || epoch <= last {
				b.Fatalf("epoch %d after %d, %v", epoch, last, err)
			}
			last = epoch
		}
		if i%2 == 1 {
			b.settle() // trims the journal
		}
	}
}

func testManyPartitions(b *bed) {
	b.open()
	const parts, batches = 100, 6
	name := func(i int) storage.Partition {
		return storage.Partition{Topic: storage.TopicID{12}, Index: int32(i)}
	}
	var last []*answer
	for j := range batches {
		last = last[:0]
		for i := range parts {
			l := b.log(name(i), small())
			last = append(last, b.send(l, Values(fmt.Sprintf("%d-%d", i, j)), storage.DurableAck))
		}
		if j == 3 {
			for _, a := range last {
				b.wait(a)
			}
			b.settle()
		}
	}
	for _, a := range last {
		if got := b.wait(a); got.Err != nil || got.Base != batches-1 {
			b.Fatalf("got %+v", got)
		}
	}
	b.restart()
	if n := len(b.s.Partitions()); n != parts {
		b.Errorf("%d partitions after the restart", n)
	}
	for i := range parts {
		for j, v := range b.values(b.log(name(i), small())) {
			if v != fmt.Sprintf("%d-%d", i, j) {
				b.Fatalf("partition %d has %q at %d", i, v, j)
			}
		}
	}
}
