package api

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/broker"
	"rota/internal/catalog"
	"rota/internal/record"
	"rota/internal/storage"
)

// Produce (key 0), versions 3-13: appends one batch to each partition and
// answers when they are durable (acks=-1), written (acks=1), or never (acks=0,
// which closes the connection on an error).
//
//	v3: TransactionalID; record batches of magic 2 only (KIP-98)
//	v4: KAFKA_STORAGE_ERROR is possible
//	v5: LogStartOffset in the response (KIP-107)
//	v6: clients throttle themselves
//	v7: Zstandard (KIP-110)
//	v8: RecordErrors and ErrorMessage in the response (KIP-467)
//	v9: flexible
//	v10: CurrentLeader and NodeEndpoints in the response (KIP-951)
//	v11: TRANSACTION_ABORTABLE is possible (KIP-890)
//	v12: transactions add partitions implicitly (KIP-890)
//	v13: topic ids take the place of names (KIP-516)
//
// ApiVersions names 0 as the lowest version: a widespread client turns
// compression off otherwise (KAFKA-18659). Versions 0-2 close the connection.
//
// The first transactional batch of a producer to a partition waits for the
// transaction coordinator's word that the partition is part of the transaction
// (before v12), or to make it so; what comes behind it on that partition waits
// with it.
//
// TimeoutMillis bounds the wait for the end of the transaction before (v12);
// there is no replica to wait for.
//
// Not done: throttling.
func produceAPI() API {
	return API{Key: kmsg.Produce, Min: 3, Max: 13, FromZero: true, Class: OverlapsData, Handle: produce}
}

// producing is a Produce until every partition has answered.
type producing struct {
	s    *Server
	call *Call
	resp *kmsg.ProduceResponse
	// left counts partitions without answer, and the handler itself.
	left    atomic.Int32
	noReply bool // acks=0
	// txn is nil without a transactional id. Its batches are all waited for,
	// even with acks=0: they may be appended after the handler has returned.
	txn    *broker.Transaction
	failed atomic.Pointer[error]
	lost   atomic.Bool // some partition has another leader epoch by now
}

func produce(s *Server, c *Call) {
	req := requestOf[*kmsg.ProduceRequest](c)
	p := &producing{s: s, call: c, noReply: req.Acks == 0}
	p.resp = p.response(req)
	p.left.Store(1)
	refused := checkProduce(req)
	if req.TransactionID != nil {
		p.txn = &broker.Transaction{
			ID: *req.TransactionID, Adds: c.Version >= 12, Abortable: c.Version >= 11,
			Patience: time.Duration(max(req.TimeoutMillis, 0)) * time.Millisecond,
		}
	}
	view := s.Broker.Catalog.View()
	for i := range req.Topics {
		p.topic(view, req, i, refused)
	}
	if p.txn != nil {
		s.Broker.Verify(p.txn, c.Answer.Run)
	}
	p.arrived()
}

// response makes the response with an entry for each partition.
func (p *producing) response(req *kmsg.ProduceRequest) *kmsg.ProduceResponse {
	resp := &kmsg.ProduceResponse{Topics: make([]kmsg.ProduceResponseTopic, len(req.Topics))}
	for i := range req.Topics {
		from, to := &req.Topics[i], &resp.Topics[i]
		to.Topic, to.TopicID = from.Topic, from.TopicID
		to.Partitions = make([]kmsg.ProduceResponseTopicPartition, len(from.Partitions))
		for j := range to.Partitions {
			to.Partitions[j].Default()
			to.Partitions[j].Partition = from.Partitions[j].Partition
		}
	}
	return resp
}

// checkProduce says why no partition of the request is served.
func checkProduce(req *kmsg.ProduceRequest) error {
	if req.Acks < -1 || req.Acks > 1 {
		return kerr.InvalidRequiredAcks
	}
	return nil
}

// waits reports whether every partition answers; else, with acks=0, they do
// with errors only.
func (p *producing) waits() bool { return !p.noReply || p.txn != nil }

