package api_test

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

// subscription is the metadata of a consumer that subscribes to topics.
func subscription(topics ...string) []byte {
	m := kmsg.NewConsumerMemberMetadata()
	m.Topics = topics
	return m.AppendTo(nil)
}

// joinRequest asks to join as a consumer that can do range.
func joinRequest(group, member string, metadata []byte) *kmsg.JoinGroupRequest {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Group, req.MemberID, req.ProtocolType = group, member, "consumer"
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = 10_000, 60_000
	p := kmsg.NewJoinGroupRequestProtocol()
	p.Name, p.Metadata = "range", metadata
	req.Protocols = append(req.Protocols, p)
	return req
}

func syncRequest(group, member string, generation int32) *kmsg.SyncGroupRequest {
	req := kmsg.NewPtrSyncGroupRequest()
	req.Group, req.MemberID, req.Generation = group, member, generation
	req.ProtocolType, req.Protocol = new("consumer"), new("range")
	return req
}

// assign adds a member's assignment to the leader's request.
func assign(req *kmsg.SyncGroupRequest, member string, data []byte) {
	a := kmsg.NewSyncGroupRequestGroupAssignment()
	a.MemberID, a.MemberAssignment = member, data
	req.GroupAssignment = append(req.GroupAssignment, a)
}

func heartbeatRequest(group, member string, generation int32) *kmsg.HeartbeatRequest {
	req := kmsg.NewPtrHeartbeatRequest()
	req.Group, req.MemberID, req.Generation = group, member, generation
	return req
}

func leaveRequest(group string, members ...string) *kmsg.LeaveGroupRequest {
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group = group
	for _, id := range members {
		req.MemberID = id
		m := kmsg.NewLeaveGroupRequestMember()
		m.MemberID = id
		req.Members = append(req.Members, m)
	}
	return req
}

// enter joins with an empty id, twice where the broker asks for it, and does
// not wait for the second answer.
func (c *client) enter(req *kmsg.JoinGroupRequest) {
	c.Helper()
	first := ask[*kmsg.JoinGroupResponse](c, 5, req)
	if first.ErrorCode != 79 || first.MemberID == "" {
		c.Fatalf("first join: error %d and member id %q, want 79 and an id", first.ErrorCode, first.MemberID)
	}
	again := *req
	again.MemberID = first.MemberID
	c.send(5, &again)
}

// joined returns the answer to a join that succeeded.
func (c *client) joined() *kmsg.JoinGroupResponse {
	c.Helper()
	resp := received[*kmsg.JoinGroupResponse](c)
	if resp.ErrorCode != 0 {
		c.Fatalf("join: error %d", resp.ErrorCode)
	}
	return resp
}

// member is a client as a member of a stable group.
type member struct {
	*client
	group      string
	id         string
	generation int32
}

// alone makes a stable group of one consumer of topics.
func alone(c *client, group string, topics ...string) member {
	c.Helper()
	return aloneWith(c, joinRequest(group, "", subscription(topics...)), []byte("all"))
}

// aloneWith makes a stable group of one member that joins with req.
func aloneWith(c *client, req *kmsg.JoinGroupRequest, assignment []byte) member {
	c.Helper()
	c.enter(req)
	resp := c.joined()
	m := member{c, req.Group, resp.MemberID, resp.Generation}
	sync := syncRequest(req.Group, m.id, m.generation)
	assign(sync, m.id, assignment)
	if s := ask[*kmsg.SyncGroupResponse](c, 4, sync); s.ErrorCode != 0 {
		c.Fatalf("sync: error %d", s.ErrorCode)
	}
	return m
}

// pair makes a stable group of two consumers; a leads. Their subscriptions are
// "sub a" and "sub b", their assignments "part a" and "part b".
func pair(a, b *client, group string) (ma, mb member) {
	a.Helper()
	first := aloneWith(a, joinRequest(group, "", []byte("sub a")), []byte("all"))
	b.enter(joinRequest(group, "", []byte("sub b")))
	b.parked()
	a.send(5, joinRequest(group, first.id, []byte("sub a")))
	lead, follow := a.joined(), b.joined()
	if lead.LeaderID != lead.MemberID || len(lead.Members) != 2 || len(follow.Members) != 0 {
		a.Fatalf("the first member does not lead a group of two: %+v, %+v", lead, follow)
	}
	ma = member{a, group, lead.MemberID, lead.Generation}
	mb = member{b, group, follow.MemberID, follow.Generation}
	b.send(4, syncRequest(group, mb.id, mb.generation))
	b.parked()
	sync := syncRequest(group, ma.id, ma.generation)
	assign(sync, ma.id, []byte("part a"))
	assign(sync, mb.id, []byte("part b"))
	sa, sb := ask[*kmsg.SyncGroupResponse](a, 4, sync), received[*kmsg.SyncGroupResponse](b)
	if string(sa.MemberAssignment) != "part a" || string(sb.MemberAssignment) != "part b" {
		a.Fatalf("assignments are %q and %q", sa.MemberAssignment, sb.MemberAssignment)
	}
	return ma, mb
}

// heartbeat returns the error of a heartbeat of the member.
func (m member) heartbeat() int16 {
	m.Helper()
	return ask[*kmsg.HeartbeatResponse](m.client, 4, heartbeatRequest(m.group, m.id, m.generation)).ErrorCode
}

// leave takes the member out of its group.
func (m member) leave() {
	m.Helper()
	if resp := ask[*kmsg.LeaveGroupResponse](m.client, 2, leaveRequest(m.group, m.id)); resp.ErrorCode != 0 {
		m.Fatalf("leave: error %d", resp.ErrorCode)
	}
}

// commit is one partition's part of an OffsetCommit.
type commit struct {
	topic     string
	partition int32
	offset    int64
	epoch     int32
	metadata  *string
}

