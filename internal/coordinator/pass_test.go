package coordinator

import (
	"testing"
	"time"

	"rota/internal/group"
)

// TestPassesDoNotPileUp: while the log is full no pass over the groups can run,
// and one that waits is enough.
func TestPassesDoNotPileUp(t *testing.T) {
	d := newDriver(t, GroupShardConfig{ExpireInterval: time.Second})
	d.ask("A", "g", group.Commit{Version: 8, Generation: -1, Retention: -1, Offsets: []group.CommitOffset{{TopicPartition: group.TopicPartition{Topic: "t"}, Timestamp: -1}}})
	d.landAll()
	for range 100 {
		d.now.Mono += time.Second
		d.s.Begin(d.now, true)
		d.finish(nil)
	}
	if n := d.s.Load().Passes; n != 1 {
		t.Errorf("%d passes wait", n)
	}
	d.turn(nil)
	d.turn(nil)
	if n := d.s.Load().Passes; n != 0 {
		t.Errorf("%d passes wait though there is room", n)
	}
}
