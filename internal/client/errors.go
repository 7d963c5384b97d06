package client

import (
	"errors"
	"fmt"
)

// The Kafka error codes that a client reacts to.
const (
	codeNone                       = 0
	codeUnknownTopicOrPartition    = 3
	codeRequestTimedOut            = 7
	codeCoordinatorLoadInProgress  = 14
	codeCoordinatorNotAvailable    = 15
	codeNotCoordinator             = 16
	codeIllegalGeneration          = 22
	codeInconsistentGroupProtocol  = 23
	codeUnknownMemberID            = 25
	codeRebalanceInProgress        = 27
	codeTopicAuthorizationFailed   = 29
	codeMemberIDRequired           = 79
	codeFencedInstanceID           = 82
	codeUnstableOffsetCommit       = 88
	codeNetworkException           = 13
	codeGroupAuthorizationFailed   = 30
	codeKafkaStorageError          = 56
	codeThrottlingQuotaExceeded    = 89
	codeNotLeaderOrFollower        = 6
	codeLeaderNotAvailable         = 5
	codeNotEnoughReplicas          = 19
	codeNotEnoughReplicasAfterThat = 20
)

var (
	// ErrRebalanceInProgress: the commit was refused because the member is
	// joining. It may be repeated once it has joined, for partitions it still has.
	ErrRebalanceInProgress = errors.New("group is rebalancing")
	// ErrCommitFailed: the member is out of the group and its partitions may
	// belong to others.
	ErrCommitFailed = errors.New("member is no longer part of the group")
	// ErrShortAssignment: the leader sent this member no assignment.
	ErrShortAssignment = errors.New("assignment is shorter than 2 bytes")
	// ErrTimeout: the operation was retried until its time was over.
	ErrTimeout = errors.New("timed out")
	// ErrClosed: the member has been closed.
	ErrClosed = errors.New("member is closed")
	// ErrUnsafeAssignment: a cooperative assignor gives away what another
	// member still holds.
	ErrUnsafeAssignment = errors.New("assignor gives away a partition that another member holds")
)

// CodeError is a Kafka error code that the protocol gives the client no way to
// go on from.
type CodeError struct {
	API  string // "JoinGroup", ...
	Code int16
}

func (e *CodeError) Error() string { return fmt.Sprintf("%s: error code %d", e.API, e.Code) }

// CallbackError is what a callback has returned.
type CallbackError struct {
	Kind CallKind
	Err  error
}

func (e *CallbackError) Error() string { return fmt.Sprintf("callback %s: %v", e.Kind, e.Err) }
func (e *CallbackError) Unwrap() error { return e.Err }

// retriable reports whether a request may succeed when it is sent again
// without anything else being done.
func retriable(code int16) bool {
	switch code {
	case codeUnknownTopicOrPartition, codeLeaderNotAvailable, codeNotLeaderOrFollower, codeRequestTimedOut, codeNetworkException,
		codeCoordinatorLoadInProgress, codeCoordinatorNotAvailable, codeNotCoordinator, codeNotEnoughReplicas,
		codeNotEnoughReplicasAfterThat, codeKafkaStorageError, codeUnstableOffsetCommit, codeThrottlingQuotaExceeded:
		return true
	}
	return false
}
