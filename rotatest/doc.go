// Package rotatest is a Kafka-compatible broker for tests: it starts in about
// a millisecond, ends with the test, and does what a test asks of it.
//
//	func TestConsumer(t *testing.T) {
//		b := rotatest.Start(t, rotatest.Topic("orders", 4))
//		run(b.Addr())                         // the program under test
//		b.Group("billing").WaitStable(2)
//		b.Advance(time.Hour)                  // sessions, rebalances, retention
//		b.On(kmsg.OffsetCommit).Answer(kerr.NotCoordinator)
//		b.Crash()                             // and restart with what was durable
//	}
//
// It is the broker of package rota, not an imitation: groups, logs, retention
// and recovery are the real ones, over a file system in memory. When a test
// fails, the story of its groups is printed: who joined, who was waited for,
// why a rebalance began.
//
// # Time
//
// Advance moves the clocks of the broker, while clients stay where they are.
// Sessions, rebalance and join deadlines, offset expiry and retention follow;
// long polls, idle connections and timeouts of the clients do not. Time moves
// from deadline to deadline, so each is met in its turn.
//
// # Bubbles
//
// With InMemory the broker listens on an in-memory network instead of a port,
// and works inside a testing/synctest bubble, where nothing takes real time.
// Clients reach it through Dial:
//
//	synctest.Test(t, func(t *testing.T) {
//		b := rotatest.Start(t, rotatest.InMemory())
//		client, err := kgo.NewClient(kgo.SeedBrokers(b.Addr()), kgo.Dialer(b.Dial))
//		...
//	})
//
// Start, the clients, and their Close must be in the same bubble. Build with
// the tag synctests if franz-go consumers are in it: a goroutine of theirs that
// waits for a sync.Mutex would otherwise hold up the bubble's clock.
//
// # Where to start reading
//
// broker.go has Start, advance.go the clock, fault.go and disk.go what can go
// wrong, group.go what can be waited for.
package rotatest
