package main

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// member is a classic group member that speaks raw requests.
type member struct {
	c          *conn
	group      string
	id         string
	generation int32
	leader     bool
	all        []string
	metadata   [32]byte // a join with another one starts a rebalance
}

func newMember(addr, group string) (*member, error) {
	c, err := dial(addr)
	return &member{c: c, group: group}, err
}

func (m *member) joinRequest() *kmsg.JoinGroupRequest {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Version, req.Group, req.MemberID, req.ProtocolType = 5, m.group, m.id, "bench"
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = 60_000, 60_000
	p := kmsg.NewJoinGroupRequestProtocol()
	p.Name, p.Metadata = "any", m.metadata[:]
	req.Protocols = append(req.Protocols, p)
	return req
}

func (m *member) syncRequest() *kmsg.SyncGroupRequest {
	req := kmsg.NewPtrSyncGroupRequest()
	req.Version, req.Group, req.MemberID, req.Generation = 3, m.group, m.id, m.generation
	if m.leader {
		for _, id := range m.all {
			a := kmsg.NewSyncGroupRequestGroupAssignment()
			a.MemberID, a.MemberAssignment = id, make([]byte, 32)
			req.GroupAssignment = append(req.GroupAssignment, a)
		}
	}
	return req
}

// follow takes an answer and returns the request that comes next, nil if the
// member is in a stable generation, or has left.
func (m *member) follow(resp kmsg.Response) (kmsg.Request, error) {
	switch resp := resp.(type) {
	case *kmsg.JoinGroupResponse:
		m.id = resp.MemberID
		if resp.ErrorCode == kerr.MemberIDRequired.Code {
			return m.joinRequest(), nil
		}
		if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
			return nil, fmt.Errorf("join: %w", err)
		}
		m.generation, m.leader = resp.Generation, resp.LeaderID == m.id
		m.all = m.all[:0]
		for _, o := range resp.Members {
			m.all = append(m.all, o.MemberID)
		}
		return m.syncRequest(), nil
	case *kmsg.SyncGroupResponse:
		if resp.ErrorCode == kerr.RebalanceInProgress.Code {
			return m.joinRequest(), nil
		}
		return nil, kerr.ErrorForCode(resp.ErrorCode)
	case *kmsg.HeartbeatResponse:
		if resp.ErrorCode == kerr.RebalanceInProgress.Code {
			return m.joinRequest(), nil
		}
		return nil, kerr.ErrorForCode(resp.ErrorCode)
	case *kmsg.LeaveGroupResponse:
		return nil, kerr.ErrorForCode(resp.ErrorCode)
	}
	return nil, fmt.Errorf("%T is no answer to a member", resp)
}

// settle joins and syncs until the member is in a stable generation.
func (m *member) settle() error {
	for req := kmsg.Request(m.joinRequest()); ; {
		resp, err := m.c.do(req)
		if err != nil {
			return err
		}
		if req, err = m.follow(resp); err != nil || req == nil {
			return err
		}
	}
}

func (m *member) beat() *kmsg.HeartbeatRequest {
	req := kmsg.NewPtrHeartbeatRequest()
	req.Version, req.Group, req.MemberID, req.Generation = 3, m.group, m.id, m.generation
	return req
}

func (m *member) leaveRequest() *kmsg.LeaveGroupRequest {
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Version, req.Group, req.MemberID = 2, m.group, m.id
	return req
}

// runHeartbeat has 64 members, each in a group of its own, that only beat.
func runHeartbeat(s *session) error {
	const n = 64
	name := fmt.Sprintf("raw, %d connections", n)
	members := make([]*member, n)
	if s.kind == echoBroker {
		for i := range members {
			members[i] = &member{group: "beat", id: "a-member-id-of-the-usual-length-00000000-0000-0000"}
		}
	} else {
		for i := range members {
			group := fmt.Sprintf("beat-%d", i)
			if err := s.findCoordinator(group); err != nil {
				return err
			}
			m, err := newMember(s.addr(), group)
			if err != nil {
				return err
			}
			defer m.c.close()
			if err := m.settle(); err != nil {
				return err
			}
			members[i] = m
		}
	}
	l := closedLoop{
		n: n, request: func(i int) kmsg.Request { return members[i].beat() },
		check: func(resp kmsg.Response) error { return kerr.ErrorForCode(resp.(*kmsg.HeartbeatResponse).ErrorCode) },
	}
	r, err := l.run(s, name, "beats/s", 1)
	if err != nil {
		return err
	}
	s.add(r)
	return nil
}
