package storage

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
