package group

import "time"

// Request is one call on a group: from a member, an admin, or the shell.
// The api package builds it from the wire request of any version.
type Request interface{ isRequest() }

// Response is what a request is answered with.
type Response interface{ isResponse() }

// TopicPartition names a partition the way offset records do: by topic name.
type TopicPartition struct {
	Topic     string
	Partition int32
}

// Protocol is one entry of a member's ordered list.
type Protocol struct {
	Name     string
	Metadata []byte
}

// Join is a JoinGroup request.
type Join struct {
	Version          int16 // decides the two-step of member ids, SkipAssignment, the static leader's answer
	MemberID         string
	InstanceID       *string
	ClientID         string
	ClientHost       string // as Kafka shows it: "/127.0.0.1"
	SessionTimeout   time.Duration
	RebalanceTimeout time.Duration // <= 0 or absent: the session timeout
	ProtocolType     string
	Protocols        []Protocol
	Reason           string
	// NewMemberID is the id that this request may be given, should it need one.
	NewMemberID string
}

// Joined answers a Join. With an error Code only MemberID says something.
type Joined struct {
	Code           Code
	Generation     int32
	ProtocolType   *string
	ProtocolName   *string
	Leader         string
	SkipAssignment bool
	MemberID       string
	Members        []JoinedMember
}

// JoinedMember is one entry of the list that the leader gets.
type JoinedMember struct {
	MemberID   string
	InstanceID *string
	Metadata   []byte
}

// Sync is a SyncGroup request.
type Sync struct {
	Version      int16
	MemberID     string
	InstanceID   *string
	Generation   int32
	ProtocolType *string
	ProtocolName *string
	Assignments  []Assignment
}

// Assignment is the leader's plan for one member.
type Assignment struct {
	MemberID string
	Data     []byte
}

// Synced answers a Sync.
type Synced struct {
	Code         Code
	ProtocolType *string
	ProtocolName *string
	Assignment   []byte
}

// Heartbeat is a Heartbeat request.
type Heartbeat struct {
	MemberID   string
	InstanceID *string
	Generation int32
}

// Beat answers a Heartbeat.
type Beat struct{ Code Code }

// Leave is a LeaveGroup request. v0-2 fill in one member without instance id.
type Leave struct {
	Version int16
	Members []LeavingMember
}

// LeavingMember is one entry of a Leave.
type LeavingMember struct {
	MemberID   string
	InstanceID *string
	Reason     string
}

// Left answers a Leave. Members echo the request, in order.
type Left struct {
	Code    Code
	Members []LeftMember
}

// LeftMember is one member's part of Left.
type LeftMember struct {
	MemberID   string
	InstanceID *string
	Code       Code
}

// Commit is an OffsetCommit request, after the broker has dropped what it
// refuses itself (unknown topics and partitions).
type Commit struct {
	Version    int16
	MemberID   string
	InstanceID *string
	Generation int32
	// Retention is v2-4's RetentionTimeMs as a duration; negative: the broker's default.
	Retention time.Duration
	Offsets   []CommitOffset
}

// CommitOffset is one partition's part of a Commit.
type CommitOffset struct {
	TopicPartition
	TopicID     [16]byte
	Offset      int64
	LeaderEpoch int32
	Metadata    string // null is ""
	Timestamp   int64  // v1's CommitTimestamp, -1: now
}

// TxnCommit is a TxnOffsetCommit request, after the broker has dropped what it
// refuses itself and the transaction coordinator has agreed: the producer's
// transaction is open, includes this group's partition of the offsets topic,
// and cannot have ended before the request takes effect.
type TxnCommit struct {
	Version         int16 // 6 refuses a generation of an unknown group with GROUP_ID_NOT_FOUND
	TransactionalID string
	ProducerID      int64
	ProducerEpoch   int16
	MemberID        string  // "" before version 3
	InstanceID      *string // nil before version 3
	Generation      int32   // -1 before version 3
	Offsets         []CommitOffset
}

// Committed answers a Commit or a TxnCommit: one code for each entry of Offsets, in order.
type Committed struct{ Codes []Code }

// FetchOffsets is one group's part of an OffsetFetch.
type FetchOffsets struct {
	All           bool // Topics null: every committed offset
	Partitions    []TopicPartition
	RequireStable bool
}

// FetchedOffsets answers FetchOffsets. For All the entries are sorted by
// topic and partition, else they are in the order of the request.
type FetchedOffsets struct {
	Code    Code
	Offsets []FetchedOffset
}

// FetchedOffset is one partition's part of FetchedOffsets: -1, -1, "" if
// nothing is committed.
type FetchedOffset struct {
	TopicPartition
	Code        Code
	Offset      int64
	LeaderEpoch int32
	Metadata    string
}

// DeleteOffsets is an OffsetDelete request for partitions that exist.
type DeleteOffsets struct{ Partitions []TopicPartition }

// DeletedOffsets answers DeleteOffsets: a top-level Code, else one per partition.
type DeletedOffsets struct {
	Code  Code
	Codes []Code
}

// Delete is one group's part of a DeleteGroups request.
type Delete struct{}

// Deleted answers Delete.
type Deleted struct{ Code Code }

// Describe is one group's part of a DescribeGroups request.
type Describe struct{ Version int16 }

// Described answers Describe.
type Described struct {
	Code         Code
	ErrorMessage string
	State        string
	ProtocolType string
	ProtocolData string
	Members      []DescribedMember
}

// DescribedMember is one member of a described group.
type DescribedMember struct {
	MemberID   string
	InstanceID *string
	ClientID   string
	ClientHost string
	Metadata   []byte
	Assignment []byte
}

// Expire is a retention pass over the group's offsets, and over the group
// itself (KIP-211). It has no reply.
type Expire struct{}

// ForgetTopic says that a topic was deleted: its committed and pending offsets
// go (only those with no topic id, or with this one). It is answered by
// Forgotten, so that the caller knows when the tombstones are durable.
type ForgetTopic struct {
	Topic string
	ID    [16]byte
}

// Forgotten answers ForgetTopic.
type Forgotten struct{}

func (Join) isRequest()          {}
func (Sync) isRequest()          {}
func (Heartbeat) isRequest()     {}
func (Leave) isRequest()         {}
func (Commit) isRequest()        {}
func (TxnCommit) isRequest()     {}
func (FetchOffsets) isRequest()  {}
func (DeleteOffsets) isRequest() {}
func (Delete) isRequest()        {}
func (Describe) isRequest()      {}
func (Expire) isRequest()        {}
func (ForgetTopic) isRequest()   {}

func (Joined) isResponse()         {}
func (Synced) isResponse()         {}
func (Beat) isResponse()           {}
func (Left) isResponse()           {}
func (Committed) isResponse()      {}
func (FetchedOffsets) isResponse() {}
func (DeletedOffsets) isResponse() {}
func (Deleted) isResponse()        {}
func (Described) isResponse()      {}
func (Forgotten) isResponse()      {}
