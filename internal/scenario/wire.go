package scenario

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/group"
)

// Requests and answers in the form they have on the wire, of any version.

// wireRequest encodes a call for the group that the broker knows as name.
func wireRequest(q *call, name string, scale float64) (kmsg.Request, error) {
	var out kmsg.Request
	switch r := q.request.(type) {
	case group.Join:
		out = wireJoin(r, name, scale)
	case group.Sync:
		out = wireSync(r, name)
	case group.Heartbeat:
		out = &kmsg.HeartbeatRequest{Group: name, Generation: r.Generation, MemberID: r.MemberID, InstanceID: r.InstanceID}
	case group.Leave:
		out = wireLeave(r, name)
	case group.Commit:
		out = wireCommit(r, name, scale)
	case group.TxnCommit:
		out = wireTxnCommit(r, name)
	case group.FetchOffsets:
		out = wireFetch(r, name)
	case group.DeleteOffsets:
		out = wireDeleteOffsets(r, name)
	case group.Delete:
		out = &kmsg.DeleteGroupsRequest{Groups: []string{name}}
	case group.Describe:
		out = &kmsg.DescribeGroupsRequest{Groups: []string{name}}
	case nil:
		out = &kmsg.ListGroupsRequest{StatesFilter: q.states, TypesFilter: q.types}
	default:
		return nil, fmt.Errorf("%s cannot be sent", q.verb)
	}
	if q.version < 0 || q.version > out.MaxVersion() {
		return nil, fmt.Errorf("%s has no version %d here", q.verb, q.version)
	}
	out.SetVersion(q.version)
	return out, nil
}

// scaledMillis shortens a duration as all of a file are. What is not positive
// stays as it is.
func scaledMillis(d time.Duration, scale float64) int32 {
	if d <= 0 {
		return int32(d.Milliseconds())
	}
	return int32(time.Duration(float64(d) * scale).Milliseconds())
}

func wireJoin(r group.Join, name string, scale float64) kmsg.Request {
	out := &kmsg.JoinGroupRequest{
		Group: name, MemberID: r.MemberID, InstanceID: r.InstanceID, ProtocolType: r.ProtocolType,
		SessionTimeoutMillis:   scaledMillis(r.SessionTimeout, scale),
		RebalanceTimeoutMillis: scaledMillis(r.RebalanceTimeout, scale),
	}
	if r.Reason != "" {
		out.Reason = &r.Reason
	}
	for _, p := range r.Protocols {
		out.Protocols = append(out.Protocols, kmsg.JoinGroupRequestProtocol{Name: p.Name, Metadata: p.Metadata})
	}
	return out
}

func wireSync(r group.Sync, name string) kmsg.Request {
	out := &kmsg.SyncGroupRequest{
		Group: name, Generation: r.Generation, MemberID: r.MemberID, InstanceID: r.InstanceID,
		ProtocolType: r.ProtocolType, Protocol: r.ProtocolName,
	}
	for _, a := range r.Assignments {
		out.GroupAssignment = append(out.GroupAssignment, kmsg.SyncGroupRequestGroupAssignment{MemberID: a.MemberID, MemberAssignment: a.Data})
	}
	return out
}

func wireLeave(r group.Leave, name string) kmsg.Request {
	out := &kmsg.LeaveGroupRequest{Group: name}
	for _, m := range r.Members {
		e := kmsg.LeaveGroupRequestMember{MemberID: m.MemberID, InstanceID: m.InstanceID}
		if m.Reason != "" {
			e.Reason = &m.Reason
		}
		out.Members = append(out.Members, e)
		out.MemberID = m.MemberID
	}
	return out
}

func wireCommit(r group.Commit, name string, scale float64) kmsg.Request {
	out := &kmsg.OffsetCommitRequest{
		Group: name, Generation: r.Generation, MemberID: r.MemberID, InstanceID: r.InstanceID, RetentionTimeMillis: -1,
	}
	if r.Retention >= 0 {
		out.RetentionTimeMillis = int64(scaledMillis(r.Retention, scale))
	}
	for _, o := range r.Offsets {
		p := kmsg.OffsetCommitRequestTopicPartition{
			Partition: o.Partition, Offset: o.Offset, LeaderEpoch: o.LeaderEpoch, Timestamp: o.Timestamp,
		}
		if o.Metadata != "" {
			p.Metadata = &o.Metadata
		}
		at := slices.IndexFunc(out.Topics, func(t kmsg.OffsetCommitRequestTopic) bool { return t.Topic == o.Topic })
		if at < 0 {
			at = len(out.Topics)
			out.Topics = append(out.Topics, kmsg.OffsetCommitRequestTopic{Topic: o.Topic})
		}
		out.Topics[at].Partitions = append(out.Topics[at].Partitions, p)
	}
	return out
}

