package vfs

import (
	"errors"
	"sync"
	"sync/atomic"
	"syscall"
)

// CallKind says what a call does.
type CallKind uint8

// The kinds of calls. Reads and opens change nothing and are not counted.
const (
	ReadCall CallKind = iota
	OpenCall
	CreateCall
	WriteCall // also Truncate
	SyncCall  // of a file, a folder, or many
	RenameCall
	RemoveCall
	MkdirCall
)

// Call describes a call that is about to happen.
type Call struct {
	Kind CallKind
	Name string // of the file or folder
	Size int    // bytes to read or write
	// N is how many calls have changed or synced something, this one
	// included; 0 for calls that do neither.
	N int64
}

// ErrFault is what an injected failure fails with, as a broken disk would.
const ErrFault = syscall.EIO

// errShort marks the failure of a write of which a part gets through.
var errShort = &shortWriteError{}

type shortWriteError struct{}

func (*shortWriteError) Error() string { return "part written: " + ErrFault.Error() }
func (*shortWriteError) Unwrap() error { return ErrFault }
func isShort(err error) bool           { return errors.Is(err, errShort) }
func counts(k CallKind) bool           { return k > OpenCall }
func (c *countdown) hit() (hit bool)   { c.n--; return c.n == 0 }

// countdown reaches zero after a number of calls; it starts out spent.
type countdown struct{ n int64 }

// faults is what shall go wrong.
type faults struct {
	mu         sync.Mutex
	n          int64 // counted calls
	crashAfter int64 // crash when n would pass it; 0 = never
	crashed    bool
	failSync   countdown
	failWrite  countdown
	hook       func(Call) error

	limited atomic.Bool
	free    atomic.Int64 // what is left if limited
}

// call is told of every call before it happens, and decides whether it does.
func (f *faults) call(kind CallKind, name string, size int) error {
	f.mu.Lock()
	c := Call{Kind: kind, Name: name, Size: size}
	if counts(kind) {
		if !f.crashed && f.crashAfter > 0 && f.n >= f.crashAfter {
			f.crashed = true
		}
		if !f.crashed {
			f.n++
		}
		c.N = f.n
	}
	hook, crashed := f.hook, f.crashed
	var err error
	switch {
	case crashed:
		err = ErrCrashed
	case kind == SyncCall && f.failSync.hit():
		err = ErrFault
	case kind == WriteCall && f.failWrite.hit():
		err = errShort
	}
	f.mu.Unlock()
	// The hook may wait, so it runs without the lock; a crash while it waits
	// ends the call.
	if hook != nil && err == nil {
		if err = hook(c); err == nil && f.hasCrashed() {
			err = ErrCrashed
		}
	}
	return err
}

func (f *faults) hasCrashed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.crashed
}

// grew takes more bytes of the free space and reports false, taking nothing,
// if there are fewer.
func (f *faults) grew(more int64) bool {
	if !f.limited.Load() {
		return true
	}
	for {
		free := f.free.Load()
		if more > max(free, 0) {
			return false
		}
		if f.free.CompareAndSwap(free, free-more) {
			return true
		}
	}
}

func (f *faults) room() (free int64, limited bool) {
	return f.free.Load(), f.limited.Load()
}

// Calls is how many calls have changed or synced something.
func (m *Mem) Calls() int64 {
	m.faults.mu.Lock()
	defer m.faults.mu.Unlock()
	return m.faults.n
}

// CrashAfter lets n calls happen that change or sync something, counted from
// the beginning of the Mem, and fails every later call, reads too, with
// ErrCrashed: the machine has stopped. 0 takes that back. CrashClone then
// returns what a restart finds.
func (m *Mem) CrashAfter(n int64) {
	m.faults.mu.Lock()
	defer m.faults.mu.Unlock()
	m.faults.crashAfter, m.faults.crashed = n, false
}

// Crash stops the Mem now: every later call fails with ErrCrashed.
func (m *Mem) Crash() {
	m.faults.mu.Lock()
	defer m.faults.mu.Unlock()
	m.faults.crashed = true
}

// FailSync fails the n-th sync from now on (1 = the next), once, with
// ErrFault. What it should have made durable stays in doubt until it is
// written and synced again: later syncs succeed and do not cover it.
func (m *Mem) FailSync(n int64) {
	m.faults.mu.Lock()
	defer m.faults.mu.Unlock()
	m.faults.failSync.n = n
}

// FailWrite fails the n-th write from now on (1 = the next), once, with
// ErrFault; half of the bytes are written.
func (m *Mem) FailWrite(n int64) {
	m.faults.mu.Lock()
	defer m.faults.mu.Unlock()
	m.faults.failWrite.n = n
}

// SetFree limits the space for new bytes: writes that need more fail with
// ErrNoSpace, Free returns what is left. Deleting files gives space back. A
// negative n takes the limit away.
func (m *Mem) SetFree(n int64) {
	m.faults.free.Store(n)
	m.faults.limited.Store(n >= 0)
}

// OnCall has f called before each call, in the caller's goroutine. The call
// fails with what f returns; it stalls while f waits. nil takes that back.
func (m *Mem) OnCall(f func(Call) error) {
	m.faults.mu.Lock()
	defer m.faults.mu.Unlock()
	m.faults.hook = f
}
