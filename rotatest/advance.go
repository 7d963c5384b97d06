package rotatest

import (
	"context"
	"time"
)

// Now is the broker's clock: the clock of the process, or of the bubble, plus
// what Advance has added.
func (b *Broker) Now() time.Time { return time.Now().Add(time.Duration(b.ahead.Load())) }

// Advance moves the broker's clocks ahead by d. Every deadline of a group on
// the way is met, in order and each at its time: sessions that no heartbeat has
// renewed run out, rebalances do not wait any longer, offsets expire, open
// transactions time out. Then a retention pass deletes what is too old by the
// new time. When Advance returns all that has happened, but for the markers of
// transactions, which follow at once.
//
// Clients know nothing of it. One that is connected, but sends no heartbeat
// during the call, is silent for d.
func (b *Broker) Advance(d time.Duration) {
	b.t.Helper()
	if d < 0 {
		b.t.Fatalf("rotatest: time does not go back")
	}
	b.changing.Lock()
	defer b.changing.Unlock()
	b.ahead.Add(int64(d))
	rooms := b.rooms.Load()
	rooms.Coordinator.Advance(d)
	rooms.Broker.Transactions.Advance(d)
	if err := rooms.Store.Settle(context.Background()); err != nil {
		b.t.Fatalf("rotatest: %v", err)
	}
	if err := rooms.Store.Retain(); err != nil {
		b.t.Fatalf("rotatest: %v", err)
	}
}
