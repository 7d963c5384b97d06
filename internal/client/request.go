package client

import (
	"time"

	"rota/internal/client/assignor"
)

// Partition is one partition of a topic.
type Partition = assignor.Partition

// Request is what a Machine wants to have sent. Whoever sends it picks the
// version: nothing here depends on it.
type Request interface{ isRequest() }

// FindCoordinator asks for the coordinator of the group.
type FindCoordinator struct{}

// Join is a JoinGroup.
type Join struct {
	MemberID         string
	InstanceID       *string
	SessionTimeout   time.Duration
	RebalanceTimeout time.Duration
	ProtocolType     string
	Protocols        []Protocol
	Reason           string
}

// Protocol is an assignor that the member can use, with its subscription.
type Protocol struct {
	Name     string
	Metadata []byte
}

// Sync is a SyncGroup. Only the leader's has assignments.
type Sync struct {
	MemberID     string
	InstanceID   *string
	Generation   int32
	ProtocolType string
	Protocol     string
	Assignments  []Assignment
}

// Assignment is what the leader gives to one member.
type Assignment struct {
	MemberID string
	Data     []byte
}

// Heartbeat is a Heartbeat.
type Heartbeat struct {
	MemberID   string
	InstanceID *string
	Generation int32
}

// Leave is a LeaveGroup of one member.
type Leave struct {
	MemberID   string
	InstanceID *string
	Reason     string
}

// Commit is an OffsetCommit.
type Commit struct {
	MemberID   string
	InstanceID *string
	Generation int32
	Offsets    []Offset
}

// Offset is a position to commit, or one that is committed: -1 and "" if none.
type Offset struct {
	Partition
	Offset      int64
	LeaderEpoch int32
	Metadata    string
}

// Fetch is an OffsetFetch with RequireStable.
type Fetch struct{ Partitions []Partition }

// Response answers a Request.
type Response interface{ isResponse() }

// Found answers FindCoordinator.
type Found struct {
	Code    int16
	Address string
}

// Joined answers Join. Absent fields of old versions are "", nil and false.
type Joined struct {
	Code           int16
	Generation     int32
	ProtocolType   *string
	Protocol       string
	Leader         string
	MemberID       string
	SkipAssignment bool
	Members        []JoinedMember
}

// JoinedMember is an entry of the list that the leader gets.
type JoinedMember struct {
	MemberID   string
	InstanceID string
	Metadata   []byte
}

// Synced answers Sync.
type Synced struct {
	Code         int16
	ProtocolType *string
	Protocol     *string
	Assignment   []byte
}

// Beat answers Heartbeat.
type Beat struct{ Code int16 }

// Left answers Leave.
type Left struct{ Code int16 }

// Committed answers Commit with a code for each offset, in order.
type Committed struct{ Codes []int16 }

// Fetched answers Fetch. Codes has one for each offset, or is nil if all are 0.
type Fetched struct {
	Code    int16
	Codes   []int16
	Offsets []Offset
}

func (FindCoordinator) isRequest() {}
func (Join) isRequest()            {}
func (Sync) isRequest()            {}
func (Heartbeat) isRequest()       {}
func (Leave) isRequest()           {}
func (Commit) isRequest()          {}
func (Fetch) isRequest()           {}

func (Found) isResponse()     {}
func (Joined) isResponse()    {}
func (Synced) isResponse()    {}
func (Beat) isResponse()      {}
func (Left) isResponse()      {}
func (Committed) isResponse() {}
func (Fetched) isResponse()   {}
