package storage

// Ack says when an append is answered.
type Ack uint8

const (
	// DurableAck answers when the batch is durable (acks=all).
	DurableAck Ack = iota
	// WrittenAck answers when the batch is in the journal (acks=1).
	WrittenAck
	// NoAck never answers (acks=0): done is not called, errors apart.
	NoAck
)

// Appended is the answer to an append.
type Appended struct {
	Base      int64 // offset of the first record
	LogAppend int64 // LogAppendTime in milliseconds, -1 with CreateTime
	Start     int64 // log start offset
	Duplicate bool  // the batch was there already: Base is the first one's
	Err       error // nil, or one of this package's or of package record
}

// Log is one partition log. All methods may be called from any goroutine.
type Log struct{}

// Partition names the log.
func (l *Log) Partition() Partition { panic("not built") }

// Config is the configuration in force.
func (l *Log) Config() LogConfig { panic("not built") }

// SetConfig replaces the configuration; later calls follow it.
func (l *Log) SetConfig(c LogConfig) { panic("not built") }

// Append verifies the batch, gives it its offset and sends it on its way.
// The order of Append calls on one goroutine is the order in the log. batch is
// copied: the caller may reuse it when Append returns. done is called exactly
// once (never for NoAck unless there is an error), possibly before Append
// returns, from a goroutine that must not be held up: it may not block and
// may not call into the store.
//
// A batch whose producer sequence was seen before is not appended: done hears
// the first one's offset when that one is durable.
func (l *Log) Append(batch []byte, ack Ack, done func(Appended)) { panic("not built") }

// Writer returns a handle for the log's only writer, a coordinator shard or
// the catalog, and fences earlier handles. epoch is a number from NextEpoch;
// records carry it as their leader epoch.
func (l *Log) Writer(epoch int32) *Writer { panic("not built") }

// Writer appends for one shard. It skips producer sequence checks.
type Writer struct{}

// Append gives the batch its offset and returns that at once. done is called
// exactly once, in log order, when the batch is durable or has failed, unless
// Append itself returns an error: then nothing was appended. Errors:
// ErrTooLarge and ErrFull (refused, the log is as it was), ErrFenced, ErrClosed.
func (w *Writer) Append(batch []byte, done func(error)) (base int64, err error) { panic("not built") }

// Log is the log behind the handle.
func (w *Writer) Log() *Log { panic("not built") }

// Bounds are the ends of a log.
type Bounds struct {
	Start         int64 // log start offset
	HighWatermark int64 // durable end: what readers see
	LastStable    int64 // what read_committed readers see
	End           int64 // offset of the next record
	Epoch         int32 // leader epoch
}

// Bounds returns the ends of the log as they are now.
func (l *Log) Bounds() Bounds { panic("not built") }

// Aborted names an aborted transaction for a read_committed reader.
type Aborted struct{ ProducerID, FirstOffset int64 }

// ReadOptions says how much to read and what may be seen.
type ReadOptions struct {
	MaxBytes int
	// Whole asks for one whole batch even if it is larger than MaxBytes.
	Whole bool
	// Committed stops at the last stable offset and lists Aborted.
	Committed bool
}

// ReadInfo is what came with the batches.
type ReadInfo struct {
	Bounds
	Aborted []Aborted
}

// Read appends to dst whole batches beginning with the one that contains
// offset. Nothing is appended when offset is at the visible end. Errors:
// ErrOffsetOutOfRange, ErrClosed, a *CorruptError. Info is filled also with
// ErrOffsetOutOfRange.
func (l *Log) Read(dst []byte, offset int64, o ReadOptions) ([]byte, ReadInfo, error) {
	panic("not built")
}

// Available returns how many bytes Read could give from offset, cheaply and
// not exactly: 0 if and only if there is nothing to read. A Fetch counts its
// MinBytes with it.
func (l *Log) Available(offset int64, committed bool) (int64, error) { panic("not built") }

// Watch calls f each time more can be read, the start moves, or the log ends.
// f must not block and may not call into the store. stop ends the watch.
func (l *Log) Watch(f func()) (stop func()) { panic("not built") }

// Found is the place of a record that a timestamp asked for.
type Found struct {
	Offset, Timestamp int64
	Epoch             int32
}

// FirstSince returns the first record at or after ts (milliseconds) below the
// visible end, and false if there is none.
func (l *Log) FirstSince(ts int64, committed bool) (Found, bool, error) { panic("not built") }

// MaxTimestamp returns the first record with the largest timestamp.
func (l *Log) MaxTimestamp() (Found, bool, error) { panic("not built") }

// EpochAt returns the leader epoch of the record at offset, -1 if unknown.
func (l *Log) EpochAt(offset int64) int32 { panic("not built") }

// EndOfEpoch returns the largest epoch not above epoch and its end offset, as
// OffsetForLeaderEpoch answers them: -1, -1 if there is none.
func (l *Log) EndOfEpoch(epoch int32) (int32, int64) { panic("not built") }

// DeleteRecords raises the log start to before (-1: the high watermark). done
// is called once it is durable, with the new start.
func (l *Log) DeleteRecords(before int64, done func(start int64, err error)) { panic("not built") }

// ProducerState describes one producer that the log remembers.
type ProducerState struct {
	ID            int64
	Epoch         int16
	LastSequence  int32
	LastTimestamp int64
	CurrentTxn    int64 // first offset of the open transaction, -1 if none
}

// Producers lists the producers that the log remembers, by id.
func (l *Log) Producers() []ProducerState { panic("not built") }

// Size is the number of bytes in segments and tail.
func (l *Log) Size() int64 { panic("not built") }