func (p *producing) topic(view *catalog.View, req *kmsg.ProduceRequest, i int, refused error) {
	t := &req.Topics[i]
	one := broker.Produce{Topic: topicRef(p.call, 13, t.Topic, t.TopicID), Ack: ack(req.Acks), Zstd: p.call.Version >= 7, Transaction: p.txn}
	if p.waits() {
		if p.noReply {
			one.Ack = storage.WrittenAck
		}
		p.left.Add(int32(len(t.Partitions)))
	}
	for j := range t.Partitions {
		answer := &p.resp.Topics[i].Partitions[j]
		done := func(a storage.Appended) { p.done(answer, &a) }
		if refused != nil {
			done(storage.Appended{Base: -1, LogAppend: -1, Start: -1, Err: refused})
			continue
		}
		one.Partition, one.Batch = t.Partitions[j].Partition, t.Partitions[j].Records
		p.s.Broker.Append(view, &one, done)
	}
}

// topicRef names a topic by id from version byID on.
func topicRef(c *Call, byID int16, name string, id storage.TopicID) broker.TopicRef {
	return broker.TopicRef{Name: name, ID: id, ByID: c.Version >= byID}
}

func ack(acks int16) storage.Ack {
	switch acks {
	case 0:
		return storage.NoAck
	case 1:
		return storage.WrittenAck
	default:
		return storage.DurableAck
	}
}

// done takes the answer of one partition.
func (p *producing) done(to *kmsg.ProduceResponseTopicPartition, a *storage.Appended) {
	if p.noReply {
		if a.Err != nil {
			p.failed.CompareAndSwap(nil, &a.Err)
		}
		if p.waits() {
			p.arrived()
		}
		return
	}
	to.BaseOffset, to.LogAppendTime, to.LogStartOffset = a.Base, a.LogAppend, a.Start
	if a.Err != nil {
		p.refuse(to, a.Err)
	}
	p.arrived()
}

func (p *producing) refuse(to *kmsg.ProduceResponseTopicPartition, err error) {
	to.ErrorCode = p.s.errorCode(err)
	to.ErrorMessage = sentence(err)
	if to.ErrorCode == kerr.NotLeaderForPartition.Code {
		p.lost.Store(true)
	}
	var invalid *record.InvalidError
	if errors.As(err, &invalid) && invalid.Record >= 0 {
		to.ErrorRecords = []kmsg.ProduceResponseTopicPartitionErrorRecord{
			{RelativeOffset: invalid.Record, ErrorMessage: &invalid.Reason},
		}
	}
}

// arrived answers the call with the last partition's answer.
func (p *producing) arrived() {
	if p.left.Add(-1) > 0 {
		return
	}
	if !p.noReply {
		if p.lost.Load() && p.call.Version >= 10 {
			// The last answer came from the log, which must not be asked then.
			p.call.Answer.Run(p.nameLeaders)
			return
		}
		p.call.Answer.Reply(p.resp)
		return
	}
	if err := p.failed.Load(); err != nil {
		p.call.Answer.Drop(fmt.Errorf("produce with acks=0: %w", *err))
		return
	}
	p.call.Answer.NoReply()
}

// nameLeaders replies and tells who leads the partitions whose leader epoch
// has changed under an append (KIP-951).
func (p *producing) nameLeaders() {
	view := p.s.Broker.Catalog.View()
	node := p.s.Broker.Config.NodeID
	for i := range p.resp.Topics {
		t := &p.resp.Topics[i]
		for j := range t.Partitions {
			to := &t.Partitions[j]
			if to.ErrorCode != kerr.NotLeaderForPartition.Code {
				continue
			}
			_, log, err := p.s.Broker.Partition(view, topicRef(p.call, 13, t.Topic, t.TopicID), to.Partition)
			if err != nil {
				continue
			}
			to.CurrentLeader.LeaderID, to.CurrentLeader.LeaderEpoch = node, log.Bounds().Epoch
			p.resp.Brokers = []kmsg.ProduceResponseBroker{{NodeID: node, Host: p.call.Listener.Host, Port: p.call.Listener.Port}}
		}
	}
	p.call.Answer.Reply(p.resp)
}
