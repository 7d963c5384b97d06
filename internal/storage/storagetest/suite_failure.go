package storagetest

import (
	"errors"
	"fmt"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"rota/internal/storage"
)

var failureTests = []suiteTest{
	{"FailedFlushTakesBackWhatIsNotDurable", testFailedFlush},
	{"FailedFlushFencesWriters", testFailedFlushFences},
	{"ControlsOutliveAFailedFlush", testFailedFlushControls},
	{"FailedSettlingIsTriedAgain", testFailedSettle},
	{"FullDiskRefusesAppends", testFullDisk},
	{"CrashKeepsWhatWasAcknowledged", testCrash},
}

func testFailedFlush(b *bed) {
	if b.sub.FailFlush == nil {
		b.Skip("the medium cannot fail")
	}
	b.open()
	l, other := b.log(partA, keepAll), b.log(partB, keepAll)
	b.append(l, Values("kept"))
	epoch := b.s.Epoch()
	b.gate.Shut()
	var failed []*answer
	var order sequence[int]
	for i := range 6 {
		failed = append(failed, b.send(l, Values(fmt.Sprint("lost", i)), storage.DurableAck))
		l.Append(Values(fmt.Sprint("lost too", i)), storage.DurableAck, func(a storage.Appended) {
			if hw, end := l.Bounds().HighWatermark, l.Bounds().End; hw != 1 || end != 1 {
				b.Errorf("log ends at %d, %d when the failure is told", hw, end)
			}
			order.add(i)
		})
		synctest.Wait()
	}
	failed = append(failed, b.send(other, Values("lost"), storage.DurableAck))
	b.sub.FailFlush()
	b.gate.Open()
	for i, a := range failed {
		if got := b.wait(a); !errors.Is(got.Err, storage.ErrFlushFailed) {
			b.Errorf("append %d: %+v", i, got)
		}
	}
	if diff := cmp.Diff([]int{0, 1, 2, 3, 4, 5}, order.get()); diff != "" {
		b.Error(diff)
	}
	b.untilServing(l)
	if now := b.s.Epoch(); now <= epoch || l.Bounds().Epoch != now {
		b.Errorf("epoch %d (log %d) after %d", now, l.Bounds().Epoch, epoch)
	}
	if got := b.append(l, Values("next")); got.Base != 1 {
		b.Errorf("next append at %d", got.Base)
	}
	if got := b.append(other, Values("first")); got.Base != 0 {
		b.Errorf("first append at %d", got.Base)
	}
	if e, end := l.EndOfEpoch(epoch); e != epoch || end != 1 {
		b.Errorf("epoch %d ended at %d (%d)", epoch, end, e)
	}
	for range 3 {
		if diff := cmp.Diff([]string{"kept", "next"}, b.values(l)); diff != "" {
			b.Error(diff)
		}
		if diff := cmp.Diff([]string{"first"}, b.values(other)); diff != "" {
			b.Error(diff)
		}
		b.restart()
		l, other = b.log(partA, keepAll), b.log(partB, keepAll)
		b.settle()
	}
}

func testFailedFlushFences(b *bed) {
	if b.sub.FailFlush == nil {
		b.Skip("the medium cannot fail")
	}
	b.open()
	l := b.log(partA, keepAll)
	w := l.Writer(b.s.Epoch())
	var told sequence[error]
	b.gate.Shut()
	for range 3 {
		if _, err := w.Append(Values("lost"), told.add); err != nil {
			b.Fatal(err)
		}
		synctest.Wait()
	}
	b.sub.FailFlush()
	b.gate.Open()
	if _, err := b.s.NextEpoch(); err != nil {
		b.Fatal(err)
	}
	b.untilServing(l)
	if diff := cmp.Diff(3, len(told.get())); diff != "" {
		b.Error(diff)
	}
	for _, err := range told.get() {
		if !errors.Is(err, storage.ErrFlushFailed) {
			b.Errorf("writer was told %v", err)
		}
	}
	if _, err := w.Append(Values("late"), told.add); !errors.Is(err, storage.ErrFenced) {
		b.Errorf("old handle got %v", err)
	}
	epoch, err := b.s.NextEpoch()
	if err != nil {
		b.Fatal(err)
	}
	base, err := l.Writer(epoch).Append(Values("new"), told.add)
	if base != 0 || err != nil {
		b.Errorf("new handle appended at %d, %v", base, err)
	}
	time.Sleep(time.Minute)
	if diff := cmp.Diff([]string{"new"}, b.values(l)); diff != "" {
		b.Error(diff)
	}
}

