package storagetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"rota/internal/record"
	"rota/internal/storage"
	"rota/internal/vfs"
)

// Walk says how to walk over every call that a store on a medium on a file
// system makes.
type Walk struct {
	// Open opens the medium that is under test on a file system.
	Open func(fsys *vfs.Mem) (storage.Medium, error)
	// Seeds is how many states of the disk are looked at after each crash.
	Seeds uint64
	// Stride walks over every Stride-th call only. 0 is 1.
	Stride int64
}

// CrashWalk runs one workload over and over, stops the machine after each of
// its calls in turn, and restarts on what the disk may hold then: the store
// opens, and every acknowledged record is there, in order, once. The work is
// then finished and looked at again.
func CrashWalk(t *testing.T, w Walk) {
	calls := w.calls(t)
	for n := int64(1); n <= calls; n += max(w.Stride, 1) {
		if !w.run(t, fmt.Sprintf("crash after call %d of %d", n, calls), func(r *walker) {
			r.fsys.CrashAfter(n)
			r.work()
			r.stop()
			for seed := range w.Seeds {
				r.after(seed).finish()
				if r.Failed() {
					r.Fatalf("seed %d", seed)
				}
			}
		}) {
			return
		}
	}
}

// FaultWalk fails each write and each sync of the workload in turn: the work
// gets done all the same, and nothing acknowledged is lost, also if the machine
// stops afterwards.
func FaultWalk(t *testing.T, w Walk) {
	calls := w.calls(t)
	for n := int64(1); n <= calls; n += max(w.Stride, 1) {
		for name, fail := range map[string]func(*vfs.Mem, int64){"sync": (*vfs.Mem).FailSync, "write": (*vfs.Mem).FailWrite} {
			if !w.run(t, fmt.Sprintf("%s %d fails", name, n), func(r *walker) {
				fail(r.fsys, n)
				r.work()
				fail(r.fsys, 0)
				r.finish()
				r.stop()
				r.after(uint64(n)).finish()
			}) {
				return
			}
		}
	}
}

// FullWalk gives the workload a disk of every size that is too small for it,
// and more room later.
func FullWalk(t *testing.T, w Walk) {
	for free := int64(0); free <= 400<<10; free += 9 << 10 * max(w.Stride, 1) {
		if !w.run(t, fmt.Sprintf("disk of %d bytes", free), func(r *walker) {
			r.fsys.SetFree(free)
			r.work()
			r.fsys.SetFree(-1)
			r.fsys.FailSync(0) // a disk that was full may not have come to it
			r.finish()
			r.stop()
			r.after(uint64(free)).finish()
		}) {
			return
		}
	}
}

// StallWalk has each call of the workload take 12 seconds in turn.
func StallWalk(t *testing.T, w Walk) {
	calls := w.calls(t)
	for n := int64(1); n <= calls; n += max(w.Stride, 1) {
		if !w.run(t, fmt.Sprintf("call %d stalls", n), func(r *walker) {
			r.fsys.OnCall(func(c vfs.Call) error {
				if c.N == n {
					time.Sleep(12 * time.Second)
				}
				return nil
			})
			r.work()
			if r.failed > 0 {
				r.Errorf("%d appends failed because of a stall", r.failed)
			}
			r.finish()
		}) {
			return
		}
	}
}

// calls counts what an undisturbed run does.
func (w Walk) calls(t *testing.T) (calls int64) {
	t.Helper()
	w.run(t, "undisturbed", func(r *walker) {
		r.work()
		if left := r.left(); left > 0 || r.failed > 0 {
			r.Fatalf("%d appends failed, %d are not acknowledged", r.failed, left)
		}
		calls = r.fsys.Calls()
		r.finish()
	})
	return calls
}

