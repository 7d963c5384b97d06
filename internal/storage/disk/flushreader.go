package disk

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"rota/internal/storage"
	"rota/internal/vfs"
)

// flushReader reads the flushes of journal files, one file after the other.
type flushReader struct {
	ctx    context.Context
	each   func(pos int64, h *frameHead, payload []byte) error
	report *storage.Report
	buf    window

	epoch      int32  // the largest number taken
	last       uint64 // number of the last flush that counts
	lastInFile uint64 // the same, 0 if it is in an earlier file
	lastStart  int64  // where it begins
}

// readStep is how much is read at a time.
const readStep = 1 << 20

// read delivers the flushes of a file and returns where they end.
func (r *flushReader) read(l *link) (end int64, err error) {
	end = l.size
	if l.limit >= 0 {
		end = min(l.size, l.limit)
	}
	r.buf.reset(l.f, end)
	r.lastInFile = 0
	pos := int64(journalHeader)
	for flush := l.first; ; flush++ {
		if err := r.ctx.Err(); err != nil {
			return pos, err
		}
		next, bad, err := r.flush(l.salt, flush, pos)
		if err != nil {
			return pos, err
		}
		if bad.why != "" {
			return pos, r.judge(l, flush, pos, bad)
		}
		if err := r.deliver(pos, next); err != nil {
			return pos, err
		}
		r.last, r.lastInFile, r.lastStart = flush, flush, pos
		r.report.LastFlush = max(r.report.LastFlush, flush)
		pos = next
	}
}

// misfit is a place where the next frame should be and is not.
type misfit struct {
	pos int64
	why string
}

// flush checks the frames of one flush and returns where it ends, or what
// stands in the way. Its bytes are then in the window.
func (r *flushReader) flush(salt, number uint64, start int64) (end int64, bad misfit, err error) {
	r.buf.keep = start
	for pos := start; ; {
		head, payload, why, err := r.frame(salt, number, pos, pos == start)
		if err != nil {
			return 0, bad, err
		}
		if why != "" {
			return 0, misfit{pos, why}, nil
		}
		if crc32.Checksum(payload, castagnoli) != head.payloadCRC {
			return 0, misfit{pos, "the payload's checksum is wrong"}, nil
		}
		pos += frameSpace(head.length)
		if head.flags&flagLast != 0 {
			return pos, bad, nil
		}
	}
}

// frame reads one frame. why is empty, or says what stands there instead.
func (r *flushReader) frame(salt, flush uint64, pos int64, first bool) (head frameHead, payload []byte, why string, err error) {
	room := r.buf.end - pos - frameHeader
	if room < 0 {
		return head, nil, "the file ends", nil
	}
	b, err := r.buf.at(pos, frameHeader)
	if err != nil {
		return head, nil, "", err
	}
	if binary.BigEndian.Uint64(b) != salt {
		return head, nil, "no frame", nil
	}
	head, intact := parseFrameHead(b)
	if !intact {
		return head, nil, "the frame header's checksum is wrong", nil
	}
	if why := head.misfit(flush, first, room); why != "" {
		return head, nil, why, nil
	}
	if head.length == 0 {
		return head, nil, "", nil
	}
	payload, err = r.buf.at(pos+frameHeader, head.length)
	return head, payload, "", err
}

// deliver hands over a flush that has been checked and lies in the window.
func (r *flushReader) deliver(pos, end int64) error {
	for pos < end {
		b, err := r.buf.at(pos, frameHeader)
		if err != nil {
			return err
		}
		head, _ := parseFrameHead(b)
		var payload []byte
		if head.length > 0 {
			if payload, err = r.buf.at(pos+frameHeader, head.length); err != nil {
				return err
			}
		}
		if err := r.each(pos, &head, payload); err != nil {
			return err
		}
		if head.kind == storage.FrameEpoch {
			r.epoch = max(r.epoch, head.epoch)
		}
		r.report.Frames++
		r.report.Bytes += int64(head.length)
		pos += frameSpace(head.length)
	}
	return nil
}

