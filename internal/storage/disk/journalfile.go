package disk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"rota/internal/vfs"
)

// journalFile is one file of the chain. f, seq, salt and first do not change
// while it is active; the other fields are guarded by journal.mu, but only the
// flushing goroutine changes end, last and allocated.
type journalFile struct {
	f       vfs.File // nil once it is sealed
	seq     uint64
	salt    uint64
	first   uint64
	last    uint64 // number of its last flush that counts, 0 = none
	end     int64  // behind that flush
	synced  int64  // what a sync covers
	trimmed int64  // manifests cover what lies before
	// syncedLast is the number of the last flush that lies before synced, 0 =
	// none in this file.
	syncedLast uint64
	// allocated is the space known to be written.
	allocated int64
	// tainted says that a write or sync failed: the space is not used again.
	tainted bool
	// sealing keeps the syncer away. syncing says that it is using f; whoever
	// seals waits for idle.
	sealing bool
	syncing bool
	idle    chan struct{}
}

// startFile makes the next journal file: durable, empty but for what it has to
// take over, and voiding all that lies behind the last flush that counts. epoch is
// what its header says of the leader epoch counter.
func (j *journal) startFile(first uint64, epoch int32) (*journalFile, error) {
	from, carried := j.toCarry()
	if from != nil {
		first = carried
	}
	salt, err := newSalt(j.c.Rand)
	if err != nil {
		return nil, err
	}
	f, name, allocated, err := j.takeSpace()
	if err != nil {
		return nil, err
	}
	j.mu.Lock()
	seq := j.takeSeqLocked()
	j.unprepared = false
	h := fileHeader{
		durability: j.c.Durability, seq: seq, salt: salt, first: first,
		predecessorSynced: true, epoch: epoch, created: j.c.Now().UnixMilli(),
	}
	j.linkLocked(&h)
	j.mu.Unlock()
	a := &journalFile{f: f, seq: seq, salt: salt, first: first, end: journalHeader, synced: journalHeader, allocated: allocated}
	if from != nil {
		a.end, err = j.carry(from, first, f, salt)
		a.last, a.allocated = from.last, max(allocated, a.end)
	}
	if err == nil {
		err = j.publish(f, name, &h)
	}
	if err != nil {
		// It may have its name already. All that it holds is in its predecessor
		// too, so it does no harm there.
		return nil, errors.Join(err, f.Close(), removeIfThere(j.c.FS, name),
			removeIfThere(j.c.FS, j.path(journalPath(seq))))
	}
	if j.c.Durability != Never {
		a.synced, a.syncedLast = a.end, a.last
	}
	j.mu.Lock()
	left := j.leaveLocked()
	j.files = append(j.files, a)
	j.mu.Unlock()
	if left != nil {
		left.Close() // nothing depends on it
	}
	if err := j.recycle(j.stale, j.dead); err != nil {
		// They are void, so nothing depends on their being gone.
		j.c.Log.Warn("void journal files cannot be reused", "err", err)
	}
	j.stale, j.dead = nil, nil
	return a, nil
}

func (j *journal) takeSeqLocked() uint64 {
	seq := j.nextSeq
	j.nextSeq++
	return seq
}

// linkLocked names the predecessor in a header: the newest file with a flush
// that counts.
func (j *journal) linkLocked(h *fileHeader) {
	for _, p := range slices.Backward(j.files) {
		if last, end := p.kept(); last > 0 {
			h.prev, h.prevSalt, h.prevEnd = p.seq, p.salt, end
			h.predecessorSynced = p.synced >= end
			return
		}
	}
}

// leaveLocked ends the files behind the predecessor that linkLocked has named:
// the header voids them, and they leave the chain. It returns the active file, to
// be closed.
func (j *journal) leaveLocked() (active vfs.File) {
	if a := j.activeLocked(); a != nil {
		active, a.f = a.f, nil
	}
	for n := len(j.files); n > 0; n-- {
		f := j.files[n-1]
		if f.last, f.end = f.kept(); f.last > 0 {
			break
		}
		if f.tainted {
			j.dead = append(j.dead, f.seq)
		} else {
			j.stale = append(j.stale, f.seq)
		}
		j.files = j.files[:n-1]
	}
	return active
}

// takeSpace returns a spare file, or a new one with some space written ahead.
func (j *journal) takeSpace() (f vfs.File, path string, allocated int64, err error) {
	j.mu.Lock()
	var spare uint64
	if n := len(j.spares); n > 0 {
		spare, j.spares = j.spares[n-1], j.spares[:n-1]
	}
	j.mu.Unlock()
	if spare > 0 {
		path = j.path(sparePath(spare))
		if f, err = j.c.FS.Open(path); err == nil {
			if allocated, err = f.Size(); err == nil && allocated >= journalHeader {
				return f, path, allocated, nil
			}
			f.Close()
		}
		j.c.Log.Warn("spare journal file cannot be used", "file", path, "err", err)
	}
	path = j.path(journalName + "/" + prepareName)
	if f, err = j.c.FS.Create(path); err != nil {
		return nil, "", 0, err
	}
	allocated = min(aheadStart, j.c.JournalFile)
	size := int64(0)
	if err = f.Allocate(allocated); err == nil {
		size, err = f.Size()
	}
	if err != nil {
		return nil, "", 0, errors.Join(err, f.Close(), removeIfThere(j.c.FS, path))
	}
	if j.useless = size < allocated; j.useless {
		allocated = j.c.JournalFile
	}
	return f, path, allocated, nil
}