// run runs f in a bubble, and reports whether it passed.
func (w Walk) run(t *testing.T, name string, f func(r *walker)) bool {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		defer func() {
			if t.Failed() {
				t.Log(name)
			}
		}()
		r := &walker{T: t, fsys: vfs.NewCrashMem(), medium: w.Open, ledger: NewLedger()}
		r.client = &client{p: workPartition(0), id: 7, ledger: r.ledger}
		r.keyed = NewKeyed()
		r.keyed.changes = func() (record.Compression, []Change) {
			return record.Uncompressed, []Change{{Key: "1", Padding: 300}, {Key: fmt.Sprint(r.keyed.n % 4), Tombstone: r.keyed.n%3 == 0}}
		}
		r.mover = newTxnProducer(8, r.book())
		r.keyMover = newTxnProducer(9, r.keyed)
		f(r)
	})
	return !t.Failed()
}

// walker is one run of the workload.
type walker struct {
	*testing.T
	fsys   *vfs.Mem
	medium func(*vfs.Mem) (storage.Medium, error)
	ledger *Ledger
	gate   *Gate
	s      *storage.Store // nil if it could not be opened
	life   *life
	n      int
	failed int // appends, guarded by life

	client   *client
	mover    *txnProducer
	plain    *storage.Log
	inner    *storage.Log
	writer   *storage.Writer
	keyed    *Keyed
	keys     *storage.Log
	keyMover *txnProducer
	groups   int
}

// book is that of the transactions beside the idempotent producer.
func (r *walker) book() book {
	return &ledgerBook{r.ledger, workPartition(0), func() []string { return r.values(1) }}
}

// work does everything that a store does, one thing after the other.
func (r *walker) work() {
	steps := []func(){
		r.group, r.settle, r.group, r.deleteRecords, r.group, r.fly, r.settle, r.nextEpoch, r.group, r.land, r.retain,
		r.change, r.clean, r.group, r.settle, r.reopen, r.group, r.deleteRecords, r.settle, r.retain, r.failSync, r.group,
		r.change, r.clean, r.group, r.settle,
	}
	r.open()
	for _, step := range steps {
		if r.s == nil {
			r.open() // a fault that happens once
		}
		if r.s == nil {
			return
		}
		step()
		synctest.Wait()
	}
	r.wait(r.idle)
	r.close()
}

// open opens the store if the file system lets it.
func (r *walker) open() {
	r.life = &life{}
	m, err := r.medium(r.fsys)
	if err != nil {
		r.Logf("open medium: %v", err)
		return
	}
	r.gate = &Gate{Medium: m}
	r.s, err = storage.Open(context.Background(), r.gate, storage.Config{
		Log: testLogger(r.T), JournalLimit: 1 << 20, Reserve: -1, InternalReserve: -1,
	})
	if err != nil {
		if _, damaged := errors.AsType[*storage.CorruptError](err); damaged {
			r.Fatalf("a crash or a fault is taken for damage: %v", err)
		}
		r.Logf("open store: %v", err)
		r.s = nil
		_ = m.Close()
		return
	}
	if err := r.ledger.Check(r.s); err != nil && !r.stopped() {
		r.Fatal(err)
	}
	conf := keepAll
	conf.SegmentBytes = 4 << 10
	l := r.create(workPartition(0), conf)
	r.client.use(l, r.life)
	r.mover.use(l, r.life)
	shrinking := conf
	shrinking.Delete, shrinking.RetentionBytes = true, 8<<10
	r.ledger.Shrinks(workPartition(1))
	r.plain = r.create(workPartition(1), shrinking)
	conf.Internal = true
	r.inner = r.create(workPartition(2), conf)
	r.writer = r.inner.Writer(r.s.Epoch())
	r.keys = r.create(workPartition(3), compacted())
	r.keyMover.use(r.keys, r.life)
	if err := r.keyed.Check(r.keys, nil); err != nil && !r.stopped() {
		r.Fatal(err)
	}
}

func (r *walker) create(p storage.Partition, c storage.LogConfig) *storage.Log {
	r.Helper()
	l, err := r.s.Create(p, c)
	if err != nil {
		r.Fatal(err)
	}
	return l
}

