package coordinator

import (
	"testing"
	"time"

	"rota/internal/group"
)

// An answer that begins a session and waits for nothing begins it at once.
func TestSessionBeginsWithAnAnswerThatWaitsForNothing(t *testing.T) {
	d := newDriver(t, GroupShardConfig{})
	member := d.form("g", 10*time.Second)
	d.pass(5 * time.Second)
	d.ask("sync", "g", group.Sync{Version: 4, MemberID: member, Generation: 1})
	d.expect("sync 0")
	d.pass(10*time.Second - time.Millisecond)
	if got := d.s.Summaries()[0].State; got != "Stable" {
		t.Errorf("before its session is over the group is %s", got)
	}
	d.pass(time.Millisecond)
	if got := d.s.Summaries()[0].State; got != "Empty" {
		t.Errorf("after that the group is %s", got)
	}
}

// Nobody hears of what may not come true, whether or not there is an answer
// that waits as well.
func TestEventsWaitForTheirRecords(t *testing.T) {
	c := testConfig()
	c.OffsetsRetention = 30 * time.Minute
	d := newDriver(t, GroupShardConfig{Group: c})
	d.ask("commit", "g", commit(1))
	d.landAll()
	d.said = nil
	d.pass(time.Hour)
	if len(d.appends) != 1 {
		t.Fatalf("%d batches, want one of tombstones", len(d.appends))
	}
	d.expect()
	d.landAll()
	d.expect("g offsets-expired", "g group-deleted")
}