func wireFetch(r group.FetchOffsets, name string) kmsg.Request {
	out := &kmsg.OffsetFetchRequest{Group: name, RequireStable: r.RequireStable}
	g := kmsg.OffsetFetchRequestGroup{Group: name, MemberEpoch: -1}
	for _, tp := range r.Partitions {
		at := slices.IndexFunc(out.Topics, func(t kmsg.OffsetFetchRequestTopic) bool { return t.Topic == tp.Topic })
		if at < 0 {
			at = len(out.Topics)
			out.Topics = append(out.Topics, kmsg.OffsetFetchRequestTopic{Topic: tp.Topic})
			g.Topics = append(g.Topics, kmsg.OffsetFetchRequestGroupTopic{Topic: tp.Topic})
		}
		out.Topics[at].Partitions = append(out.Topics[at].Partitions, tp.Partition)
		g.Topics[at].Partitions = append(g.Topics[at].Partitions, tp.Partition)
	}
	if !r.All && out.Topics == nil {
		out.Topics, g.Topics = []kmsg.OffsetFetchRequestTopic{}, []kmsg.OffsetFetchRequestGroupTopic{}
	}
	out.Groups = []kmsg.OffsetFetchRequestGroup{g}
	return out
}

func wireDeleteOffsets(r group.DeleteOffsets, name string) kmsg.Request {
	out := &kmsg.OffsetDeleteRequest{Group: name}
	for _, tp := range r.Partitions {
		at := slices.IndexFunc(out.Topics, func(t kmsg.OffsetDeleteRequestTopic) bool { return t.Topic == tp.Topic })
		if at < 0 {
			at = len(out.Topics)
			out.Topics = append(out.Topics, kmsg.OffsetDeleteRequestTopic{Topic: tp.Topic})
		}
		out.Topics[at].Partitions = append(out.Topics[at].Partitions, kmsg.OffsetDeleteRequestTopicPartition{Partition: tp.Partition})
	}
	return out
}

// wireAnswer reads an answer to a request of a group.
func wireAnswer(q *call, r kmsg.Response) (group.Response, error) {
	switch r := r.(type) {
	case *kmsg.JoinGroupResponse:
		return readJoined(q, r), nil
	case *kmsg.SyncGroupResponse:
		return group.Synced{
			Code: group.Code(r.ErrorCode), ProtocolType: r.ProtocolType, ProtocolName: r.Protocol, Assignment: r.MemberAssignment,
		}, nil
	case *kmsg.HeartbeatResponse:
		return group.Beat{Code: group.Code(r.ErrorCode)}, nil
	case *kmsg.LeaveGroupResponse:
		return readLeft(q, r), nil
	case *kmsg.OffsetCommitResponse:
		return readCommitted(q, r), nil
	case *kmsg.TxnOffsetCommitResponse:
		return readTxnCommitted(q, r), nil
	case *kmsg.EndTxnResponse:
		return group.Beat{Code: group.Code(r.ErrorCode)}, nil
	case *kmsg.OffsetFetchResponse:
		return readFetched(q, r), nil
	case *kmsg.OffsetDeleteResponse:
		return readDeletedOffsets(q, r), nil
	case *kmsg.DeleteGroupsResponse:
		if len(r.Groups) == 1 {
			return group.Deleted{Code: group.Code(r.Groups[0].ErrorCode)}, nil
		}
	case *kmsg.DescribeGroupsResponse:
		if len(r.Groups) == 1 {
			return readDescribed(&r.Groups[0]), nil
		}
	}
	return nil, fmt.Errorf("an answer to %s that does not fit: %+v", q.verb, r)
}

// wireList reads the answer to "list".
func wireList(r *kmsg.ListGroupsResponse) (group.Code, []group.Summary) {
	var list []group.Summary
	for _, g := range r.Groups {
		list = append(list, group.Summary{ID: g.Group, ProtocolType: g.ProtocolType, State: g.GroupState, GroupType: g.GroupType})
	}
	return group.Code(r.ErrorCode), list
}

func readJoined(q *call, r *kmsg.JoinGroupResponse) group.Joined {
	j := group.Joined{
		Code: group.Code(r.ErrorCode), Generation: r.Generation, ProtocolType: r.ProtocolType, ProtocolName: r.Protocol,
		Leader: r.LeaderID, SkipAssignment: r.SkipAssignment, MemberID: r.MemberID,
	}
	if j.ProtocolName != nil && *j.ProtocolName == "" {
		j.ProtocolName = nil // how old versions write null
	}
	if r.Version < 7 && j.Code == 0 {
		j.ProtocolType = &q.protocolType // old versions do not say
	}
	for _, m := range r.Members {
		j.Members = append(j.Members, group.JoinedMember{MemberID: m.MemberID, InstanceID: m.InstanceID, Metadata: m.ProtocolMetadata})
	}
	return j
}