// stopped reports whether the machine has stopped.
func (r *walker) stopped() bool {
	_, err := r.fsys.List(".")
	return errors.Is(err, vfs.ErrCrashed)
}

// close ends the store. Its error counts only if nothing was injected, which
// is for the caller's next look at the disk to say.
func (r *walker) close() {
	if r.s != nil {
		_ = r.s.Close(context.Background())
		r.s = nil
	}
}

func (r *walker) reopen() {
	r.close()
	r.open()
}

// stop stops the machine.
func (r *walker) stop() {
	if r.life != nil {
		r.life.end()
	}
	r.fsys.Crash()
	r.close()
}

// after is a restart on what the disk may hold after the machine has stopped.
// The walker itself stays as it is.
func (r *walker) after(seed uint64) *walker {
	c := *r
	c.fsys = r.fsys.CrashClone(seed)
	c.ledger = r.ledger.clone()
	c.client = r.client.clone(c.ledger)
	c.keyed = r.keyed.clone()
	c.mover = r.mover.clone(c.book())
	c.keyMover = r.keyMover.clone(c.keyed)
	return &c
}

// finish opens the store, which must work now, has everything acknowledged
// that was not, and compares, before and after another restart.
func (r *walker) finish() {
	r.Helper()
	if r.s == nil {
		r.open()
	}
	if r.s == nil {
		r.Error("the store does not open")
		return
	}
	defer r.close()
	r.append(r.plain, workPartition(1), r.values(1))
	if !r.wait(r.idle) {
		r.Errorf("%d batches are not acknowledged in the end: %v, or transactions are open: %v, %v",
			r.left(), r.client.problem, r.mover.problem, r.keyMover.problem)
	}
	for range 2 {
		if err := r.ledger.Check(r.s); err != nil {
			r.Error(err)
		}
		r.reopen()
		if r.s == nil {
			r.Error("the store does not open again")
			return
		}
	}
}

// wait lets time pass until done, or the machine has stopped.
func (r *walker) wait(done func() bool) bool {
	for range 100 {
		synctest.Wait()
		if done() {
			return true
		}
		if r.s == nil || r.stopped() {
			return false
		}
		time.Sleep(time.Second)
	}
	return false
}

// left is what the idempotent producer waits for. It repeats what failed.
func (r *walker) left() int {
	if r.s == nil {
		return 0
	}
	return r.client.retry()
}

// idle reports whether everything is acknowledged. It ends transactions.
func (r *walker) idle() bool {
	if r.s == nil {
		return true
	}
	done := r.mover.finish()
	done = r.keyMover.finish() && done
	return r.left() == 0 && done
}

// values makes n values that were never used, of several sizes.
func (r *walker) values(n int) []string {
	var all []string
	for range n {
		r.n++
		size := 20 + 150*(r.n%7)
		if r.n%13 == 0 {
			size = 9000
		}
		all = append(all, fmt.Sprintf("%d:%s", r.n, make([]byte, size)))
	}
	return all
}

// group has several appends of all kinds share a flush: the first one is on
// its way to the disk while the others gather. The transaction of the group
// before ends in it.
func (r *walker) group() {
	r.groups++
	r.gate.Shut()
	r.mover.end(r.groups%2 == 0)
	r.append(r.plain, workPartition(1), r.values(2))
	synctest.Wait()
	for i := range 3 {
		r.client.send(r.values(1 + i))
		r.append(r.plain, workPartition(1), r.values(1))
		r.appendWriter()
	}
	r.mover.send()
	r.gate.Open()
	r.wait(func() bool { return r.left() == 0 })
}

func (r *walker) append(l *storage.Log, p storage.Partition, values []string) {
	life := r.life
	r.ledger.Sent(p, values...)
	l.Append(Values(values...), storage.DurableAck, func(a storage.Appended) {
		life.during(func() {
			if a.Err != nil {
				r.failed++
				return
			}
			r.ledger.Acked(p, a.Base, values...)
		})
	})
}

