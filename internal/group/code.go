package group

// The Kafka error codes that the rules answer with.
const (
	codeNone                      Code = 0
	codeUnknownServerError        Code = -1
	codeOffsetMetadataTooLarge    Code = 12
	codeCoordinatorLoadInProgress Code = 14
	codeCoordinatorNotAvailable   Code = 15
	codeNotCoordinator            Code = 16
	codeIllegalGeneration         Code = 22
	codeInconsistentGroupProtocol Code = 23
	codeInvalidGroupID            Code = 24
	codeUnknownMemberID           Code = 25
	codeInvalidSessionTimeout     Code = 26
	codeRebalanceInProgress       Code = 27
	codeInvalidCommitOffsetSize   Code = 28
	codeNonEmptyGroup             Code = 68
	codeGroupIDNotFound           Code = 69
	codeMemberIDRequired          Code = 79
	codeGroupMaxSizeReached       Code = 81
	codeFencedInstanceID          Code = 82
	codeGroupSubscribedToTopic    Code = 86
	codeUnstableOffsetCommit      Code = 88
)
