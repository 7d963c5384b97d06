package rotatest

import (
	"path/filepath"
	"sync/atomic"

	"rota/internal/vfs"
)

// FailFlush has the next flush fail: the disk does not make durable what is
// appended next. Producers and committers are told so, groups whose records it
// carried are loaded again, and the broker goes on in a new journal file.
func (b *Broker) FailFlush() {
	b.changing.Lock()
	defer b.changing.Unlock()
	var failed atomic.Bool
	b.disk.OnCall(func(c vfs.Call) error {
		// Files of the journal are synced by flushes and by nobody else.
		if c.Kind == vfs.SyncCall && filepath.Base(filepath.Dir(c.Name)) == "journal" && !failed.Swap(true) {
			return vfs.ErrFault
		}
		return nil
	})
}

// Crash ends the broker as kill -9 would, in the middle of whatever it does, and
// starts it again with what it had written. Connections break; clients find the
// broker at the same address.
func (b *Broker) Crash() {
	b.t.Helper()
	b.changing.Lock()
	defer b.changing.Unlock()
	b.disk.Crash()
	_ = b.running.Close() // it cannot write any more, and says so
	b.faults.wait()
	b.disk.CrashAfter(0)
	if err := b.run(); err != nil {
		b.t.Fatalf("rotatest: restart after a crash: %v", err)
	}
}

// Restart ends the broker in good order and starts it again.
func (b *Broker) Restart() {
	b.t.Helper()
	if err := b.stop(); err != nil {
		b.t.Fatalf("rotatest: stop: %v", err)
	}
	b.changing.Lock()
	defer b.changing.Unlock()
	if err := b.run(); err != nil {
		b.t.Fatalf("rotatest: restart: %v", err)
	}
}
