package broker

import "context"

// MoveCoordinator unloads the groups of a partition of __consumer_offsets and
// loads them again under a new leader epoch. It returns when they have been
// loaded, or with the context's error while the move goes on. Other errors:
// those of coordinator.Move.
func (b *Broker) MoveCoordinator(ctx context.Context, p int32) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	moved := make(chan error, 1)
	// Nobody waits for this goroutine in the end: it may hang on a journal
	// that cannot be reopened, until the store closes. All it touches refuses
	// once it is closed.
	go func() { moved <- b.Coordinator.Move(p) }()
	select {
	case err := <-moved:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
