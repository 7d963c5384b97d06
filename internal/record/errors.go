package record

import (
	"errors"
	"fmt"
)

var (
	// ErrShort says that the bytes end before the batch does.
	ErrShort = errors.New("batch is cut off")
	// ErrCorrupt says that the bytes are not those that were sent
	// (CORRUPT_MESSAGE): an impossible length or a wrong checksum.
	ErrCorrupt = errors.New("batch is corrupt")
	// ErrInvalid says that the bytes arrived as they were sent and break the
	// rules (INVALID_RECORD). An *InvalidError says which.
	ErrInvalid = errors.New("batch is invalid")
	// ErrUnsupportedCompression names a codec that does not exist
	// (UNSUPPORTED_COMPRESSION_TYPE).
	ErrUnsupportedCompression = errors.New("unsupported compression")
	// ErrTooLarge says that the records inflate to more than the codec's limit
	// (MESSAGE_TOO_LARGE).
	ErrTooLarge = errors.New("records inflate beyond the limit")
	// ErrTimestampType says that a producer marked its own batch with
	// LogAppendTime (INVALID_TIMESTAMP).
	ErrTimestampType = errors.New("producers must not set LogAppendTime")
)

var (
	errLength = fmt.Errorf("%w: impossible length", ErrCorrupt)
	errCRC    = fmt.Errorf("%w: wrong checksum", ErrCorrupt)
	errMagic  = &InvalidError{Record: None, Reason: "record format is not magic 2"}
)

// InvalidError is an ErrInvalid that says what is wrong.
type InvalidError struct {
	// Record is the index of the bad record in its batch, None for the batch.
	Record int32
	Reason string
}

func (e *InvalidError) Error() string {
	if e.Record == None {
		return "batch is invalid: " + e.Reason
	}
	return fmt.Sprintf("record %d is invalid: %s", e.Record, e.Reason)
}

// Is makes every InvalidError an ErrInvalid.
func (*InvalidError) Is(target error) bool { return target == ErrInvalid }
