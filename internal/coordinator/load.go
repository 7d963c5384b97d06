package coordinator

import (
	"context"
	"errors"
	"fmt"

	"rota/internal/machine"
	"rota/internal/record"
	"rota/internal/storage"
)

// errUnreadable: the log can be read, but not what it says.
var errUnreadable = errors.New("the log holds what cannot be loaded")

// lasting reports whether a load that has failed would fail again: the log is
// damaged or holds what it should not. Everything else may be over soon, a lack
// of file descriptors for one.
func lasting(err error) bool {
	_, damaged := errors.AsType[*storage.CorruptError](err)
	return damaged || errors.Is(err, errUnreadable) || errors.Is(err, errCrashed)
}

// loadStep is how much of the log a load reads at a time, in bytes.
const loadStep = 1 << 20

// replayLog reads the log from its start to its end into s, and returns the
// end. The end is that of the last append, durable or not: what is still on
// its way from a writer before this one is waited for.
func replayLog[Q, R, E any](ctx context.Context, log partitionLog, s *Shard[Q, R, E]) (machine.Offset, error) {
	more := make(chan struct{}, 1)
	stop := log.Watch(func() {
		select {
		case more <- struct{}{}:
		default:
		}
	})
	defer stop()
	// An offset that was read must not outlive its tombstone.
	defer log.Hold()()
	var codec record.Codec
	var buf []byte
	offset := log.Bounds().Start
	for {
		var err error
		var info storage.ReadInfo
		buf, info, err = log.Read(buf[:0], offset, storage.ReadOptions{MaxBytes: loadStep, Whole: true})
		if err != nil {
			return 0, fmt.Errorf("read at offset %d: %w", offset, err)
		}
		for batch, err := range record.Batches(buf) {
			if err == nil {
				err = s.Replay(batch, &codec)
			}
			if err != nil {
				return 0, fmt.Errorf("%w: batch at or behind offset %d: %w", errUnreadable, offset, err)
			}
			offset = record.NextOffset(batch)
		}
		switch {
		case len(buf) > 0:
		case info.HighWatermark >= info.End:
			return info.End, nil
		default:
			select {
			case <-more:
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		}
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
	}
}
