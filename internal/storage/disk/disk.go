package disk

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"time"

	"rota/internal/storage"
	"rota/internal/vfs"
)

// Durability says what it means that an append is durable.
type Durability uint8

// The values are those in file headers.
const (
	// Fsync: the device has it.
	Fsync Durability = 1
	// Interval: the operating system has it, and the device not later than
	// Config.Interval after.
	Interval Durability = 2
	// Never: the operating system has it.
	Never Durability = 3
)

var durabilities = [...]string{Fsync: "fsync", Interval: "interval", Never: "never"}

// String is the value of the broker's setting "durability".
func (d Durability) String() string {
	if !d.known() {
		return fmt.Sprintf("durability %d", uint8(d))
	}
	return durabilities[d]
}

func (d Durability) known() bool { return d >= Fsync && d <= Never }

// ParseDurability reads the value of the broker's setting "durability".
func ParseDurability(s string) (Durability, error) {
	for d := Fsync; d <= Never; d++ {
		if s == durabilities[d] {
			return d, nil
		}
	}
	return 0, fmt.Errorf("durability %q is none of fsync, interval, never", s)
}

// Config says where and how a Medium keeps its bytes.
type Config struct {
	// FS is where Dir is. Default vfs.OS().
	FS vfs.FS
	// Dir is the data folder. It is made if it does not exist.
	Dir string
	// Durability of an append. Default Fsync.
	Durability Durability
	// Interval is the pause between syncs with durability interval
	// (durability.interval.ms). Default 1 s.
	Interval time.Duration
	// JournalFile is the size of a journal file in bytes. Default 32 MiB, at
	// least 16 KiB.
	JournalFile int64
	// JournalSpare is how many bytes of journal files are kept for reuse,
	// those in use included. Default 256 MiB.
	JournalSpare int64
	// Log receives what an operator must know. Default: discarded.
	Log *slog.Logger
	// Now is the wall clock for the headers' time stamps. Default time.Now.
	Now func() time.Time
	// Rand makes salts and the names of segments, so that tests repeat
	// exactly. Default crypto/rand.
	Rand io.Reader

	saveEvery int // see saveStep; for tests
}

func (c Config) withDefaults() Config {
	if c.FS == nil {
		c.FS = vfs.OS()
	}
	if c.Durability == 0 {
		c.Durability = Fsync
	}
	if c.Interval <= 0 {
		c.Interval = time.Second
	}
	if c.JournalFile <= 0 {
		c.JournalFile = 32 << 20
	}
	c.JournalFile = max(c.JournalFile, 16<<10)
	if c.JournalSpare <= 0 {
		c.JournalSpare = 256 << 20
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.saveEvery == 0 {
		c.saveEvery = saveStep
	}
	if c.Rand == nil {
		c.Rand = rand.Reader
	}
	return c
}

// Medium keeps partition logs in a data folder. It implements storage.Medium.
type Medium struct {
	c        Config
	lock     io.Closer
	root     vfs.Dir // open from the start: see vfs.Dir.SyncAll
	journal  *journal
	segments *segmentCache
	settler  settler
}

var _ storage.Medium = (*Medium)(nil)

// Open takes the data folder, making it if there is none. Errors: vfs.ErrLocked
// if another broker has it, a *VersionError if a newer one made it.
func Open(c Config) (*Medium, error) {
	c = c.withDefaults()
	if !c.Durability.known() {
		return nil, fmt.Errorf("open data folder %s: %s", c.Dir, c.Durability)
	}
	m := &Medium{c: c}
	if err := m.open(); err != nil {
		m.release()
		return nil, fmt.Errorf("open data folder %s: %w", c.Dir, err)
	}
	return m, nil
}

func (m *Medium) open() error {
	c := &m.c
	if err := vfs.MkdirAll(c.FS, c.Dir); err != nil {
		return err
	}
	lock, err := c.FS.Lock(filepath.Join(c.Dir, lockName))
	if errors.Is(err, vfs.ErrLocked) {
		return fmt.Errorf("another broker is using it: %w", err)
	}
	if err != nil {
		return err
	}
	m.lock = lock
	if err := prepareFolder(c.FS, c.Dir); err != nil {
		return err
	}
	if m.root, err = c.FS.OpenDir(c.Dir); err != nil {
		return err
	}
	if m.journal, err = newJournal(*c); err != nil {
		return err
	}
	m.segments = newSegmentCache(*c)
	return m.settler.open(*c)
}

// release gives back what Open took.
func (m *Medium) release() {
	m.settler.close()
	if m.segments != nil {
		m.segments.close()
	}
	if m.root != nil {
		m.root.Close()
	}
	if m.lock != nil {
		m.lock.Close()
	}
}

// Recover implements storage.Medium.
func (m *Medium) Recover(ctx context.Context, into storage.Recovery) (storage.Report, error) {
	report := storage.Report{Corrupt: map[storage.Partition]error{}}
	if err := m.recoverManifests(ctx, into, &report); err != nil {
		return report, err
	}
	if err := m.journal.replay(ctx, into, &report); err != nil {
		return report, err
	}
	return report, nil
}

// Flush implements storage.Medium. done has been called when it returns.
func (m *Medium) Flush(f storage.Flush, written func(), done func(error)) {
	m.journal.flush(f, written, done)
}

// InFlight implements storage.Medium: a disk has one flush at a time.
func (m *Medium) InFlight() int { return 1 }

// Reopen implements storage.Medium.
func (m *Medium) Reopen(next uint64) error { return m.journal.reopen(next) }

// Trim implements storage.Medium.
func (m *Medium) Trim(n uint64) error { return m.journal.trim(n) }

// JournalSize implements storage.Medium.
func (m *Medium) JournalSize() int64 { return m.journal.size() }

// Free implements storage.Medium.
func (m *Medium) Free() (int64, error) { return m.c.FS.Free(m.c.Dir) }

// Total is the size of the file system that holds the folder, in bytes;
// math.MaxInt64 if it is not known.
func (m *Medium) Total() (int64, error) { return vfs.Total(m.c.FS, m.c.Dir) }

// Cached is the memory that keeps what was read from segments.
func (m *Medium) Cached() int64 { return m.segments.read.bytes() }

// Blocks says how the batches of a round are best laid out in memory, for
// package storage: files that go past the page cache are written in blocks of
// size bytes, and segments have lead bytes before their first batch.
func (m *Medium) Blocks() (size, lead int) { return vfs.DirectBlock, segmentHeader }

// Page is memory from which segments are written at a lower price, for package
// storage: the device's driver finds and holds one page instead of hundreds.
func (m *Medium) Page(size int) (b []byte, keep any) {
	if size != vfs.PageSize {
		return make([]byte, size), nil
	}
	page := vfs.NewPage(m.c.FS)
	return page.B, page
}

// Failed returns a channel that is closed, after the error has been sent, when
// a sync fails that covers records already acknowledged (durability interval
// and never). The broker must stop: it cannot take its word back.
func (m *Medium) Failed() <-chan error { return m.journal.failures }

// Close implements storage.Medium. Under every durability, what was appended
// is durable when it returns nil.
func (m *Medium) Close() error {
	err := m.journal.close()
	m.release()
	return err
}
