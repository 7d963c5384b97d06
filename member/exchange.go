package member

import (
	"context"
	"fmt"
	"net"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/client"
)

// exchange sends one request and waits for its answer: to the coordinator,
// node, or anywhere if it asks for that. found is the coordinator that it is
// told of. There are no retries: the machine knows when to repeat what.
func (m *Member) exchange(ctx context.Context, node int32, req client.Request) (resp client.Response, found *int32, err error) {
	switch req.(type) {
	case client.Join:
		// It is answered when the rebalance is over.
	default:
		var cancel context.CancelFunc
		timeout := requestTimeout
		if _, ok := req.(client.Sync); ok {
			timeout += m.c.RebalanceTimeout
		}
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	if _, ok := req.(client.FindCoordinator); ok {
		return m.findCoordinator(ctx)
	}
	answer, err := m.kgo.Broker(int(node)).Request(ctx, m.encode(req))
	if err != nil {
		return nil, nil, err
	}
	resp, err = decode(answer)
	return resp, nil, err
}

func (m *Member) findCoordinator(ctx context.Context) (client.Response, *int32, error) {
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.CoordinatorKey, req.CoordinatorKeys = m.c.Group, []string{m.c.Group}
	resp, err := req.RequestWith(ctx, m.kgo)
	if err != nil {
		return nil, nil, err
	}
	code, node, host, port := resp.ErrorCode, resp.NodeID, resp.Host, resp.Port
	if len(resp.Coordinators) > 0 {
		c := &resp.Coordinators[0]
		code, node, host, port = c.ErrorCode, c.NodeID, c.Host, c.Port
	}
	return client.Found{Code: code, Address: net.JoinHostPort(host, strconv.Itoa(int(port)))}, &node, nil
}

// encode turns a request of the machine's into one of the newest version; the
// client lowers it to what the broker has.
func (m *Member) encode(req client.Request) kmsg.Request {
	switch r := req.(type) {
	case client.Join:
		return m.encodeJoin(r)
	case client.Sync:
		k := kmsg.NewPtrSyncGroupRequest()
		k.Group, k.Generation, k.MemberID, k.InstanceID = m.c.Group, r.Generation, r.MemberID, r.InstanceID
		k.ProtocolType, k.Protocol = &r.ProtocolType, &r.Protocol
		for _, a := range r.Assignments {
			g := kmsg.NewSyncGroupRequestGroupAssignment()
			g.MemberID, g.MemberAssignment = a.MemberID, a.Data
			k.GroupAssignment = append(k.GroupAssignment, g)
		}
		return k
	case client.Heartbeat:
		k := kmsg.NewPtrHeartbeatRequest()
		k.Group, k.Generation, k.MemberID, k.InstanceID = m.c.Group, r.Generation, r.MemberID, r.InstanceID
		return k
	case client.Leave:
		k := kmsg.NewPtrLeaveGroupRequest()
		k.Group, k.MemberID = m.c.Group, r.MemberID
		one := kmsg.NewLeaveGroupRequestMember()
		one.MemberID, one.InstanceID, one.Reason = r.MemberID, r.InstanceID, &r.Reason
		k.Members = append(k.Members, one)
		return k
	}
	panic(fmt.Sprintf("member: the machine sends a %T", req))
}

func (m *Member) encodeJoin(r client.Join) kmsg.Request {
	k := kmsg.NewPtrJoinGroupRequest()
	k.Group, k.MemberID, k.InstanceID, k.ProtocolType = m.c.Group, r.MemberID, r.InstanceID, r.ProtocolType
	k.SessionTimeoutMillis = int32(r.SessionTimeout.Milliseconds())
	k.RebalanceTimeoutMillis = int32(r.RebalanceTimeout.Milliseconds())
	if r.Reason != "" {
		k.Reason = &r.Reason
	}
	for _, p := range r.Protocols {
		one := kmsg.NewJoinGroupRequestProtocol()
		one.Name, one.Metadata = p.Name, p.Metadata
		k.Protocols = append(k.Protocols, one)
	}
	return k
}

// decode turns a response into one for the machine.
func decode(resp kmsg.Response) (client.Response, error) {
	switch r := resp.(type) {
	case *kmsg.JoinGroupResponse:
		j := client.Joined{
			Code: r.ErrorCode, Generation: r.Generation, ProtocolType: r.ProtocolType,
			Leader: r.LeaderID, MemberID: r.MemberID, SkipAssignment: r.SkipAssignment,
		}
		if r.Protocol != nil {
			j.Protocol = *r.Protocol
		}
		for i := range r.Members {
			of := &r.Members[i]
			one := client.JoinedMember{MemberID: of.MemberID, Metadata: of.ProtocolMetadata}
			if of.InstanceID != nil {
				one.InstanceID = *of.InstanceID
			}
			j.Members = append(j.Members, one)
		}
		return j, nil
	case *kmsg.SyncGroupResponse:
		return client.Synced{Code: r.ErrorCode, ProtocolType: r.ProtocolType, Protocol: r.Protocol, Assignment: r.MemberAssignment}, nil
	case *kmsg.HeartbeatResponse:
		return client.Beat{Code: r.ErrorCode}, nil
	case *kmsg.LeaveGroupResponse:
		return client.Left{Code: r.ErrorCode}, nil
	}
	return nil, fmt.Errorf("member: unexpected response %T", resp)
}