func readLeft(q *call, r *kmsg.LeaveGroupResponse) group.Left {
	left := group.Left{Code: group.Code(r.ErrorCode)}
	if request, ok := q.request.(group.Leave); ok && r.Version < 3 && len(request.Members) == 1 {
		left.Members = []group.LeftMember{{MemberID: request.Members[0].MemberID, Code: left.Code}}
	}
	for _, m := range r.Members {
		left.Members = append(left.Members, group.LeftMember{MemberID: m.MemberID, InstanceID: m.InstanceID, Code: group.Code(m.ErrorCode)})
	}
	return left
}

// unanswered is the code of a partition that an answer has left out.
const unanswered = group.Code(-999)

func readCommitted(q *call, r *kmsg.OffsetCommitResponse) group.Committed {
	codes := map[group.TopicPartition]group.Code{}
	for _, t := range r.Topics {
		for _, p := range t.Partitions {
			codes[group.TopicPartition{Topic: t.Topic, Partition: p.Partition}] = group.Code(p.ErrorCode)
		}
	}
	return committedCodes(q, codes)
}

// committedCodes puts the codes of an answer in the order of the request.
func committedCodes(q *call, codes map[group.TopicPartition]group.Code) group.Committed {
	var c group.Committed
	for _, o := range committedBy(q.request) {
		code, ok := codes[o.TopicPartition]
		if !ok {
			code = unanswered
		}
		c.Codes = append(c.Codes, code)
	}
	return c
}

func readFetched(q *call, r *kmsg.OffsetFetchResponse) group.FetchedOffsets {
	f := group.FetchedOffsets{Code: group.Code(r.ErrorCode)}
	found := map[group.TopicPartition]group.FetchedOffset{}
	put := func(topic string, partition, epoch int32, code int16, offset int64, metadata *string) {
		o := group.FetchedOffset{
			TopicPartition: group.TopicPartition{Topic: topic, Partition: partition},
			Code:           group.Code(code), Offset: offset, LeaderEpoch: epoch,
		}
		if metadata == nil {
			o.Metadata = "NULL"
		} else {
			o.Metadata = *metadata
		}
		if r.Version < 5 {
			o.LeaderEpoch = -1 // old versions do not say
		}
		found[o.TopicPartition] = o
	}
	for _, t := range r.Topics {
		for _, p := range t.Partitions {
			put(t.Topic, p.Partition, p.LeaderEpoch, p.ErrorCode, p.Offset, p.Metadata)
		}
	}
	for _, g := range r.Groups {
		f.Code = group.Code(g.ErrorCode)
		for _, t := range g.Topics {
			for _, p := range t.Partitions {
				put(t.Topic, p.Partition, p.LeaderEpoch, p.ErrorCode, p.Offset, p.Metadata)
			}
		}
	}
	request, _ := q.request.(group.FetchOffsets)
	for _, tp := range request.Partitions {
		o, ok := found[tp]
		if !ok {
			o = group.FetchedOffset{TopicPartition: tp, Code: unanswered, Offset: -1, LeaderEpoch: -1}
		}
		f.Offsets = append(f.Offsets, o)
		delete(found, tp)
	}
	for _, tp := range slices.SortedFunc(maps.Keys(found), comparePartitions) { // of "all", or not asked for
		f.Offsets = append(f.Offsets, found[tp])
	}
	return f
}

func comparePartitions(a, b group.TopicPartition) int {
	return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
}

func readDeletedOffsets(q *call, r *kmsg.OffsetDeleteResponse) group.DeletedOffsets {
	d := group.DeletedOffsets{Code: group.Code(r.ErrorCode)}
	codes := map[group.TopicPartition]group.Code{}
	for _, t := range r.Topics {
		for _, p := range t.Partitions {
			codes[group.TopicPartition{Topic: t.Topic, Partition: p.Partition}] = group.Code(p.ErrorCode)
		}
	}
	request, _ := q.request.(group.DeleteOffsets)
	for _, tp := range request.Partitions {
		code, ok := codes[tp]
		if !ok {
			code = unanswered
		}
		d.Codes = append(d.Codes, code)
	}
	return d
}

func readDescribed(r *kmsg.DescribeGroupsResponseGroup) group.Described {
	d := group.Described{Code: group.Code(r.ErrorCode), State: r.State, ProtocolType: r.ProtocolType, ProtocolData: r.Protocol}
	for _, m := range r.Members {
		d.Members = append(d.Members, group.DescribedMember{
			MemberID: m.MemberID, InstanceID: m.InstanceID, ClientID: m.ClientID, ClientHost: m.ClientHost,
			Metadata: m.ProtocolMetadata, Assignment: m.MemberAssignment,
		})
	}
	return d
}
