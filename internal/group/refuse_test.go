package group

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRefuse(t *testing.T) {
	join := Join{MemberID: "a"}
	commit := Commit{Offsets: make([]CommitOffset, 2)}
	for _, c := range []struct {
		req  Request
		code Code
		want Response
	}{
		{join, codeCoordinatorLoadInProgress, Joined{Code: 14, Generation: -1}},
		{join, codeNotCoordinator, Joined{Code: 16, Generation: -1}},
		{join, codeInvalidGroupID, Joined{Code: 24, Generation: -1, MemberID: "a"}},
		{join, codeCoordinatorNotAvailable, Joined{Code: 15, Generation: -1, MemberID: "a"}},
		{Sync{}, codeCoordinatorLoadInProgress, Synced{Code: 27}},
		{Sync{}, codeNotCoordinator, Synced{Code: 16}},
		{Heartbeat{}, codeCoordinatorLoadInProgress, Beat{}},
		{Heartbeat{}, codeNotCoordinator, Beat{16}},
		{Leave{Members: make([]LeavingMember, 1)}, codeCoordinatorLoadInProgress, Left{Code: 14}},
		{commit, codeCoordinatorLoadInProgress, Committed{[]Code{14, 14}}},
		{TxnCommit{Version: 1, Offsets: commit.Offsets}, codeCoordinatorLoadInProgress, Committed{[]Code{15, 15}}},
		{TxnCommit{Version: 2, Offsets: commit.Offsets}, codeCoordinatorLoadInProgress, Committed{[]Code{14, 14}}},
		{TxnCommit{Version: 1, Offsets: commit.Offsets}, codeNotCoordinator, Committed{[]Code{16, 16}}},
		{FetchOffsets{}, codeNotCoordinator, FetchedOffsets{Code: 16}},
		{DeleteOffsets{}, codeInvalidGroupID, DeletedOffsets{Code: 24}},
		{Delete{}, codeNotCoordinator, Deleted{16}},
		{Describe{}, codeNotCoordinator, Described{Code: 16}},
		{Expire{}, codeNotCoordinator, nil},
		{ForgetTopic{}, codeNotCoordinator, nil},
	} {
		if diff := cmp.Diff(c.want, Refuse(c.req, c.code)); diff != "" {
			t.Errorf("%T with %d:\n%s", c.req, c.code, diff)
		}
	}
}

func TestGroupWithoutID(t *testing.T) {
	d := newDriver(t, nil)
	d.g = New("", d.cfg)
	for _, c := range []struct{ req, want any }{
		{d.joinOf("x"), Joined{Code: 24, Generation: -1, MemberID: "x"}},
		{Sync{Version: 3}, Synced{Code: 24}},
		{Heartbeat{}, Beat{24}},
		{Leave{Version: 3, Members: []LeavingMember{{MemberID: "x"}}}, Left{Code: 24}},
		{DeleteOffsets{}, DeletedOffsets{Code: 24}},
		{TxnCommit{Version: 3, Generation: -1, Offsets: make([]CommitOffset, 1)}, Committed{[]Code{24}}},
		{FetchOffsets{All: true}, FetchedOffsets{Offsets: []FetchedOffset{}}},
		{Describe{}, Described{State: "Dead"}},
		{Delete{}, Deleted{Code: 69}},
	} {
		if diff := cmp.Diff(c.want, any(d.ask(c.req.(Request)))); diff != "" {
			t.Errorf("%T:\n%s", c.req, diff)
		}
	}
	commit := d.commitOf("")
	commit.Generation = -1
	if diff := cmp.Diff(Committed{[]Code{0}}, d.ask(commit)); diff != "" {
		t.Error(diff)
	}
}
