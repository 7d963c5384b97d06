package storage

// Stretch is a run of whole batches of a segment that is read piece by piece,
// when its bytes are about to leave. The bytes stay the same until Close,
// whatever compaction and retention do to the segment meanwhile. One goroutine
// at a time may use it.
type Stretch interface {
	// Size is how many bytes there are in all.
	Size() int
	// Next returns the next bytes, at most len(buf), which must not be 0: n of
	// them are in buf, or else they are lent, which means that they may be read
	// until the next call. Nothing is returned at the end.
	//
	// Checksums are verified on the way, and a batch may begin in one piece and
	// end in another: what came from Next counts only when all of it has come
	// without an error. After an error Next must not be called again. The
	// medium then lends no more of the segment, so that Read tells which batch
	// is damaged. Errors: *CorruptError, those of the system.
	Next(buf []byte) (n int, lent []byte, err error)
	// Close gives the stretch back, once.
	Close()
}

// FileStretch is a Stretch of which the system may send parts by itself, without
// anybody reading them.
type FileStretch interface {
	Stretch
	// InFile says where the next bytes lie: size of them at off in the file
	// behind fd, which stays open until Close. They are whole batches, and have
	// been verified since they came into the system's page cache, where all of
	// them are. size is 0 if that is not so: then Next has the next bytes.
	InFile() (fd uintptr, off int64, size int)
	// Passed says that what InFile has just told of has been sent, all of it.
	Passed(size int)
}

// Lender is a Medium that can put off reading. Its methods may be called from
// any goroutine at any time.
type Lender interface {
	// Lend returns a stretch of segment s that begins with the batch that
	// contains offset (or the first after it), and the offset at which it ends:
	// at most max bytes, and no batch at visible or behind. It may end earlier
	// than Read would. It is nil if the medium does not know well enough where
	// batches begin, or if there is none within the bounds: Read does better.
	Lend(p Partition, s Segment, offset int64, max int, visible int64) (Stretch, int64, error)
}

// Lends reports whether Lend is likely to have something at offset.
func (l *Log) Lends(offset int64) bool {
	if l.s.lender == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err == nil && offset >= l.start && offset < l.settled
}

// Lend is Read for readers that want many bytes of what is settled: it finds
// out which batches they are, and leaves the reading to the stretch. Where the
// medium does not lend, and where anything is wrong, there is no stretch and no
// error: then Read has the answer. Close must be called on a stretch.
func (l *Log) Lend(offset int64, o ReadOptions) (Stretch, ReadInfo) {
	if l.s.lender == nil || o.MaxBytes <= 0 {
		return nil, ReadInfo{}
	}
	l.mu.Lock()
	info := ReadInfo{Bounds: l.boundsLocked()}
	visible := l.visibleLocked(o.Committed)
	seg, settled := l.segmentLocked(offset)
	var look *abortedLook
	lends := settled && l.err == nil && offset >= l.start && offset < visible
	if lends && o.Committed {
		look = l.lookLocked(offset, visible)
	}
	l.mu.Unlock()
	if !lends {
		return nil, ReadInfo{}
	}
	st, end, err := l.s.lender.Lend(l.p, seg, offset, o.MaxBytes, visible)
	if st == nil || err != nil {
		return nil, ReadInfo{}
	}
	if look == nil {
		return st, info
	}
	info.Aborted, err = l.abortedBelow(look, offset, end)
	if err == nil && (len(info.Aborted) == 0 || l.holds(look)) {
		return st, info
	}
	st.Close()
	return nil, ReadInfo{}
}
