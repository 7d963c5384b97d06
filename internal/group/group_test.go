package group

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

func TestLifeOfAGroup(t *testing.T) {
	d := newDriver(t, nil)
	ids := d.form(3)
	d.wantState(Stable, 1, 3)
	for _, id := range ids {
		if c := d.beat(id); c != codeNone {
			t.Fatalf("heartbeat: %d", c)
		}
	}
	d.compareReplay()
	left := d.ask(Leave{Version: 5, Members: []LeavingMember{{MemberID: ids[0], Reason: "enough"}}}).(Left)
	if left.Code != codeNone || left.Members[0].Code != codeNone {
		t.Fatalf("leave: %+v", left)
	}
	d.wantState(PreparingRebalance, 1, 2)
	if c := d.beat(ids[1]); c != codeRebalanceInProgress {
		t.Fatalf("heartbeat: %d", c)
	}
	rest := ids[1:]
	var joins []Ticket
	for _, id := range rest {
		joins = append(joins, d.step(d.joinOf(id)))
	}
	d.wantState(CompletingRebalance, 2, 2)
	rest = d.syncAll(rest, joins)
	d.wantState(Stable, 2, 2)
	d.pass(9 * time.Second)
	d.beat(rest[0])
	d.pass(2 * time.Second)
	d.wantState(PreparingRebalance, 2, 1)
	d.pass(10 * time.Second)
	d.wantState(Empty, 3, 0)
	d.compareReplay()
	d.step(Expire{})
	if d.g.Exists() {
		t.Fatal("an empty group without offsets outlives the pass")
	}
	d.compareReplay()
}

func TestCodesAreKafkas(t *testing.T) {
	for code, want := range map[Code]*kerr.Error{
		codeUnknownServerError:        kerr.UnknownServerError,
		codeOffsetMetadataTooLarge:    kerr.OffsetMetadataTooLarge,
		codeCoordinatorLoadInProgress: kerr.CoordinatorLoadInProgress,
		codeCoordinatorNotAvailable:   kerr.CoordinatorNotAvailable,
		codeNotCoordinator:            kerr.NotCoordinator,
		codeIllegalGeneration:         kerr.IllegalGeneration,
		codeInconsistentGroupProtocol: kerr.InconsistentGroupProtocol,
		codeInvalidGroupID:            kerr.InvalidGroupID,
		codeUnknownMemberID:           kerr.UnknownMemberID,
		codeInvalidSessionTimeout:     kerr.InvalidSessionTimeout,
		codeRebalanceInProgress:       kerr.RebalanceInProgress,
		codeInvalidCommitOffsetSize:   kerr.InvalidCommitOffsetSize,
		codeNonEmptyGroup:             kerr.NonEmptyGroup,
		codeGroupIDNotFound:           kerr.GroupIDNotFound,
		codeMemberIDRequired:          kerr.MemberIDRequired,
		codeGroupMaxSizeReached:       kerr.GroupMaxSizeReached,
		codeFencedInstanceID:          kerr.FencedInstanceID,
		codeGroupSubscribedToTopic:    kerr.GroupSubscribedToTopic,
		codeUnstableOffsetCommit:      kerr.UnstableOffsetCommit,
	} {
		if code != Code(want.Code) {
			t.Errorf("%s is %d, not %d", want.Message, want.Code, code)
		}
	}
}
