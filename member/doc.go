// Package member makes a program a member of a group, on Rota or on any other
// Kafka-compatible cluster, and gives it its share of the work.
//
//	err := member.Run(ctx, member.Config{
//		Group: "mailers",
//		Work:  member.Shards(12),
//		Run: func(ctx context.Context, o member.Ownership) {
//			sendMail(ctx, o.Shard.Partition) // until ctx is cancelled
//		},
//	}, kgo.SeedBrokers("localhost:9092"))
//
// The work may be the partitions of topics (Topics, in one group with consumers
// in any language), numbered shards that have nothing to do with topics
// (Shards), one thing that only one member may do (Leader), or whatever a
// protocol of the program's own says (Custom). Connections, TLS and SASL are
// those of franz-go's client, and its options.
//
// # What is guaranteed
//
// A member owns a shard from the moment it is assigned until its context is
// cancelled. That happens before the shard can be given to another member:
//
//   - In a rebalance, before this member agrees to it (eager), or before it
//     lets go of the shard (cooperative). The member waits until Run has
//     returned for the shard, then joins.
//   - When the coordinator is out of reach, before it can have given up on this
//     member: the session timeout after the sending of the last heartbeat that
//     was confirmed, or the rebalance timeout after the last one that was
//     answered with "no rebalance", less a twentieth of each.
//
// This rests on one assumption about clocks: until the context is cancelled and
// Run has stopped, this process is not suspended, and its clock does not run
// slower than the coordinator's, by more than that twentieth. Where even that is
// too much to assume, let the resource itself refuse what is late: Token rises
// with every change of owner. Two running processes with one InstanceID are a
// mistake that no token mends: the second takes over at once, the first hears
// of it with its next heartbeat, and ends. So it is with a member that an
// operator throws out, and with a cooperative one that comes back to a rebalance
// of a group which has reached group.max.size: others have its place already.
// And so with a JoinGroup that the network holds back until the member has given
// up its connection and joined over another one: the group goes by the old one
// until a heartbeat tells the member.
//
// # Callbacks
//
// A rebalance is one OnJoinPrepare and one OnJoinComplete, in that order,
// however many requests it takes. OnLost may come at any time after the first
// OnJoinComplete: the membership is gone, and with it what was owned. One
// callback runs at a time, and none of them holds up heartbeats.
//
// # Where to start reading
//
// config.go has all that can be said, member.go the loop around the machine of
// package client, whose Lease is the promise about time, ownership.go the
// contexts, dialect.go the formats on the wire.
package member
