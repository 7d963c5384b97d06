package sim

import (
	"rota/internal/client"
	"rota/internal/group"
)

// toGroup is what the broker makes of a member's request. The versions are
// those of the member's client; before some of them there is no instance id.
func (a *actor) toGroup(w *World, req client.Request) group.Request {
	switch r := req.(type) {
	case client.Join:
		j := group.Join{
			Version: a.joinVersion, MemberID: r.MemberID, InstanceID: r.InstanceID, ClientID: a.name, ClientHost: "/127.0.0.1",
			SessionTimeout: r.SessionTimeout, RebalanceTimeout: r.RebalanceTimeout, ProtocolType: r.ProtocolType, Reason: r.Reason,
			Protocols: make([]group.Protocol, len(r.Protocols)),
		}
		for i, p := range r.Protocols {
			j.Protocols[i] = group.Protocol{Name: p.Name, Metadata: p.Metadata}
		}
		return j
	case client.Sync:
		s := group.Sync{Version: 4, MemberID: r.MemberID, InstanceID: r.InstanceID, Generation: r.Generation}
		if a.number%2 == 0 {
			s.Version, s.ProtocolType, s.ProtocolName = 5, &r.ProtocolType, &r.Protocol
		}
		for _, x := range r.Assignments {
			s.Assignments = append(s.Assignments, group.Assignment{MemberID: x.MemberID, Data: x.Data})
		}
		return s
	case client.Heartbeat:
		return group.Heartbeat{MemberID: r.MemberID, InstanceID: r.InstanceID, Generation: r.Generation}
	case client.Leave:
		return group.Leave{Version: 5, Members: []group.LeavingMember{{MemberID: r.MemberID, InstanceID: r.InstanceID, Reason: r.Reason}}}
	case client.Commit:
		c := group.Commit{Version: 8, MemberID: r.MemberID, InstanceID: r.InstanceID, Generation: r.Generation, Retention: -1}
		for _, o := range r.Offsets {
			c.Offsets = append(c.Offsets, group.CommitOffset{
				TopicPartition: group.TopicPartition(o.Partition), Offset: o.Offset, LeaderEpoch: -1, Timestamp: -1,
			})
		}
		return c
	case client.Fetch:
		f := group.FetchOffsets{RequireStable: true}
		for _, p := range r.Partitions {
			f.Partitions = append(f.Partitions, group.TopicPartition(p))
		}
		return f
	}
	w.fail("simulator", "no request of a broker: %T", req)
	return nil
}

// fromGroup is what the member's client makes of an answer.
func fromGroup(body group.Response) client.Response {
	switch r := body.(type) {
	case group.Joined:
		j := client.Joined{
			Code: int16(r.Code), Generation: r.Generation, ProtocolType: r.ProtocolType, Leader: r.Leader,
			MemberID: r.MemberID, SkipAssignment: r.SkipAssignment,
		}
		if r.ProtocolName != nil {
			j.Protocol = *r.ProtocolName
		}
		for _, m := range r.Members {
			x := client.JoinedMember{MemberID: m.MemberID, Metadata: m.Metadata}
			if m.InstanceID != nil {
				x.InstanceID = *m.InstanceID
			}
			j.Members = append(j.Members, x)
		}
		return j
	case group.Synced:
		return client.Synced{Code: int16(r.Code), ProtocolType: r.ProtocolType, Protocol: r.ProtocolName, Assignment: r.Assignment}
	case group.Beat:
		return client.Beat{Code: int16(r.Code)}
	case group.Left:
		return client.Left{Code: int16(r.Code)}
	case group.Committed:
		c := client.Committed{}
		for _, code := range r.Codes {
			c.Codes = append(c.Codes, int16(code))
		}
		return c
	case group.FetchedOffsets:
		f := client.Fetched{Code: int16(r.Code)}
		for _, o := range r.Offsets {
			f.Offsets = append(f.Offsets, client.Offset{Partition: client.Partition(o.TopicPartition), Offset: o.Offset})
		}
		return f
	}
	return nil
}
