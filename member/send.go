package member

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/client"
)

// kafkaError is the error of a code.
func kafkaError(code int16) error { return kerr.ErrorForCode(code) }

// requestTimeout bounds what may take long for no good reason.
const requestTimeout = 30 * time.Second

// send sends a request of the machine's, and brings it the answer.
func (m *Member) send(s client.Send) {
	sent, node, ctx := m.now(), m.node, m.sending
	if s.Anywhere {
		ctx = m.ctx
	}
	go func() {
		resp, found, err := m.exchange(ctx, node, s.Request)
		m.do(func() {
			switch {
			case err == nil:
				if found != nil {
					m.node = *found
				}
				m.answered(s, sent, resp)
			case ctx.Err() == nil:
				m.c.Log.Debug("request failed", "group", m.c.Group, "err", err)
				if !s.Anywhere {
					m.drop()
				}
				m.machine.Disconnected(m.now(), s.Anywhere)
			}
		})
	}()
}

// answered hands an answer over, and notes what it says about time.
func (m *Member) answered(s client.Send, sent time.Duration, resp client.Response) {
	m.lease.Answered(sent, resp)
	if r, ok := resp.(client.Synced); ok && r.Code == 0 {
		m.plan = r.Assignment
	}
	if j, ok := resp.(client.Joined); ok && j.Code == 0 {
		m.joined(s, j)
		return
	}
	m.machine.Answer(m.now(), s.ID, resp)
}

// joined hands a JoinGroup's answer over. A leader must know first how many
// partitions the topics have.
func (m *Member) joined(s client.Send, j client.Joined) {
	m.watched = nil
	topics := []string(nil)
	if j.Leader == j.MemberID {
		topics = m.dialect.topics(j.Members)
	}
	if topics == nil {
		m.machine.Answer(m.now(), s.ID, j)
		return
	}
	ctx := m.sending
	go func() {
		counts, err := m.partitions(ctx, topics)
		m.do(func() {
			switch {
			case err == nil:
				m.dialect.learn(counts)
				m.watched, m.watchAt = counts, m.now()+m.c.MetadataInterval
				m.machine.Answer(m.now(), s.ID, j)
			case ctx.Err() == nil:
				m.drop()
				m.machine.Disconnected(m.now(), false)
			}
		})
	}()
}

// watch looks whether the topics of the group have changed since this member
// planned for them.
func (m *Member) watch(now time.Duration) {
	m.watchAt = now + m.c.MetadataInterval
	before := m.watched
	names := make([]string, 0, len(before))
	for name := range before {
		names = append(names, name)
	}
	go func() {
		counts, err := m.partitions(m.ctx, names)
		if err != nil {
			return
		}
		for name, n := range counts {
			if n != before[name] {
				m.do(func() {
					m.watched = nil
					m.machine.Rejoin(m.now(), fmt.Sprintf("topic %s had %d partitions and has %d", name, before[name], n))
				})
				return
			}
		}
	}()
}

// partitions asks for the partition counts of topics, 0 for one that does not
// exist.
func (m *Member) partitions(ctx context.Context, topics []string) (map[string]int32, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{}
	for _, name := range topics {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = &name
		req.Topics = append(req.Topics, t)
	}
	resp, err := req.RequestWith(ctx, m.kgo)
	if err != nil {
		return nil, err
	}
	counts := make(map[string]int32, len(topics))
	for _, name := range topics {
		counts[name] = 0
	}
	for _, t := range resp.Topics {
		if t.ErrorCode == 0 && t.Topic != nil {
			counts[*t.Topic] = int32(len(t.Partitions))
		} else if t.ErrorCode != kerr.UnknownTopicOrPartition.Code {
			return nil, kafkaError(t.ErrorCode)
		}
	}
	return counts, nil
}
