package vfs

import (
	"io"
	"io/fs"
	"sync/atomic"
)

// memFile is an open file of a Mem.
type memFile struct {
	mem    *Mem
	node   *node
	name   string
	closed atomic.Bool
}

// enter is the beginning of every call.
func (f *memFile) enter(kind CallKind, op string, size int) error {
	if f.closed.Load() {
		return pathError(op, f.name, fs.ErrClosed)
	}
	if err := f.mem.faults.call(kind, f.name, size); err != nil {
		return pathError(op, f.name, err)
	}
	return nil
}

func (f *memFile) ReadAt(p []byte, off int64) (int, error) {
	if err := f.enter(ReadCall, "read", len(p)); err != nil {
		return 0, err
	}
	if off < 0 {
		return 0, pathError("read", f.name, errNegPos)
	}
	f.node.mu.RLock()
	n := f.node.bytes.readAt(p, off)
	f.node.mu.RUnlock()
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memFile) WriteAt(p []byte, off int64) (int, error) {
	if err := f.WriteVec([][]byte{p}, off); err != nil {
		return 0, err
	}
	return len(p), nil
}

// WriteVec is one call for the faults: it fails, or is torn in a crash, as a
// whole.
func (f *memFile) WriteVec(bufs [][]byte, off int64) error {
	total := 0
	for _, b := range bufs {
		total += len(b)
	}
	if off < 0 {
		return pathError("write", f.name, errNegPos)
	}
	err := f.enter(WriteCall, "write", total)
	if err != nil && !isShort(err) {
		return err
	}
	if err != nil {
		total /= 2 // the first half gets through
	}
	if full := f.write(bufs, off, int64(total)); full != nil {
		return full
	}
	return err
}

// write writes the first total bytes of bufs.
func (f *memFile) write(bufs [][]byte, off, total int64) error {
	if total == 0 {
		return nil
	}
	n := f.node
	n.mu.Lock()
	defer n.mu.Unlock()
	if more := off + total - n.bytes.size; more > 0 && !f.mem.faults.grew(more) {
		return pathError("write", f.name, ErrNoSpace)
	}
	if n.track != nil {
		n.track.wrote(off, total)
	}
	for _, b := range bufs {
		b = b[:min(int64(len(b)), total)]
		n.bytes.writeAt(b, off)
		if n.track != nil {
			n.track.copied(b)
		}
		off, total = off+int64(len(b)), total-int64(len(b))
	}
	return nil
}

// Allocate gains nothing in memory, but a tracked file does what a disk does.
func (f *memFile) Allocate(size int64) error {
	if !f.mem.tracked {
		return nil
	}
	at, err := f.Size()
	if err != nil || at >= size {
		return err
	}
	_, err = f.WriteAt(make([]byte, size-at), at)
	return err
}

func (f *memFile) Truncate(size int64) error {
	if err := f.enter(WriteCall, "truncate", 0); err != nil {
		return err
	}
	if size < 0 {
		return pathError("truncate", f.name, errNegPos)
	}
	if !f.mem.resize(f.node, size) {
		return pathError("truncate", f.name, ErrNoSpace)
	}
	return nil
}

// resize sets a file's size and reports false if there is no room.
func (m *Mem) resize(n *node, size int64) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !m.faults.grew(size - n.bytes.size) {
		return false
	}
	n.bytes.truncate(size)
	if n.track != nil {
		n.track.truncated(size)
	}
	return true
}

func (f *memFile) Size() (int64, error) {
	if f.closed.Load() {
		return 0, pathError("stat", f.name, fs.ErrClosed)
	}
	f.node.mu.RLock()
	defer f.node.mu.RUnlock()
	return f.node.bytes.size, nil
}

func (f *memFile) Sync() error {
	err := f.enter(SyncCall, "sync", 0)
	f.node.sync(err)
	return err
}

// writeSynced is a write, then a sync of what it wrote.
func (f *memFile) writeSynced(b []byte, off int64) error {
	if _, err := f.WriteAt(b, off); err != nil {
		return err
	}
	if err := f.enter(SyncCall, "sync", 0); err != nil {
		f.node.sync(err)
		return err
	}
	f.node.syncRange(off, int64(len(b)))
	return nil
}

// syncRange makes n bytes at off durable. What happened elsewhere in the file
// stays open, unless its size was set: then everything is made durable.
func (n *node) syncRange(off, size int64) {
	if n.track == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.track.cutsAny() {
		n.track.settle(&n.bytes)
		return
	}
	n.track.settleRange(&n.bytes, off, size)
}

// sync makes the file's contents durable, or leaves them in doubt.
func (n *node) sync(err error) {
	if n.track == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if err != nil {
		n.track.fail(&n.bytes)
		return
	}
	n.track.settle(&n.bytes)
}

func (f *memFile) Close() error {
	if f.closed.Swap(true) {
		return pathError("close", f.name, fs.ErrClosed)
	}
	f.mem.mu.Lock()
	defer f.mem.mu.Unlock()
	f.node.opens--
	f.mem.reclaimLocked(f.node)
	return nil
}

// memDir is an open folder of a Mem.
type memDir struct {
	mem  *Mem
	node *node
	name string
}

func (d *memDir) Sync() error {
	if err := d.mem.faults.call(SyncCall, d.name, 0); err != nil {
		return pathError("sync", d.name, err)
	}
	d.mem.mu.Lock()
	defer d.mem.mu.Unlock()
	d.node.syncNamesLocked()
	return nil
}

func (n *node) syncNamesLocked() {
	for _, c := range n.moves {
		c.apply(n.durable)
	}
	n.moves = nil
}

// apply makes a change of names.
func (c move) apply(names map[string]*node) {
	if c.gone != "" {
		delete(names, c.gone)
	}
	if c.node != nil {
		names[c.name] = c.node
	}
	if c.other != nil {
		names[c.swapped] = c.other
	}
}

// SyncAll is one call for the faults. It syncs what it was asked to and
// nothing else.
func (d *memDir) SyncAll(names []string) error {
	failed := d.mem.faults.call(SyncCall, d.name, 0)
	for _, name := range names {
		d.mem.mu.Lock()
		n, err := d.mem.findLocked(name)
		if err == nil && n.isDir() && failed == nil {
			n.syncNamesLocked()
		}
		d.mem.mu.Unlock()
		if err != nil {
			return pathError("sync", name, err)
		}
		if !n.isDir() {
			n.sync(failed)
		}
	}
	if failed != nil {
		return pathError("sync", d.name, failed)
	}
	return nil
}

func (d *memDir) Close() error { return nil }
