package main

import (
	"context"
	"fmt"
	"time"

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

// follow takes an answer to a join or a sync and returns the request that comes
// next, nil once the member is in a stable generation.
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
	}
	return nil, fmt.Errorf("%T answers no join and no sync", resp)
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

func (m *member) leave() error {
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Version, req.Group, req.MemberID = 2, m.group, m.id
	r, err := m.c.do(req)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(r.(*kmsg.LeaveGroupResponse).ErrorCode)
}

// live settles, beats after a tenth of the interval and then every interval, and
// follows rebalances until ctx ends; then it leaves if it was told to. The
// early beat keeps chance out of the figures: without it, whoever is first in an
// empty group learns of the others after a whole interval, or not, by luck.
func (m *member) live(ctx context.Context, interval time.Duration, leaves bool, stable func(generation int32)) error {
	for {
		if err := m.settle(); err != nil {
			return err
		}
		stable(m.generation)
		wait := interval / 10
		for rebalance := false; !rebalance; {
			select {
			case <-ctx.Done():
				if leaves {
					return m.leave()
				}
				return nil
			case <-time.After(wait):
			}
			wait = interval
			r, err := m.c.do(m.beat())
			if err != nil {
				return err
			}
			code := r.(*kmsg.HeartbeatResponse).ErrorCode
			rebalance = code == kerr.RebalanceInProgress.Code
			if err := kerr.ErrorForCode(code); err != nil && !rebalance {
				return fmt.Errorf("heartbeat: %w", err)
			}
		}
	}
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
