package disk

import (
	"context"
	"errors"
	"fmt"

	"rota/internal/storage"
	"rota/internal/vfs"
)

// What is acknowledged before it is synced (interval, never) may lie in a file
// of which a write fails. Nobody syncs that file from then on, and a sync that
// succeeded would be no proof: some systems report with a write that they have
// lost an earlier one. So its successor takes over from where it was synced:
//
//	flushes:    1 2 3 | 4 5 (6)      acknowledged up to 5, synced up to 3
//	successor:          4 5 6 7 ...
//
// With interval the copies are durable before the successor has its name. Until
// then the old file is the newest, and a crash leaves what it leaves of any
// unsynced file.

// kept is what of a file counts behind which the next one begins: the number of
// the last flush, 0 = none, and where it ends.
func (f *journalFile) kept() (last uint64, end int64) {
	switch {
	case !f.tainted:
		return f.last, f.end
	case f.trimmed >= f.end:
		return 0, journalHeader // all of it is in segments
	}
	return f.syncedLast, f.synced
}

// toCarry is the active file if its successor has to take something over from
// it, and the number of the first such flush.
func (j *journal) toCarry() (from *journalFile, first uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	a := j.activeLocked()
	if a == nil || !a.tainted || max(a.synced, a.trimmed) >= a.end {
		return nil, 0
	}
	return a, max(a.first, a.syncedLast+1)
}

// carry copies the flushes of a file from number first on, and returns where
// they end in the new one.
func (j *journal) carry(from *journalFile, first uint64, to vfs.File, salt uint64) (end int64, err error) {
	r := &flushReader{ctx: context.Background()}
	r.buf.reset(from.f, from.end)
	end = journalHeader
	pos := from.synced
	for number := first; pos < from.end; number++ {
		next, bad, err := r.flush(from.salt, number, pos)
		if err != nil {
			return 0, err
		}
		if bad.why != "" {
			err := &storage.CorruptError{File: journalPath(from.seq), Offset: bad.pos, Reason: bad.why + " where an acknowledged flush was"}
			j.lose(err)
			return 0, err
		}
		b, err := r.buf.at(pos, int(next-pos))
		if err != nil {
			return 0, err
		}
		salted(b, salt)
		if _, err := to.WriteAt(b, end); err != nil {
			return 0, err
		}
		end, pos = end+next-pos, next
	}
	return end, nil
}

// salted makes the frames of a flush those of another file.
func salted(b []byte, salt uint64) {
	for len(b) > 0 {
		head, _ := parseFrameHead(b)
		head.salt = salt
		head.put(b)
		b = b[min(frameSpace(head.length), int64(len(b))):]
	}
}

// keepCarried makes durable, at the end, what a failed file holds.
func (j *journal) keepCarried() error {
	if from, _ := j.toCarry(); from == nil {
		return nil
	}
	if _, err := j.startFile(j.last+1, j.epoch); err != nil {
		return fmt.Errorf("journal after a failed write: %w", err)
	}
	return nil
}

// doubt is the error of a journal that ends with flushes in it that were
// acknowledged, have not been synced and are in no segment.
func (j *journal) doubt() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.lost == nil {
		return nil
	}
	for _, f := range j.files {
		if f.synced < f.end && f.trimmed < f.end {
			return errors.Join(errStopped, j.lost)
		}
	}
	return nil
}
