package disk

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"rota/internal/storage"
	"rota/internal/vfs"
)

const (
	// gatherLimit is the payload size below which copying into the frame
	// buffer is cheaper than one more piece for the system to collect.
	gatherLimit = 4 << 10
	// smallFlush is the flush size up to which space is written ahead.
	smallFlush = 64 << 10
	// aheadStart is how much of a new file is written ahead, aheadStep how much
	// when that is used up.
	aheadStart = 1 << 20
	aheadStep  = 256 << 10
)

var errStopped = errors.New("journal is stopped")

// journal is the stream of flushes. Fields above mu belong to the goroutine
// that flushes; the others are shared with Trim, JournalSize and the syncer.
type journal struct {
	c Config
	// readOnly replays without changing anything (Verify).
	readOnly bool
	dir      vfs.Dir
	arena    []byte   // frame headers and small payloads of a flush
	pieces   [][]byte // what a flush writes
	epoch    int32    // the largest number taken, -1 = none
	// useless says that the file system gains nothing from space written ahead.
	useless bool
	// stale are files that the next new file voids, dead those whose space is
	// not to be used again.
	stale, dead []uint64

	failures chan error
	stop     chan struct{}
	loops    sync.WaitGroup // the syncer and the preparer

	mu      sync.Mutex
	files   []*journalFile // oldest first; the last is active if it is open
	spares  []uint64
	nextSeq uint64
	last    uint64 // number of the last flush that counts
	failed  error  // why flushes are refused until reopen
	lost    error  // a sync failed that covers acknowledged flushes
	// preparing says that a spare is being made, unprepared that the last
	// attempt failed: there is none until the next file begins.
	preparing, unprepared bool
	// untidy says that files may have their names still which have left files.
	untidy bool
}

func newJournal(c Config) (*journal, error) {
	dir, err := c.FS.OpenDir(filepath.Join(c.Dir, journalName))
	if err != nil {
		return nil, err
	}
	j := &journal{c: c, dir: dir, epoch: -1, nextSeq: 1, failures: make(chan error, 1), stop: make(chan struct{})}
	if c.Durability == Interval {
		j.loops.Go(j.syncLoop)
	}
	return j, nil
}

func (j *journal) path(rel string) string { return filepath.Join(j.c.Dir, rel) }

// flush writes one flush and answers.
func (j *journal) flush(f storage.Flush, written func(), done func(error)) {
	a, err := j.admit(f.Number)
	if err != nil {
		done(err)
		return
	}
	need := int64(0)
	for i := range f.Frames {
		need += frameSpace(len(f.Frames[i].Batch))
	}
	if err := j.write(a, f, need, written); err != nil {
		j.fail(err)
		done(err)
		return
	}
	done(nil)
}

// admit refuses a flush out of turn, and returns the active file if there is one.
func (j *journal) admit(number uint64) (*journalFile, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.failed != nil {
		return nil, j.failed
	}
	if number != j.last+1 {
		return nil, fmt.Errorf("flush %d where %d was expected", number, j.last+1)
	}
	return j.activeLocked(), nil
}

func (j *journal) activeLocked() *journalFile {
	if n := len(j.files); n > 0 && j.files[n-1].f != nil {
		return j.files[n-1]
	}
	return nil
}

// write makes a flush durable as the durability says.
func (j *journal) write(a *journalFile, f storage.Flush, need int64, written func()) error {
	epoch, said := j.taken(f), j.epoch
	if j.c.Durability != Fsync {
		// Another process must not take the same number again, whatever a crash
		// leaves of flushes: the header of a new file has it durably.
		said = epoch
	}
	if a == nil || said > j.epoch || j.full(a, need) {
		if a != nil {
			if err := j.seal(a); err != nil {
				return err
			}
		}
		var err error
		if a, err = j.startFile(f.Number, said); err != nil {
			return err
		}
	}
	if need <= smallFlush && !j.useless {
		if err := j.writeAhead(a, need); err != nil {
			return err
		}
	}
	j.gather(a, f, need)
	var err error
	if len(j.pieces) == 1 {
		_, err = a.f.WriteAt(j.pieces[0], a.end)
	} else {
		err = a.f.WriteVec(j.pieces, a.end)
	}
	clear(j.pieces)
	if err != nil {
		return err
	}
	written()
	if j.c.Durability == Fsync {
		if err := a.f.Sync(); err != nil {
			return err
		}
	}
	j.epoch = epoch
	j.wrote(a, f, need)
	return nil
}

