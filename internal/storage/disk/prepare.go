package disk

import (
	"errors"
	"path/filepath"

	"rota/internal/vfs"
)

const (
	// prepareFrom is the size from which journal files are prepared: what is
	// smaller is not worth a goroutine.
	prepareFrom = 8 << 20
	// prepareStep is how much is written between two syncs, so that a flush
	// never waits for much more.
	prepareStep = 512 << 10
)

var errStopping = errors.New("journal is closing")

// writeAhead sees to it that a small flush finds written space: it makes the
// active file longer if it must, and has a spare made before that is so.
func (j *journal) writeAhead(a *journalFile, need int64) error {
	left := a.allocated - a.end - need
	if left < min(j.c.JournalFile/4, a.allocated/2) && j.c.JournalFile >= prepareFrom {
		j.prepare()
	}
	if left >= 0 {
		return nil
	}
	ahead := min(a.end+need+aheadStep, j.c.JournalFile)
	if err := a.f.Allocate(ahead); err != nil {
		return err
	}
	a.allocated = max(ahead, a.allocated)
	return nil
}

// prepare begins to make a spare if there is none.
func (j *journal) prepare() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.preparing || j.unprepared || len(j.spares) > 0 {
		return
	}
	j.preparing = true
	seq := j.takeSeqLocked()
	j.loops.Go(func() { j.makeSpare(seq) })
}

// makeSpare makes a spare in the background.
func (j *journal) makeSpare(seq uint64) {
	tmp, path := j.path(filepath.Join(journalName, spareTmpName)), j.path(sparePath(seq))
	err := j.fillSpare(tmp)
	if err == nil {
		err = j.c.FS.Rename(tmp, path)
	}
	if err == nil {
		err = vfs.SyncDir(j.c.FS, filepath.Dir(path))
	}
	if err != nil {
		err = errors.Join(err, removeIfThere(j.c.FS, tmp))
		if !errors.Is(err, errStopping) {
			j.c.Log.Warn("no journal file can be prepared", "err", err)
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.preparing, j.unprepared = false, err != nil
	if err == nil {
		j.spares = append(j.spares, seq)
	}
}

// fillSpare writes zeros, step by step.
func (j *journal) fillSpare(name string) error {
	f, err := j.c.FS.Create(name)
	if err != nil {
		return err
	}
	for at := int64(0); at < j.c.JournalFile && err == nil; {
		select {
		case <-j.stop:
			err = errStopping
		default:
			at = min(at+prepareStep, j.c.JournalFile)
			if err = f.Allocate(at); err == nil {
				err = f.Sync()
			}
		}
	}
	return errors.Join(err, f.Close())
}
