package rota

import (
	"context"
	"errors"
)

// shutdown closes what Start started, in reverse order.
func (b *Broker) shutdown(ctx context.Context) error {
	if b.web != nil {
		b.web.Stopping()
	}
	// Clients that are cut off get no answer, which promises nothing; that is
	// no failure of the broker's.
	_ = b.server.Shutdown(ctx, func(ctx context.Context) {
		_ = b.broker.Transactions.Drain(ctx)
		_ = b.coord.Drain(ctx)
	})
	b.serving.Wait()
	if b.web != nil {
		b.web.Close()
	}
	b.broker.Close()
	stopped := errors.Join(b.broker.Transactions.Close(), b.coord.Close())
	b.stopEvents()
	return errors.Join(
		stopped,
		b.catalog.Close(),
		b.store.Close(context.WithoutCancel(ctx)),
	)
}