// commitRequest asks to store offsets, without a member.
func commitRequest(group string, commits ...commit) *kmsg.OffsetCommitRequest {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group = group
	for _, at := range commits {
		if n := len(req.Topics); n == 0 || req.Topics[n-1].Topic != at.topic {
			t := kmsg.NewOffsetCommitRequestTopic()
			t.Topic = at.topic
			req.Topics = append(req.Topics, t)
		}
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset, p.LeaderEpoch, p.Metadata = at.partition, at.offset, at.epoch, at.metadata
		last := &req.Topics[len(req.Topics)-1]
		last.Partitions = append(last.Partitions, p)
	}
	return req
}

// by makes a commit that of a member.
func by(m member, req *kmsg.OffsetCommitRequest) *kmsg.OffsetCommitRequest {
	req.Group, req.MemberID, req.Generation = m.group, m.id, m.generation
	return req
}

// codes returns the errors of a commit's partitions, in order.
func (c *client) codes(version int16, req *kmsg.OffsetCommitRequest) []int16 {
	c.Helper()
	var codes []int16
	for _, t := range ask[*kmsg.OffsetCommitResponse](c, version, req).Topics {
		for _, p := range t.Partitions {
			codes = append(codes, p.ErrorCode)
		}
	}
	return codes
}

// code returns the error of a commit of one partition.
func (c *client) code(version int16, req *kmsg.OffsetCommitRequest) int16 {
	c.Helper()
	codes := c.codes(version, req)
	if len(codes) != 1 {
		c.Fatalf("%d partitions answered, want 1", len(codes))
	}
	return codes[0]
}

// must checks that a commit succeeded for each of its partitions.
func (c *client) must(version int16, req *kmsg.OffsetCommitRequest) {
	c.Helper()
	for i, code := range c.codes(version, req) {
		if code != 0 {
			c.Fatalf("commit of entry %d: error %d", i, code)
		}
	}
}

// named is a topic and some of its partitions.
type named struct {
	topic      string
	partitions []int32
}

// fetchRequest asks a group for offsets, in the form of versions below 8; nil
// asks for all.
func fetchRequest(group string, topics []named) *kmsg.OffsetFetchRequest {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Group = group
	if topics != nil {
		req.Topics = []kmsg.OffsetFetchRequestTopic{}
	}
	for _, n := range topics {
		t := kmsg.NewOffsetFetchRequestTopic()
		t.Topic, t.Partitions = n.topic, n.partitions
		req.Topics = append(req.Topics, t)
	}
	return req
}

// fetchGroups asks several groups, in the form of versions from 8 on.
func fetchGroups(groups ...kmsg.OffsetFetchRequestGroup) *kmsg.OffsetFetchRequest {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Groups = groups
	return req
}

// fetchGroup is one group's part of such a request; nil asks for all.
func fetchGroup(group string, topics []named) kmsg.OffsetFetchRequestGroup {
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = group
	if topics != nil {
		g.Topics = []kmsg.OffsetFetchRequestGroupTopic{}
	}
	for _, n := range topics {
		t := kmsg.NewOffsetFetchRequestGroupTopic()
		t.Topic, t.Partitions = n.topic, n.partitions
		g.Topics = append(g.Topics, t)
	}
	return g
}

// fetched is what a fetch of one group answers for one partition.
type fetched struct {
	Topic     string
	Partition int32
	Offset    int64
	Epoch     int32
	Metadata  string
	Code      int16
}

// offsets asks one group for offsets, in all versions, and returns the error
// of the group and what it answered; nil asks for all. A null metadata is an
// error. Versions below 5 carry no epoch: it comes back as -1.
func (c *client) offsets(version int16, group string, topics []named) (int16, []fetched) {
	c.Helper()
	list := []fetched{}
	if version < 8 {
		resp := ask[*kmsg.OffsetFetchResponse](c, version, fetchRequest(group, topics))
		for _, t := range resp.Topics {
			for _, p := range t.Partitions {
				list = append(list, fetched{t.Topic, p.Partition, p.Offset, p.LeaderEpoch, c.text(p.Metadata), p.ErrorCode})
			}
		}
		return resp.ErrorCode, list
	}
	req := fetchGroups(fetchGroup(group, topics))
	names := map[[16]byte]string{}
	for i := range req.Groups[0].Topics {
		t := &req.Groups[0].Topics[i]
		if known, ok := c.cat.View().Topic(t.Topic); ok {
			t.TopicID = known.ID
		}
	}
	for _, t := range c.cat.View().Topics() {
		names[t.ID] = t.Name
	}
	resp := ask[*kmsg.OffsetFetchResponse](c, version, req)
	if len(resp.Groups) != 1 || resp.Groups[0].Group != group {
		c.Fatalf("groups of the answer: %+v", resp.Groups)
	}
	for _, t := range resp.Groups[0].Topics {
		name := t.Topic
		if version >= 10 {
			name = names[t.TopicID]
		}
		for _, p := range t.Partitions {
			list = append(list, fetched{name, p.Partition, p.Offset, p.LeaderEpoch, c.text(p.Metadata), p.ErrorCode})
		}
	}
	return resp.Groups[0].ErrorCode, list
}

// offset returns the committed offset of one partition.
func (c *client) offset(group, topic string, partition int32) int64 {
	c.Helper()
	code, list := c.offsets(7, group, []named{{topic, []int32{partition}}})
	if code != 0 || len(list) != 1 || list[0].Code != 0 {
		c.Fatalf("fetch of %s-%d: error %d, %+v", topic, partition, code, list)
	}
	return list[0].Offset
}

func (c *client) text(s *string) string {
	c.Helper()
	if s == nil {
		c.Fatal("metadata is null")
		return ""
	}
	return *s
}
