package storagetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"rota/internal/record"
	"rota/internal/storage"
)

// RandomCompaction drives a compacted log with operations from a seed: changes
// of keys, tombstones, settling, compaction, readers beside it, failures,
// restarts and crashes. At every look a reader finds the last value of each key.
func RandomCompaction(t *testing.T, sub *Subject, seed uint64, steps int) {
	w := &compactWork{
		T: t, sub: sub, rand: rand.New(rand.NewPCG(seed, 5)), keyed: NewKeyed(),
		conf: storage.Config{
			FlushLimit: 16 << 10, JournalLimit: 64 << 10, CleanMemory: 1, RetentionInterval: time.Minute, Log: testLogger(t),
		},
	}
	w.keyed.changes = w.changes
	for i := range w.movers {
		w.movers[i] = newTxnProducer(int64(300+i), w.keyed)
	}
	w.open()
	for range steps {
		w.step()
	}
	if w.sub.Calm != nil {
		w.sub.Calm()
	}
	w.endTransactions()
	for range 3 {
		if err := w.s.Clean(context.Background()); err != nil {
			w.Logf("clean: %v", err)
		}
		w.restart()
	}
	w.close()
}

type compactWork struct {
	*testing.T
	sub   *Subject
	rand  *rand.Rand
	conf  storage.Config
	keyed *Keyed
	s     *storage.Store
	l     *storage.Log
	life  *life
	// movers write in transactions.
	movers [3]*txnProducer
}

func (w *compactWork) open() {
	w.Helper()
	m, err := w.sub.Open()
	if err != nil {
		w.Fatalf("open medium: %v", err)
	}
	for range 10 { // failures that come by themselves
		if w.s, err = storage.Open(context.Background(), m, w.conf); err == nil {
			break
		}
	}
	if err != nil {
		w.Fatalf("open store: %v", err)
	}
	w.life = &life{}
	conf := compacted()
	conf.SegmentBytes, conf.DeleteRetention = 8<<10, 20*time.Second
	conf.SegmentAge = time.Minute
	if w.l, err = w.s.Create(partA, conf); err != nil {
		w.Fatal(err)
	}
	for _, m := range w.movers {
		m.use(w.l, w.life)
	}
	w.check(nil)
}

// endTransactions waits for the end of all that are open: then nothing holds
// back readers or compaction.
func (w *compactWork) endTransactions() {
	w.Helper()
	for range 300 {
		synctest.Wait()
		idle := true
		for _, m := range w.movers {
			idle = m.finish() && idle
		}
		if b := w.l.Bounds(); idle && b.LastStable == b.End {
			return
		}
		time.Sleep(time.Second)
	}
	w.Fatalf("transactions stay open: %+v in log %+v", w.l.OpenTransactions(), w.l.Bounds())
}

func (w *compactWork) check(between func()) {
	w.Helper()
	if err := w.keyed.Check(w.l, between); err != nil {
		w.Fatal(err)
	}
}

func (w *compactWork) close() {
	w.Helper()
	if err := w.s.Close(context.Background()); err != nil {
		w.Errorf("close: %v", err)
	}
}

func (w *compactWork) restart() {
	w.Helper()
	w.close()
	w.life.end()
	w.open()
}

// step does one operation, then perhaps lets some time pass.
func (w *compactWork) step() {
	switch n := w.rand.IntN(100); {
	case n < 35:
		w.change()
	case n < 60:
		w.movers[w.rand.IntN(len(w.movers))].step(w.rand)
	case n < 65:
		if err := w.s.Settle(context.Background()); err != nil {
			w.Logf("settle: %v", err)
		}
	case n < 73:
		if err := w.s.Clean(context.Background()); err != nil {
			w.Logf("clean: %v", err)
		}
	case n < 80:
		w.check(func() {
			if w.rand.IntN(8) == 0 {
				w.change()
				go func(s *storage.Store) { _ = s.Clean(context.Background()) }(w.s)
				synctest.Wait()
			}
		})
	case n < 83:
		if w.sub.FailFlush != nil {
			w.sub.FailFlush()
		}
	case n < 86:
		if w.sub.FailSettle != nil {
			w.sub.FailSettle()
		}
	case n < 88:
		w.restart()
	case n < 91:
		if w.sub.Crash != nil {
			w.crash()
		}
	default:
		time.Sleep(time.Duration(w.rand.IntN(30000)) * time.Millisecond)
	}
	if w.rand.IntN(3) > 0 {
		synctest.Wait()
	}
}

func (w *compactWork) crash() {
	w.life.end()
	if w.rand.IntN(2) == 0 { // in the middle of a pass
		go func(s *storage.Store) { _ = s.Clean(context.Background()) }(w.s)
		for range w.rand.IntN(20) {
			time.Sleep(0)
		}
	}
	after := w.sub.Crash(w.rand.Uint64())
	_ = w.s.Close(context.Background()) // on a machine that has stopped
	w.sub = after
	w.open()
}

// change appends changes of keys, of which some are changed often.
func (w *compactWork) change() {
	codec, changes := w.changes()
	batch, acked := w.keyed.Batch(codec, changes...)
	life := w.life
	w.l.Append(batch, storage.DurableAck, func(a storage.Appended) {
		life.during(func() {
			if a.Err == nil {
				acked(a.Base)
			}
		})
	})
}

func (w *compactWork) changes() (codec record.Compression, changes []Change) {
	for range 1 + w.rand.IntN(8) {
		keys := 40
		if w.rand.IntN(4) == 0 {
			keys = 1500
		}
		changes = append(changes, Change{
			Key: fmt.Sprint(w.rand.IntN(keys)), Tombstone: w.rand.IntN(5) == 0, Padding: w.rand.IntN(100),
		})
	}
	return record.Compression(w.rand.IntN(5)), changes
}
