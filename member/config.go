package member

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"rota/internal/client/assignor"
)

// Shard is one piece of the work: a partition of a topic, or a number.
type Shard struct {
	// Topic is the topic; "shards" in a group of Shards or Leader.
	Topic     string
	Partition int32
}

// Ownership is a shard that the member owns.
type Ownership struct {
	Shard Shard
	// Token is the fencing token: the generation in which the member got the
	// shard. Each later owner has a higher one, for as long as the group exists;
	// a member that lost the shard and gets it back before anybody else had it
	// may have the same again.
	Token int32
	// MemberID is the member's id at that time.
	MemberID string
}

// Prepare is what OnJoinPrepare is told.
type Prepare struct {
	// Generation is the one that ends, -1 if there is none.
	Generation int32
	// Revoked is what the member gives up before it joins: everything, unless
	// the assignors are cooperative. The contexts have been cancelled.
	Revoked []Shard
}

// Complete is what OnJoinComplete is told.
type Complete struct {
	Generation int32
	MemberID   string
	// Protocol is the name of the assignor that was used.
	Protocol string
	// Added and Removed are the changes that this rebalance made to Owned.
	Added, Removed, Owned []Shard
	// Assignment is what the leader has sent, in the format of the protocol.
	Assignment []byte
}

// Config says what the member shares, and with whom. Group and Work are needed.
type Config struct {
	// Group is the group id.
	Group string
	// InstanceID makes the member a static one (KIP-345): it keeps its place,
	// and its share, through a restart that is over before its session is.
	InstanceID string
	// Work is what is shared: Topics, Shards, Leader or Custom.
	Work Work
	// Assignors are those that the member can use, best first; all members
	// must have one in common. Not for Custom. Default: CooperativeSticky. The
	// member is cooperative if all of them are.
	Assignors []Assignor
	// Metadata is told to the leader, for assignors that use it. Update
	// changes it.
	Metadata []byte

	// SessionTimeout is how long the member may be silent. Default 45 s.
	SessionTimeout time.Duration
	// HeartbeatInterval is the pause between heartbeats. Default: a fifteenth
	// of SessionTimeout, 3 s.
	HeartbeatInterval time.Duration
	// RebalanceTimeout is how long the others wait for this member in a
	// rebalance: for Run and OnJoinPrepare to return. Default 1 min.
	RebalanceTimeout time.Duration
	// MaxPollInterval is how long the program may go without calling Alive,
	// before the member gives up its place: a watchdog for programs that may
	// hang. Default 0: there is none.
	MaxPollInterval time.Duration
	// MetadataInterval is how often the leader looks whether topics have
	// changed. Default 1 min.
	MetadataInterval time.Duration

	// Run is called for each shard that the member gets, in a goroutine of its
	// own, and returns soon after ctx is cancelled. context.Cause(ctx) is
	// ErrRevoked, ErrLost or ErrClosed. If it returns before, the shard stays
	// with the member.
	Run func(ctx context.Context, o Ownership)
	// OnJoinPrepare is called once when a rebalance begins.
	OnJoinPrepare func(Prepare)
	// OnJoinComplete is called once when it has ended.
	OnJoinComplete func(Complete)
	// OnLost is called when the membership is gone: what the member owned may
	// have been given to others. The contexts have been cancelled.
	OnLost func([]Shard)

	// Log receives what an operator might ask about. Default: discarded.
	Log *slog.Logger
}

// Why a context of ownership is cancelled.
var (
	// ErrRevoked: the shard is given up in a rebalance.
	ErrRevoked = errors.New("member: shard is revoked")
	// ErrLost: the membership is gone, or may be.
	ErrLost = errors.New("member: membership is lost")
	// ErrClosed: the member has been closed.
	ErrClosed = errors.New("member: closed")
)

func (c Config) withDefaults() Config {
	if c.SessionTimeout == 0 {
		c.SessionTimeout = 45 * time.Second
	}
	if c.HeartbeatInterval == 0 {
		c.HeartbeatInterval = c.SessionTimeout / 15
	}
	if c.RebalanceTimeout == 0 {
		c.RebalanceTimeout = time.Minute
	}
	if c.MetadataInterval == 0 {
		c.MetadataInterval = time.Minute
	}
	if len(c.Assignors) == 0 {
		c.Assignors = []Assignor{CooperativeSticky()}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

func (c *Config) validate() error {
	switch {
	case c.Group == "":
		return errors.New("member: Group is needed")
	case c.Work == nil:
		return errors.New("member: Work is needed")
	case c.HeartbeatInterval >= c.SessionTimeout:
		return errors.New("member: HeartbeatInterval must be less than SessionTimeout")
	}
	return nil
}

// shardsOf converts what the machine says.
func shardsOf(list []assignor.Partition) []Shard {
	out := make([]Shard, len(list))
	for i, p := range list {
		out[i] = Shard(p)
	}
	return out
}
