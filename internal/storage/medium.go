package storage

import "context"

// TopicID is the identity of a topic: a new one each time a topic of that
// name is created, never zero.
type TopicID [16]byte

// Partition names one partition log. Names of topics are the catalog's affair.
type Partition struct {
	Topic TopicID
	Index int32
}

// Frame is one entry of the journal.
type Frame struct {
	Kind      FrameKind
	Partition Partition
	// Offset is the offset of the first record (FrameBatch) or the new log
	// start offset (FrameStart). FrameEpoch and FrameRemove do not use it.
	Offset int64
	// Epoch is the leader epoch of the frame's partition, or the number taken
	// (FrameEpoch).
	Epoch int32
	// Batch holds the batch exactly as readers will get it. It may lie in
	// several pieces. The medium must not keep it after the flush is done.
	Batch []byte
}

// FrameKind says what a Frame does.
type FrameKind uint8

const (
	// FrameBatch appends a record batch.
	FrameBatch FrameKind = 1
	// FrameStart raises the log start offset (DeleteRecords).
	FrameStart FrameKind = 2
	// FrameEpoch takes a number from the store's leader epoch counter.
	FrameEpoch FrameKind = 3
	// FrameRemove ends a partition: what the journal holds of it before this
	// frame is void.
	FrameRemove FrameKind = 4
)

// Flush is a group of frames that becomes durable together. Numbers rise by
// one from flush to flush and never repeat in the life of a store.
type Flush struct {
	Number uint64
	Frames []Frame
}

// Segment describes one segment of a partition, as its manifest records it.
type Segment struct {
	Base int64 // offset of the first record
	End  int64 // offset after the last record
	Size int64 // bytes covered by the manifest; what lies behind is void
	// MaxTimestamp is the largest record timestamp in milliseconds (-1: none)
	// and MaxTimestampOffset the base offset of the first batch that has it.
	MaxTimestamp       int64
	MaxTimestampOffset int64
	// Created is the wall clock time in milliseconds of the first append.
	Created int64
	// LastStable is the last stable offset at End, or a lower one: no marker
	// behind the segment ends a transaction that began below.
	LastStable int64
	// Aborted is how many aborted transactions the segment's index has: those
	// whose markers lie in the segment.
	Aborted int32
	// Token is the medium's own name for the segment's bytes, so that a
	// rewritten segment never shares a name with the one it replaces.
	Token string
}

// AbortedTransaction is an entry in the index of the segment that has the
// transaction's marker. Entries are in the order of the markers.
type AbortedTransaction struct {
	ProducerID int64
	First      int64 // offset of the first record
	Last       int64 // offset of the marker
	// Stable is the last stable offset behind the marker: transactions of later
	// entries began there or later.
	Stable int64
}

// EpochStart says that leader epoch Epoch began at offset Start.
type EpochStart struct {
	Epoch int32
	Start int64
}

// Manifest is all that a partition must remember beyond its segments' bytes.
// It is replaced atomically. Replay skips what it covers.
type Manifest struct {
	Partition Partition
	Start     int64 // log start offset
	End       int64 // offset after the last record in segments
	// Flush is the number of the last flush whose frames of this partition
	// are all covered.
	Flush     uint64
	Segments  []Segment
	Epochs    []EpochStart
	Producers []byte // producer state at End, encoded by package storage
	// LastStable is the last stable offset at End. Aborted transactions live
	// in the segments' own index, open ones in Producers.
	LastStable int64
	// Cleaned is how many of the first Segments compaction has been over.
	// Nothing is appended to those any more.
	Cleaned int
}

// Move is one partition's part of a settling round: Batches go behind the last
// segment of the partition, then Manifest replaces the partition's manifest.
type Move struct {
	Manifest *Manifest // Segments holds sizes as they will be after the move
	// Writes are in order; a write to a Token not seen before creates it.
	Writes []SegmentWrite
}

// SegmentWrite appends whole batches at position At of the segment Token, and
// Aborted behind the first AbortedAt entries of its index of aborted
// transactions.
type SegmentWrite struct {
	Token     string
	Base      int64 // base offset of the segment
	At        int64
	Batches   []byte
	AbortedAt int32
	Aborted   []AbortedTransaction
}

// Recovery receives what a medium holds, in this order: every manifest, then
// every durable frame of the journal that is not void, in flush order. The
// frame's batch is valid only during the call. An error ends the recovery.
type Recovery interface {
	Manifest(m *Manifest) error
	Frame(flush uint64, f Frame) error
}

