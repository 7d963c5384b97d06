package scenario

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/group"
)

// Transactions over TCP: what a producer does besides the requests of the file.

// txnProducer is what a number of the file stands for.
type txnProducer struct {
	transactionalID string
	addr            string // of its coordinator
	id              int64
	epoch           int16
	groups          []string // part of the open transaction
}

func wireTxnCommit(r group.TxnCommit, name string) kmsg.Request {
	out := &kmsg.TxnOffsetCommitRequest{
		TransactionalID: r.TransactionalID, Group: name, ProducerID: r.ProducerID, ProducerEpoch: r.ProducerEpoch,
		Generation: r.Generation, MemberID: r.MemberID, InstanceID: r.InstanceID,
	}
	for _, o := range r.Offsets {
		p := kmsg.TxnOffsetCommitRequestTopicPartition{Partition: o.Partition, Offset: o.Offset, LeaderEpoch: o.LeaderEpoch}
		if o.Metadata != "" {
			p.Metadata = &o.Metadata
		}
		at := slices.IndexFunc(out.Topics, func(t kmsg.TxnOffsetCommitRequestTopic) bool { return t.Topic == o.Topic })
		if at < 0 {
			at = len(out.Topics)
			out.Topics = append(out.Topics, kmsg.TxnOffsetCommitRequestTopic{Topic: o.Topic})
		}
		out.Topics[at].Partitions = append(out.Topics[at].Partitions, p)
	}
	return out
}

func readTxnCommitted(q *call, r *kmsg.TxnOffsetCommitResponse) group.Committed {
	codes := map[group.TopicPartition]group.Code{}
	for _, t := range r.Topics {
		for _, p := range t.Partitions {
			codes[group.TopicPartition{Topic: t.Topic, Partition: p.Partition}] = group.Code(p.ErrorCode)
		}
	}
	return committedCodes(q, codes)
}

// inTransaction makes the group part of the producer's transaction, which
// begins with that, and fills in who the producer is.
func (p *player) inTransaction(ctx context.Context, name string, r group.TxnCommit) (group.TxnCommit, error) {
	producer, err := p.producer(ctx, r.ProducerID)
	if err != nil {
		return r, err
	}
	if !slices.Contains(producer.groups, name) {
		add := kmsg.NewPtrAddOffsetsToTxnRequest()
		add.Version, add.TransactionalID, add.Group = 3, producer.transactionalID, p.names.groupID(name)
		add.ProducerID, add.ProducerEpoch = producer.id, producer.epoch
		_, err := p.until(ctx, producer.addr, add, func(answer kmsg.Response) int16 {
			r, _ := answer.(*kmsg.AddOffsetsToTxnResponse)
			return r.ErrorCode
		})
		if err != nil {
			return r, err
		}
		producer.groups = append(producer.groups, name)
	}
	r.TransactionalID, r.ProducerID, r.ProducerEpoch = producer.transactionalID, producer.id, producer.epoch
	return r, nil
}

// producer finds the producer of a number, or makes it one.
func (p *player) producer(ctx context.Context, number int64) (*txnProducer, error) {
	made := p.producers[number]
	if made == nil {
		made = &txnProducer{transactionalID: p.names.groupID("producer-" + strconv.FormatInt(number, 10)), id: -1}
		p.producers[number] = made
	}
	if made.addr == "" {
		if err := p.findCoordinator(ctx, made); err != nil {
			return nil, err
		}
	}
	if made.id >= 0 {
		return made, nil
	}
	initialise := kmsg.NewPtrInitProducerIDRequest()
	initialise.Version, initialise.TransactionalID, initialise.TransactionTimeoutMillis = 2, &made.transactionalID, 60_000
	answer, err := p.until(ctx, made.addr, initialise, func(answer kmsg.Response) int16 {
		r, _ := answer.(*kmsg.InitProducerIDResponse)
		return r.ErrorCode
	})
	if err != nil {
		return nil, err
	}
	got, _ := answer.(*kmsg.InitProducerIDResponse)
	made.id, made.epoch = got.ProducerID, got.ProducerEpoch
	return made, nil
}

func (p *player) findCoordinator(ctx context.Context, of *txnProducer) error {
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.Version, find.CoordinatorKey, find.CoordinatorType = 2, of.transactionalID, 1
	answer, err := p.until(ctx, p.addr, find, func(answer kmsg.Response) int16 {
		r, _ := answer.(*kmsg.FindCoordinatorResponse)
		return r.ErrorCode
	})
	if err != nil {
		return err
	}
	r, _ := answer.(*kmsg.FindCoordinatorResponse)
	of.addr = net.JoinHostPort(r.Host, strconv.Itoa(int(r.Port)))
	return nil
}

// endTransaction ends a transaction and answers when all its markers are
// written: a broker answers before that.
func (p *player) endTransaction(ctx context.Context, q *call) error {
	producer, err := p.producer(ctx, q.ends.producer)
	if err != nil {
		return err
	}
	end := kmsg.NewPtrEndTxnRequest()
	end.Version, end.TransactionalID, end.ProducerID, end.ProducerEpoch = q.version, producer.transactionalID, producer.id, producer.epoch
	end.Commit = q.ends.control == group.ControlCommit
	answered, err := p.ask(ctx, producer.addr, end)
	if err != nil {
		return err
	}
	describe := kmsg.NewPtrDescribeTransactionsRequest()
	describe.TransactionalIDs = []string{producer.transactionalID}
	_, err = p.until(ctx, producer.addr, describe, func(answer kmsg.Response) int16 {
		r, ok := answer.(*kmsg.DescribeTransactionsResponse)
		switch {
		case !ok || len(r.TransactionStates) != 1:
			return -1
		case r.TransactionStates[0].State == "PrepareCommit" || r.TransactionStates[0].State == "PrepareAbort":
			return kerr.ConcurrentTransactions.Code // not yet
		}
		return r.TransactionStates[0].ErrorCode
	})
	if err != nil {
		return err
	}
	producer.groups = nil
	p.answersOf(q.client) <- answer{call: q, response: answered, at: time.Now()}
	return nil
}

// until asks until the answer has no error that passes by itself.
func (p *player) until(ctx context.Context, addr string, r kmsg.Request, code func(kmsg.Response) int16) (kmsg.Response, error) {
	for deadline := time.Now().Add(p.o.Slack); ; {
		answer, err := p.ask(ctx, addr, r)
		if err != nil {
			return nil, err
		}
		c := code(answer)
		passes := kerr.IsRetriable(kerr.ErrorForCode(c)) || c == kerr.ConcurrentTransactions.Code
		switch {
		case c == 0:
			return answer, nil
		case !passes || time.Now().After(deadline):
			return nil, fmt.Errorf("%s: %s", kmsg.NameForKey(r.Key()), formatCode(group.Code(c)))
		}
		if err := sleepUntil(ctx, time.Now().Add(p.o.Settle)); err != nil {
			return nil, err
		}
	}
}