// taken is the largest number taken from the leader epoch counter when a flush
// counts.
func (j *journal) taken(f storage.Flush) int32 {
	epoch := j.epoch
	for i := range f.Frames {
		if f.Frames[i].Kind == storage.FrameEpoch {
			epoch = max(epoch, f.Frames[i].Epoch)
		}
	}
	return epoch
}

// full says that a flush goes into the next file: it does not fit into this
// one, or most of this one is used and trimmed, or it would have to go into
// space that is not written yet while a spare is at hand.
func (j *journal) full(a *journalFile, need int64) bool {
	used := a.end - journalHeader
	if used == 0 {
		return false
	}
	j.mu.Lock()
	spent, spares := a.trimmed == a.end, len(j.spares)
	j.mu.Unlock()
	return a.end+need > j.c.JournalFile || spent && used > j.c.JournalFile/2 ||
		spares > 0 && need <= smallFlush && a.end+need > a.allocated
}

// gather lays out what a flush writes: small payloads are copied between the
// frame headers, large ones stay where they are.
func (j *journal) gather(a *journalFile, f storage.Flush, need int64) {
	room := 0
	for i := range f.Frames {
		room += 2 * frameHeader // the header, and padding
		if n := len(f.Frames[i].Batch); n < gatherLimit {
			room += n
		}
	}
	if cap(j.arena) < room {
		j.arena = make([]byte, 0, 2*room)
	}
	b, from := j.arena[:0], 0
	j.pieces = j.pieces[:0]
	for i := range f.Frames {
		frame := &f.Frames[i]
		head := frameHead{
			salt: a.salt, flush: f.Number, payloadCRC: payloadCRC(frame),
			partition: frame.Partition, epoch: frame.Epoch, offset: frame.Offset,
			length: len(frame.Batch), kind: frame.Kind,
		}
		if i == 0 {
			head.flags |= flagFirst
		}
		if i == len(f.Frames)-1 {
			head.flags |= flagLast
		}
		at := len(b)
		b = b[:at+frameHeader]
		head.put(b[at:])
		if head.length < gatherLimit {
			b = append(b, frame.Batch...)
		} else {
			j.pieces = append(j.pieces, b[from:], frame.Batch)
			from = len(b)
		}
		b = append(b, zeroPad[:padded(head.length)-head.length]...)
	}
	if from < len(b) {
		j.pieces = append(j.pieces, b[from:])
	}
	j.arena = b
}

var zeroPad [frameAlign]byte

// wrote counts a flush that counts.
func (j *journal) wrote(a *journalFile, f storage.Flush, need int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	a.end += need
	a.last = f.Number
	a.allocated = max(a.allocated, a.end)
	if j.c.Durability == Fsync {
		a.synced, a.syncedLast = a.end, a.last
	}
	j.last = f.Number
}

// fail refuses flushes until reopen. The active file is not touched again.
func (j *journal) fail(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.failed == nil {
		j.failed = err
	}
	if a := j.activeLocked(); a != nil {
		a.tainted = true
	}
}