// Report says what recovery found.
type Report struct {
	LastFlush uint64 // number of the last durable flush, 0 if none
	Frames    int64
	Bytes     int64
	// TornBytes were cut from the journal's tail: written, never
	// acknowledged as durable.
	TornBytes int64
	TornFile  string
	// Corrupt lists partitions whose manifest or segments are damaged. They
	// answer every call with their error; all others are served.
	Corrupt map[Partition]error
}

// Medium is where a Store keeps its bytes. Calls of one group (Flush and Reopen;
// Trim, Settle, Drop, Write, NewToken and Remove) come from one goroutine at a
// time; the two groups may overlap. Read, Aborted, Seek, JournalSize and Free may
// be called from any goroutine at any time.
//
// A medium owns nothing it is given: slices passed in are valid until the call
// returns, or for Flush until done has been called.
//
// A medium that finds out later that what it has called durable is not (a sync
// that runs behind the acknowledgements and fails) also has the method
// Failed() <-chan error: one error on it ends the service of the store. A medium
// that can leave the reading of many bytes for later is a Lender too.
type Medium interface {
	// Recover reads everything durable. It is called once, first. It fails
	// with a *CorruptError if the journal is damaged anywhere but in its torn
	// tail: that is a reason not to start.
	Recover(ctx context.Context, into Recovery) (Report, error)

	// Flush makes f durable as the medium's durability says. written is
	// called once when the frames have been handed to the medium (acks=1), done once
	// with the outcome. Calls may overlap up to InFlight; the medium may call
	// done in any order. After a failed flush every later Flush fails until
	// Reopen.
	Flush(f Flush, written func(), done func(error))
	// InFlight is the number of flushes that may overlap: 1 for a disk.
	InFlight() int
	// Reopen starts a new stream after a failed flush: every flush numbered
	// next or higher that was written before is void for ever. The next Flush
	// has number next.
	Reopen(next uint64) error
	// Trim says that all flushes up to and including n are covered by
	// manifests: their bytes may go. The largest number that FrameEpoch frames
	// took stays: Recover hands it over as such a frame.
	Trim(n uint64) error
	// JournalSize is the number of bytes that a restart would have to read.
	JournalSize() int64
	// Free is the space left for new bytes, in bytes; math.MaxInt64 if the
	// medium knows no bound.
	Free() (int64, error)

	// Settle writes a round of moves: all segment bytes and entries of their
	// indexes of aborted transactions first, made durable together, then the
	// manifests, made durable together.
	// An error leaves every partition at its old or its new manifest; a later
	// round then writes the same bytes at the same positions again, under the
	// same tokens, perhaps more.
	Settle(moves []Move) error
	// Drop deletes segments that no manifest lists any more, and that no reader
	// will ask for from now on: one that has asked before may fail. A round that
	// failed may not have made them all. What cannot be deleted is deleted by the
	// next Recover.
	Drop(p Partition, segments []Segment)
	// Write puts batches into a segment that no manifest lists yet, and makes
	// them durable. A later Settle has the manifest that lists it; a restart
	// before that deletes it. created is the segment's. The partition has
	// other segments. After an error the segment can only be dropped.
	Write(p Partition, created int64, w *SegmentWrite) error
	// NewToken names the bytes of a new segment of p that starts at base.
	NewToken(p Partition, base int64) string
	// Read appends to dst whole batches of segment s, beginning with the one
	// that contains offset (or the first after it), at most max bytes but at
	// least one batch. It returns the extended slice.
	Read(p Partition, s Segment, offset int64, max int, dst []byte) ([]byte, error)
	// Aborted appends to dst entries of the index of aborted transactions of
	// s, in order, beginning with the first whose Last is from or more. It may
	// stop early, but not before the first. Nothing is appended at the end.
	Aborted(p Partition, s Segment, from int64, dst []AbortedTransaction) ([]AbortedTransaction, error)
	// Seek returns the offset of the first batch in s that may hold a record
	// with timestamp ts or later, or s.End if there is none.
	Seek(p Partition, s Segment, ts int64) (int64, error)
	// Remove deletes a partition: its manifest first, then its segments. It is
	// no error if there is none.
	Remove(p Partition) error

	// Close releases the medium after the last call has returned.
	Close() error
}