func testFailedFlushControls(b *bed) {
	if b.sub.FailFlush == nil {
		b.Skip("the medium cannot fail")
	}
	b.open()
	l := b.log(partA, keepAll)
	b.append(l, Values("a", "b"))
	b.append(b.log(partB, keepAll), Values("a"))
	b.gate.Shut()
	for range b.gate.InFlight() {
		b.send(l, Values("lost"), storage.NoAck)
		synctest.Wait()
	}
	removed, start := &answer{}, &answer{}
	go func(s *storage.Store) { removed.set(storage.Appended{Err: s.Remove(partB)}) }(b.s)
	l.DeleteRecords(1, func(at int64, err error) { start.set(storage.Appended{Start: at, Err: err}) })
	synctest.Wait()
	b.sub.FailFlush()
	b.gate.Open()
	if got := b.wait(removed); got.Err != nil {
		b.Errorf("remove: %v", got.Err)
	}
	if got := b.wait(start); got.Err == nil && got.Start != 1 {
		b.Errorf("delete records: %+v", got)
	}
	b.untilServing(l)
	b.restart()
	if diff := cmp.Diff([]storage.Partition{partA}, b.s.Partitions()); diff != "" {
		b.Error(diff)
	}
}

func testFailedSettle(b *bed) {
	if b.sub.FailSettle == nil {
		b.Skip("the medium cannot fail")
	}
	b.open()
	l, other := b.log(partA, small()), b.log(partB, small())
	var want []string
	for i := range 60 {
		v := fmt.Sprint(i)
		b.append(l, Values(v))
		b.append(other, Values(v))
		want = append(want, v)
		if i%10 == 9 {
			b.sub.FailSettle()
			time.Sleep(12 * time.Second) // the tail's age has it tried, and tried again
		}
		if i == 35 {
			b.sub.FailSettle()
			b.restart()
			l, other = b.log(partA, small()), b.log(partB, small())
		}
	}
	b.settle()
	for range 2 {
		if diff := cmp.Diff(want, b.values(l)); diff != "" {
			b.Error(diff)
		}
		if diff := cmp.Diff(want, b.values(other)); diff != "" {
			b.Error(diff)
		}
		b.restart()
		l, other = b.log(partA, small()), b.log(partB, small())
	}
}

func testFullDisk(b *bed) {
	if b.sub.SetFree == nil {
		b.Skip("the medium is never full")
	}
	b.open()
	client := b.log(partA, small())
	conf := small()
	conf.Internal = true
	internal := b.log(partB, conf)
	w := internal.Writer(b.s.Epoch())
	try := func(step string, free int64, wantClient, wantInternal error) {
		b.Helper()
		b.sub.SetFree(free)
		time.Sleep(2 * time.Second)
		if got := b.wait(b.send(client, Values(step), storage.DurableAck)); !errors.Is(got.Err, wantClient) {
			b.Errorf("%s: client got %v, want %v", step, got.Err, wantClient)
		}
		if _, err := w.Append(Values(step), func(error) {}); !errors.Is(err, wantInternal) {
			b.Errorf("%s: writer got %v, want %v", step, err, wantInternal)
		}
	}
	try("plenty", 300<<20, nil, nil)
	try("little", 200<<20, storage.ErrFull, nil)
	try("none", 50<<20, storage.ErrFull, storage.ErrFull)
	if start := b.deleteRecords(client, 1); start != 1 {
		b.Errorf("log start %d: deletion does not work on a full disk", start)
	}
	b.settle()
	if err := b.s.Retain(); err != nil {
		b.Errorf("retention on a full disk: %v", err)
	}
	if size := client.Size(); size != 0 {
		b.Errorf("%d bytes are left", size)
	}
	try("some", 100<<20, storage.ErrFull, nil)
	try("plenty again", -1, nil, nil)
	time.Sleep(time.Minute)
	if diff := cmp.Diff([]string{"plenty again"}, b.values(client)); diff != "" {
		b.Error(diff)
	}
	if diff := cmp.Diff([]string{"plenty", "little", "some", "plenty again"}, b.values(internal)); diff != "" {
		b.Error(diff)
	}
}

func testCrash(b *bed) {
	if b.sub.Crash == nil {
		b.Skip("the medium cannot crash")
	}
	b.open()
	var want []string
	for round := range uint64(8) {
		l := b.log(partA, small())
		for i := range 5 {
			v := fmt.Sprintf("%d.%d", round, i)
			b.append(l, Values(v))
			want = append(want, v)
		}
		if round%3 == 1 {
			b.settle()
		}
		b.gate.Shut()
		for i := range b.gate.InFlight() { // on its way when the machine stops
			b.send(l, Values(fmt.Sprintf("unknown %d.%d", round, i)), storage.NoAck)
			synctest.Wait()
		}
		after := b.sub.Crash(round)
		b.gate.Open()
		b.end()
		b.sub = after
		b.open()
		if diff := cmp.Diff(want, b.values(b.log(partA, small()))); diff != "" {
			b.Error(diff)
		}
	}
}
