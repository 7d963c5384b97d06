package disk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"

	"rota/internal/storage"
	"rota/internal/vfs"
)

// link is a file of the chain during recovery.
type link struct {
	fileHeader
	f    vfs.File
	size int64
	// limit is the end that the successor gives, -1 for the newest file.
	limit int64
	// held says that everything up to limit was synced: before the successor
	// was used, or by a start since then, before anything was promised.
	held bool
}

// replay reads the journal and delivers what counts: journal.md, "Recovery".
func (j *journal) replay(ctx context.Context, into storage.Recovery, report *storage.Report) error {
	seqs, err := j.listFiles()
	if err != nil {
		return err
	}
	if len(seqs)+len(j.spares) > 0 && !j.readOnly {
		// The last process may have ended between giving names and syncing them. A
		// spare could come back under its old name with what is written to it now,
		// and the newest file not at all.
		if err := j.dir.Sync(); err != nil {
			return err
		}
	}
	chain, err := j.chain(seqs)
	defer func() {
		for _, l := range chain {
			l.f.Close()
		}
	}()
	if err != nil {
		return err
	}
	j.last = report.LastFlush // of the manifests
	if len(chain) == 0 {
		return nil
	}
	newest := chain[len(chain)-1]
	if newest.epoch >= 0 {
		j.epoch = newest.epoch
		if err := into.Frame(newest.first, storage.Frame{Kind: storage.FrameEpoch, Epoch: newest.epoch}); err != nil {
			return err
		}
	}
	if err := j.readChain(ctx, chain, into, report); err != nil {
		return err
	}
	j.last = max(j.last, report.LastFlush, newest.first-1)
	report.LastFlush = j.last
	return nil
}

// listFiles returns the sequences of all journal files, rising. It collects
// spares and deletes what was being prepared.
func (j *journal) listFiles() (seqs []uint64, err error) {
	dir := j.path(journalName)
	names, err := j.c.FS.List(dir)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if digits, ok := strings.CutSuffix(name, journalExt); ok {
			if seq, ok := parseSeq(digits); ok {
				seqs = append(seqs, seq)
				j.nextSeq = max(j.nextSeq, seq+1)
			}
		} else if digits, ok := strings.CutPrefix(name, spareStart); ok {
			if seq, ok := parseSeq(digits); ok {
				j.spares = append(j.spares, seq)
				j.nextSeq = max(j.nextSeq, seq+1)
			}
		} else if strings.HasSuffix(name, tmpExt) && !j.readOnly {
			if err := removeIfThere(j.c.FS, filepath.Join(dir, name)); err != nil {
				return nil, err
			}
		}
	}
	slices.Sort(seqs)
	return seqs, nil
}

// chain opens the files of the chain, oldest first. What is outside of it is
// void once the next file exists.
func (j *journal) chain(seqs []uint64) (chain []*link, err error) {
	if len(seqs) == 0 {
		return nil, nil
	}
	left := map[uint64]bool{}
	for _, seq := range seqs {
		left[seq] = true
	}
	limit, held, restarted := int64(-1), true, false
	var want *fileHeader // whose predecessor is to be opened
	for seq := seqs[len(seqs)-1]; seq > 0; seq = want.prev {
		l, err := j.openLink(seq)
		if errors.Is(err, fs.ErrNotExist) {
			break // trimmed, and everything before it
		}
		if err != nil {
			return chain, err
		}
		chain = append(chain, l)
		if l.seq != seq || want != nil && l.salt != want.prevSalt {
			return chain, &storage.CorruptError{File: journalPath(seq), Reason: "the header is another file's"}
		}
		// A process under fsync leaves nothing to the system, and another
		// durability means another process, which has synced what it found.
		restarted = restarted || l.durability == Fsync || want != nil && l.durability != want.durability
		l.limit, l.held = limit, held || restarted
		limit, held = l.prevEnd, l.predecessorSynced
		want = &l.fileHeader
		delete(left, seq)
	}
	slices.Reverse(chain)
	for _, seq := range seqs {
		if left[seq] {
			j.stale = append(j.stale, seq)
		}
	}
	return chain, nil
}

func (j *journal) openLink(seq uint64) (*link, error) {
	f, err := j.c.FS.Open(j.path(journalPath(seq)))
	if err != nil {
		return nil, err
	}
	l := &link{f: f}
	if l.size, err = f.Size(); err == nil {
		b := make([]byte, min(headerUsed, l.size))
		if _, err = f.ReadAt(b, 0); err == nil {
			l.fileHeader, err = decodeFileHeader(journalPath(seq), b)
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return l, nil
}

// readChain delivers the flushes of all files that count and seals them.
func (j *journal) readChain(ctx context.Context, chain []*link, into storage.Recovery, report *storage.Report) error {
	r := &flushReader{ctx: ctx, report: report, epoch: j.epoch, each: func(_ int64, h *frameHead, payload []byte) error {
		return into.Frame(h.flush, h.frame(payload))
	}}
	cut := false
	for _, l := range chain {
		if cut {
			// What follows a gap is void with it.
			end, _ := r.search(l, journalHeader, 0)
			report.TornBytes += max(end-journalHeader, 0)
			j.stale = append(j.stale, l.seq)
			continue
		}
		if l.first <= r.last {
			return &storage.CorruptError{File: journalPath(l.seq), Reason: fmt.Sprintf("it begins with flush %d, flush %d is older", l.first, r.last)}
		}
		end, err := r.read(l)
		if err != nil {
			return err
		}
		cut = l.limit >= 0 && end < l.limit
		file := &journalFile{
			seq: l.seq, salt: l.salt, first: l.first, last: r.lastInFile, end: end,
			synced: end, syncedLast: r.lastInFile, allocated: l.size,
		}
		j.files = append(j.files, file)
		if (l.limit < 0 || !l.held) && !j.readOnly {
			if err := j.confirm(l, r, end); err != nil {
				return err
			}
		}
	}
	j.epoch = r.epoch
	if report.TornBytes > 0 {
		j.c.Log.Warn("journal was cut at its end", slog.String("file", report.TornFile), slog.Int64("bytes", report.TornBytes))
	}
	return nil
}

// confirm makes durable what was read from the last file, or from one that was
// not synced before its successor was used: what comes behind it may be promised
// more. The process that wrote it may be gone because a sync failed, or before it
// ran, and one that succeeds now would prove nothing about pages which the
// system believes to be clean. So what is in doubt is written again. Under fsync
// that is the last flush.
func (j *journal) confirm(l *link, r *flushReader, end int64) error {
	if r.lastInFile == 0 {
		return nil
	}
	from := int64(journalHeader)
	if l.durability == Fsync {
		from = r.lastStart
	}
	// A file may end before the padding of its last frame does.
	if err := rewrite(l.f, from, min(end, l.size)); err != nil {
		return err
	}
	return l.f.Sync()
}

// rewrite writes the bytes of a file over themselves.
func rewrite(f vfs.File, from, end int64) error {
	b := make([]byte, min(readStep, end-from))
	for ; from < end; from += int64(len(b)) {
		b = b[:min(int64(len(b)), end-from)]
		if _, err := f.ReadAt(b, from); err != nil {
			return err
		}
		if _, err := f.WriteAt(b, from); err != nil {
			return err
		}
	}
	return nil
}