// judge decides what it means that flush is not at start: nothing (the end), a
// torn tail, or corruption.
func (r *flushReader) judge(l *link, flush uint64, start int64, bad misfit) error {
	corrupt := func(why string) error {
		return &storage.CorruptError{File: journalPath(l.seq), Offset: bad.pos, Reason: why}
	}
	if l.limit >= 0 {
		if start == l.limit {
			return nil
		}
		if l.held {
			return corrupt(bad.why + " before the end at " + fmt.Sprint(l.limit))
		}
	}
	end, later := r.search(l, bad.pos, flush)
	if later.pos > 0 && l.durability == Fsync {
		return corrupt(fmt.Sprintf("%s, yet flush %d follows at byte %d", bad.why, later.flush, later.pos))
	}
	if end = max(end, bad.pos); end > start {
		r.report.TornBytes += end - start
		r.report.TornFile = journalPath(l.seq)
	}
	return nil
}

// evidence is a frame header found behind a place where one was missing.
type evidence struct {
	pos   int64
	flush uint64
}

// search looks for traces of this use of the file from pos on: how far they
// reach, and the first header of a flush later than flush.
func (r *flushReader) search(l *link, pos int64, flush uint64) (end int64, later evidence) {
	r.buf.reset(l.f, l.size)
	for pos+frameHeader <= l.size {
		r.buf.keep = pos
		b, err := r.buf.at(pos, int(min(readStep, l.size-pos)))
		if err != nil {
			return end, later
		}
		i := 0
		for ; i+frameHeader <= len(b); i += frameAlign {
			if binary.BigEndian.Uint64(b[i:]) != l.salt {
				continue
			}
			at := pos + int64(i)
			head, intact := parseFrameHead(b[i : i+frameHeader])
			if !intact {
				end = max(end, at+frameHeader)
				continue
			}
			end = max(end, min(l.size, at+frameSpace(head.length)))
			if head.flush > flush && later.pos == 0 {
				later = evidence{at, head.flush}
			}
		}
		pos += int64(i)
	}
	// A header that the end of the file cuts off.
	if n := int(l.size - pos); n >= 8 {
		r.buf.keep = pos
		for b, err := r.buf.at(pos, n); err == nil && len(b) >= 8; b = b[frameAlign:] {
			if binary.BigEndian.Uint64(b) == l.salt {
				end = l.size
			}
		}
	}
	return end, later
}

// window is a part of a file in memory.
type window struct {
	f    vfs.File
	end  int64 // nothing is read behind it
	off  int64 // position of buf[0]
	keep int64 // bytes before it are not needed any more
	buf  []byte
}

func (w *window) reset(f vfs.File, end int64) {
	w.f, w.end, w.off, w.keep, w.buf = f, end, 0, 0, w.buf[:0]
}

// at returns n bytes at pos, valid until the next call that is not inside of
// what is kept. pos+n is at most w.end.
func (w *window) at(pos int64, n int) ([]byte, error) {
	if pos < w.off || pos+int64(n) > w.off+int64(len(w.buf)) {
		if err := w.fill(pos, n); err != nil {
			return nil, err
		}
	}
	i := pos - w.off
	return w.buf[i : i+int64(n)], nil
}

// fill reads on, so that everything from keep to pos+n is in the window.
func (w *window) fill(pos int64, n int) error {
	from := min(w.keep, pos)
	have := w.buf[:0]
	if from >= w.off && from < w.off+int64(len(w.buf)) {
		have = w.buf[from-w.off:]
	}
	need := int(pos + int64(n) - from)
	size := int(min(int64(max(need, len(have)+readStep)), w.end-from))
	buf := w.buf
	if cap(buf) < size {
		// A flush that grows in the window doubles it rather than moving by inches.
		buf = make([]byte, int(min(int64(max(size, 2*cap(buf))), w.end-from)))
	}
	buf = buf[:copy(buf[:cap(buf)], have)]
	w.off, w.buf = from, buf
	got := len(buf)
	m, err := w.f.ReadAt(buf[got:size], from+int64(got))
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	w.buf = buf[:got+m]
	if len(w.buf) < need {
		return io.ErrUnexpectedEOF
	}
	return nil
}