// publish makes the header durable and then gives the file its name.
func (j *journal) publish(f vfs.File, from string, h *fileHeader) error {
	if err := j.writeHeader(f, h); err != nil {
		return err
	}
	if err := j.c.FS.Rename(from, j.path(journalPath(h.seq))); err != nil {
		return err
	}
	return j.dir.Sync()
}

func (j *journal) writeHeader(f vfs.File, h *fileHeader) error {
	if j.c.Durability == Never {
		// A spare is full of bytes of its earlier use that nobody needs and
		// that have not been synced.
		return vfs.WriteSynced(f, h.encode(), 0)
	}
	if _, err := f.WriteAt(h.encode(), 0); err != nil {
		return err
	}
	return f.Sync()
}

// seal ends a file that is full: it is synced before its successor is used, or
// left to the system as all else is.
func (j *journal) seal(a *journalFile) error {
	j.waitIdle(a)
	synced := a.synced
	if synced < a.end && j.c.Durability != Never {
		if err := a.f.Sync(); err != nil {
			j.lose(err)
			return err
		}
		synced = a.end
	}
	j.mu.Lock()
	if a.synced = synced; synced == a.end {
		a.syncedLast = a.last
	}
	f := a.f
	a.f = nil
	j.mu.Unlock()
	return f.Close()
}

// abandon gives up a file that failed: it is neither written nor synced again.
// It stays the newest until there is another.
func (j *journal) abandon(a *journalFile) {
	j.waitIdle(a)
	j.mu.Lock()
	a.tainted = true
	j.mu.Unlock()
}

// waitIdle returns when the syncer does not use a file. It will not begin to:
// the caller is the goroutine whose flushes it would sync, and the file is
// left behind before it flushes again.
func (j *journal) waitIdle(a *journalFile) {
	for {
		j.mu.Lock()
		syncing, idle := a.syncing, a.idle
		a.sealing = true
		j.mu.Unlock()
		if !syncing {
			return
		}
		<-idle
	}
}

// recycle turns void files into spares, or deletes them if there are enough.
// It deletes the dead ones.
func (j *journal) recycle(seqs, dead []uint64) (err error) {
	defer func() {
		if err != nil {
			j.mu.Lock()
			j.untidy = true
			j.mu.Unlock()
		}
	}()
	for _, seq := range dead {
		if err := removeIfThere(j.c.FS, j.path(journalPath(seq))); err != nil {
			return err
		}
	}
	if len(seqs)+len(dead) == 0 {
		return nil
	}
	j.mu.Lock()
	room := int(j.c.JournalSpare/j.c.JournalFile) - len(j.files) - len(j.spares)
	j.mu.Unlock()
	var spares []uint64
	for _, seq := range seqs {
		from := j.path(journalPath(seq))
		var err error
		if len(spares) < room {
			if err = j.c.FS.Rename(from, j.path(sparePath(seq))); err == nil {
				spares = append(spares, seq)
			}
		} else {
			err = removeIfThere(j.c.FS, from)
		}
		if err != nil {
			return err
		}
	}
	// A spare is written to only when it cannot come back under its old name. A
	// file that is deleted could as well; recovery would have it to read and
	// nothing from it that is not covered.
	if err := j.dir.Sync(); err != nil {
		return err
	}
	j.mu.Lock()
	j.spares = append(j.spares, spares...)
	j.mu.Unlock()
	return nil
}

// syncLoop syncs the active file each interval (durability interval).
func (j *journal) syncLoop() {
	tick := time.NewTicker(j.c.Interval)
	defer tick.Stop()
	for {
		select {
		case <-j.stop:
			return
		case <-tick.C:
			if err := j.syncActive(); err != nil {
				j.lose(err)
				return
			}
		}
	}
}

func (j *journal) syncActive() error {
	j.mu.Lock()
	a := j.activeLocked()
	if a == nil || a.sealing || a.tainted || a.synced >= a.end {
		j.mu.Unlock()
		return nil
	}
	end, last := a.end, a.last
	a.syncing, a.idle = true, make(chan struct{})
	j.mu.Unlock()
	err := a.f.Sync()
	j.mu.Lock()
	a.syncing = false
	if err == nil && !a.tainted { // what failed meanwhile may be what the sync did not say
		a.synced, a.syncedLast = end, last
	}
	j.mu.Unlock()
	close(a.idle)
	return err
}

// newSalt returns a salt, never 0, which unused space is full of.
func newSalt(r io.Reader) (uint64, error) {
	var b [8]byte
	for {
		if _, err := io.ReadFull(r, b[:]); err != nil {
			return 0, fmt.Errorf("make a salt: %w", err)
		}
		if s := binary.BigEndian.Uint64(b[:]); s != 0 {
			return s, nil
		}
	}
}