// reopen implements storage.Medium.
func (j *journal) reopen(next uint64) error {
	j.mu.Lock()
	last, lost := j.last, j.lost
	a := j.activeLocked()
	j.mu.Unlock()
	if lost != nil {
		return fmt.Errorf("%w: %w", errStopped, lost)
	}
	if next != last+1 {
		return fmt.Errorf("reopen journal at flush %d: flush %d is its last", next, last)
	}
	if a != nil {
		j.abandon(a)
	}
	if _, err := j.startFile(next, j.epoch); err != nil {
		return err
	}
	j.mu.Lock()
	j.failed = nil
	j.mu.Unlock()
	return nil
}

// trim implements storage.Medium: files all of whose flushes may go are kept
// for reuse, or deleted. The newest stays, also while the next one cannot be
// made: it carries the leader epoch counter on.
func (j *journal) trim(n uint64) error {
	j.mu.Lock()
	var free, dead []uint64 // to be used again, or not
	for len(j.files) > 1 && j.files[0].f == nil && j.files[0].last <= n {
		if f := j.files[0]; f.tainted || f.allocated < j.c.JournalFile/2 {
			dead = append(dead, j.files[0].seq)
		} else {
			free = append(free, j.files[0].seq)
		}
		j.files = j.files[1:]
	}
	if k := len(j.files); k > 0 && j.files[k-1].last <= n {
		j.files[k-1].trimmed = j.files[k-1].end
	}
	j.mu.Unlock()
	return j.recycle(free, dead)
}

// size implements storage.Medium.
func (j *journal) size() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	total := int64(0)
	for _, f := range j.files {
		total += f.end - max(f.trimmed, journalHeader)
	}
	return total
}

// close syncs what no flush has synced and closes the files.
func (j *journal) close() error {
	close(j.stop)
	j.loops.Wait()
	j.mu.Lock()
	if j.failed == nil {
		j.failed = errStopped
	}
	lost := j.lost
	j.mu.Unlock()
	var err error
	if lost == nil {
		err = j.syncAll()
	}
	if a := j.activeLocked(); a != nil {
		err = errors.Join(err, a.f.Close())
	}
	return errors.Join(err, j.doubt(), j.dir.Close())
}

// syncAll makes durable what no sync covers.
func (j *journal) syncAll() error {
	err := j.keepCarried()
	for _, f := range j.files {
		switch {
		case f.tainted || f.synced >= f.end:
		case f.f != nil:
			err = errors.Join(err, f.f.Sync())
		default:
			err = errors.Join(err, j.syncSealed(f.seq))
		}
	}
	if j.untidy {
		err = errors.Join(err, j.syncOthers())
	}
	return err
}

// syncOthers makes durable what could not be taken away, and that the rest is
// gone. Recovery reads what manifests cover like anything else, and voids all that
// lies behind a place where it has lost something.
func (j *journal) syncOthers() error {
	seqs, err := j.others()
	for _, seq := range seqs {
		err = errors.Join(err, j.syncSealed(seq))
	}
	return errors.Join(err, j.dir.Sync())
}

// others lists the files of the folder that have left files.
func (j *journal) others() (seqs []uint64, err error) {
	names, err := j.c.FS.List(j.path(journalName))
	for _, name := range names {
		digits, ok := strings.CutSuffix(name, journalExt)
		seq, known := parseSeq(digits)
		if ok && known && !slices.ContainsFunc(j.files, func(f *journalFile) bool { return f.seq == seq }) {
			seqs = append(seqs, seq)
		}
	}
	return seqs, err
}

// syncSealed syncs a file that was left to the system.
func (j *journal) syncSealed(seq uint64) error {
	f, err := j.c.FS.Open(j.path(journalPath(seq)))
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// lose says that acknowledged flushes may be lost: the broker must stop.
func (j *journal) lose(err error) {
	j.mu.Lock()
	first := j.lost == nil
	if first {
		j.lost = err
		if j.failed == nil {
			j.failed = err
		}
	}
	j.mu.Unlock()
	if first {
		j.c.Log.Error("journal sync failed: acknowledged records are in doubt", slog.Any("err", err))
		j.failures <- err
		close(j.failures)
	}
}
