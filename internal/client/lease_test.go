package client

import (
	"testing"
	"time"
)

// TestLease tells a lease of 100 s of session and 20 s to rejoin what was
// answered, and asks until when ownership lasts: 95 % of either, from the
// sending.
func TestLease(t *testing.T) {
	const s = time.Second
	type answer struct {
		sent time.Duration
		resp Response
	}
	joined, synced := Joined{}, Synced{}
	calm, rebalancing, stranger := Beat{}, Beat{Code: codeRebalanceInProgress}, Beat{Code: codeUnknownMemberID}
	for _, test := range []struct {
		name    string
		answers []answer
		until   time.Duration
	}{
		{"nothing is answered", nil, 19 * s},
		{"an assignment is calm", []answer{{10 * s, joined}, {11 * s, synced}}, 30 * s},
		{"heartbeats keep it so", []answer{{10 * s, joined}, {11 * s, synced}, {15 * s, calm}}, 34 * s},
		{"not while others wait for this member", []answer{{10 * s, joined}, {11 * s, synced}, {15 * s, rebalancing}}, 30 * s},
		{"not a member's answer", []answer{{10 * s, joined}, {11 * s, synced}, {15 * s, stranger}}, 30 * s},
		{"late answers take nothing back", []answer{{10 * s, joined}, {11 * s, synced}, {15 * s, calm}, {12 * s, calm}}, 34 * s},
		// The deadline of the SyncGroup runs since the join, heartbeats or not.
		{"not while the SyncGroup is on its way", []answer{
			{10 * s, joined}, {11 * s, synced}, {15 * s, rebalancing}, {16 * s, joined}, {20 * s, calm}, {25 * s, calm},
		}, 30 * s},
		{"but once it is answered", []answer{
			{10 * s, joined}, {11 * s, synced}, {16 * s, joined}, {20 * s, calm}, {17 * s, synced}, {25 * s, calm},
		}, 44 * s},
	} {
		l := Lease{Session: 100 * s, Rebalance: 20 * s}
		for _, a := range test.answers {
			l.Answered(a.sent, a.resp)
		}
		if got := l.Until(); got != test.until {
			t.Errorf("%s: until %v, want %v", test.name, got, test.until)
		}
	}
	l := Lease{Session: 20 * s, Rebalance: 100 * s}
	l.Answered(10*s, joined)
	l.Answered(11*s, synced)
	l.Answered(15*s, rebalancing)
	if got := l.Until(); got != 34*s {
		t.Errorf("a short session: until %v, want 34s", got)
	}
}
