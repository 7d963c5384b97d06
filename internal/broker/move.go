package broker

import "context"

// MoveCoordinator unloads the groups of a partition of __consumer_offsets and
// loads them again under a new leader epoch. It returns when they have been
// loaded, or with the context's error while the move goes on. Other errors:
// those of coordinator.Move.
func (b *Broker) MoveCoordinator(ctx context.Context, p int32) error {
	return move(ctx, func() error { return b.Coordinator.Move(p) })
}

// MoveTransactions does the same with the transactional ids of a partition of
// __transaction_state.
func (b *Broker) MoveTransactions(ctx context.Context, p int32) error {
	return move(ctx, func() error { return b.Transactions.Move(p) })
}

// move waits for a move, or for the end of ctx.
func move(ctx context.Context, f func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	moved := make(chan error, 1)
	// Nobody waits for this goroutine in the end: it may hang on a journal
	// that cannot be reopened, until the store closes. All it touches refuses
	// once it is closed.
	go func() { moved <- f() }()
	select {
	case err := <-moved:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