func (r *walker) appendWriter() {
	values, life, p := r.values(1), r.life, workPartition(2)
	r.ledger.Sent(p, values...)
	var base int64
	var err error
	life.during(func() {
		base, err = r.writer.Append(Values(values...), func(err error) {
			life.during(func() {
				if err == nil {
					r.ledger.Acked(p, base, values...)
				}
			})
		})
	})
	if errors.Is(err, storage.ErrFenced) {
		r.nextEpoch()
	}
}

// nextEpoch makes a new writer when there is an epoch for it.
func (r *walker) nextEpoch() {
	taken := make(chan int32, 1)
	go func(s *storage.Store) {
		if epoch, err := s.NextEpoch(); err == nil {
			taken <- epoch
		}
	}(r.s)
	r.wait(func() bool {
		select {
		case epoch := <-taken:
			r.writer = r.inner.Writer(epoch)
			return true
		default:
			return false
		}
	})
}

// change appends to the compacted log: few keys, two of which go.
func (r *walker) change() {
	r.gate.Shut()
	for i := range 14 {
		changes := []Change{{Key: fmt.Sprint(i % 5), Padding: 400}, {Key: fmt.Sprint(i % 3), Tombstone: i == 9}}
		batch, acked := r.keyed.Batch(record.Compression(i%2), changes...)
		life := r.life
		r.keys.Append(batch, storage.DurableAck, func(a storage.Appended) {
			life.during(func() {
				if a.Err == nil {
					acked(a.Base)
				}
			})
		})
		switch i {
		case 3, 4:
			r.keyMover.send()
		case 8:
			r.gate.Open()
			synctest.Wait()
			r.gate.Shut()
			r.keyMover.end(r.groups%2 == 0)
		case 12:
			r.keyMover.send()
		}
	}
	synctest.Wait()
	r.gate.Open()
	synctest.Wait()
}

// clean compacts, while others append.
func (r *walker) clean() {
	done := make(chan error, 1)
	go func(s *storage.Store) { done <- s.Clean(context.Background()) }(r.s)
	r.append(r.plain, workPartition(1), r.values(1))
	r.wait(func() bool {
		select {
		case <-done:
			return true
		default:
			return false
		}
	})
}

func (r *walker) settle() { _ = r.s.Settle(context.Background()) }
func (r *walker) retain() { _ = r.s.Retain() }

// failSync has the disk fail a flush.
func (r *walker) failSync() {
	if !r.stopped() {
		r.fsys.FailSync(1)
	}
	before, heard := 0, false
	r.life.during(func() { before = r.failed })
	r.append(r.plain, workPartition(1), r.values(1))
	r.wait(func() bool {
		r.life.during(func() { heard = r.failed > before })
		return heard
	})
	r.life.during(func() { r.failed = before })
	r.wait(r.serving)
}

// serving reports whether appends are taken, as they are not while the journal
// is being reopened.
func (r *walker) serving() (yes bool) {
	r.plain.DeleteRecords(0, func(_ int64, err error) { yes = err == nil })
	return yes
}

func (r *walker) deleteRecords() {
	c, life := r.client, r.life
	b := c.log.Bounds()
	before := (b.Start + b.HighWatermark) / 2
	r.ledger.Deleting(c.p, before)
	c.log.DeleteRecords(before, func(start int64, err error) {
		life.during(func() {
			if err == nil {
				r.ledger.Deleted(c.p, start)
			}
		})
	})
}

var flyPartition = storage.Partition{Topic: storage.TopicID{21}, Index: 1}

// fly makes a partition that land removes.
func (r *walker) fly() {
	r.append(r.create(flyPartition, keepAll), flyPartition, r.values(2))
}

func (r *walker) land() {
	r.ledger.Removing(flyPartition)
	done := make(chan error, 1)
	go func(s *storage.Store) { done <- s.Remove(flyPartition) }(r.s)
	r.wait(func() bool {
		select {
		case err := <-done:
			if err == nil {
				r.life.during(func() { r.ledger.Removed(flyPartition) })
			}
			return true
		default:
			return false
		}
	})
}
