package api

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/group"
	"rota/internal/txn"
)

// TxnOffsetCommit (key 28), versions 0-6: stores how far a group has come,
// within the transaction of a producer: it counts when that is committed. It is
// answered when the offsets are durable.
//
//	v1: clients throttle themselves
//	v2: LeaderEpoch for each partition (KIP-320)
//	v3: flexible; Generation, MemberID and InstanceID (KIP-447)
//	v4: TRANSACTION_ABORTABLE is possible (KIP-890)
//	v5: adds the group's offsets to the transaction implicitly (KIP-890)
//	v6: topic ids take the place of names; GROUP_ID_NOT_FOUND for a generation of an unknown group (KIP-1319)
//
// Partitions that do not exist are refused here. If nothing else is left nobody
// is asked. Then the transaction coordinator has to agree, then the group.
//
// Not done: throttling.
func txnOffsetCommitAPI() API {
	return API{Key: kmsg.TxnOffsetCommit, Min: 0, Max: 6, Class: Alone, Handle: txnOffsetCommit}
}

func txnOffsetCommit(s *Server, c *Call) {
	req := requestOf[*kmsg.TxnOffsetCommitRequest](c)
	view := s.Broker.Catalog.View()
	version := int16(9) // of the OffsetCommit that names topics in the same way
	if c.Version >= 6 {
		version = 10
	}
	topics, offsets := commitOffsets(view, version, txnCommitTopics(req))
	resp := &kmsg.TxnOffsetCommitResponse{Version: c.Version, Topics: make([]kmsg.TxnOffsetCommitResponseTopic, len(topics))}
	defer c.Answer.Reply(resp)
	var codes []group.Code
	if len(offsets) > 0 {
		codes = s.commitInTransaction(c, req, offsets)
	}
	for i := range topics {
		from, to := &topics[i], &resp.Topics[i]
		to.Topic, to.TopicID = from.Topic, from.TopicID
		for _, p := range from.Partitions {
			if p.ErrorCode == asked {
				p.ErrorCode, codes = int16(codes[0]), codes[1:]
			}
			to.Partitions = append(to.Partitions, kmsg.TxnOffsetCommitResponseTopicPartition{Partition: p.Partition, ErrorCode: p.ErrorCode})
		}
	}
	if later := s.Broker.Catalog.View(); later != view {
		forgetLate(s, later, offsets)
	}
}

// txnCommitTopics are the topics of the request, as an OffsetCommit has them.
func txnCommitTopics(req *kmsg.TxnOffsetCommitRequest) []kmsg.OffsetCommitRequestTopic {
	topics := make([]kmsg.OffsetCommitRequestTopic, len(req.Topics))
	for i := range req.Topics {
		from, to := &req.Topics[i], &topics[i]
		to.Topic, to.TopicID = from.Topic, from.TopicID
		to.Partitions = make([]kmsg.OffsetCommitRequestTopicPartition, len(from.Partitions))
		for j := range from.Partitions {
			p := &from.Partitions[j]
			to.Partitions[j] = kmsg.OffsetCommitRequestTopicPartition{
				Partition: p.Partition, Offset: p.Offset, LeaderEpoch: p.LeaderEpoch, Metadata: p.Metadata,
			}
		}
	}
	return topics
}

// commitInTransaction asks the transaction coordinator and then the group, and
// returns a code for each offset.
func (s *Server) commitInTransaction(c *Call, req *kmsg.TxnOffsetCommitRequest, offsets []group.CommitOffset) []group.Code {
	commit := group.TxnCommit{
		Version: c.Version, TransactionalID: req.TransactionalID, ProducerID: req.ProducerID, ProducerEpoch: req.ProducerEpoch,
		Generation: -1, Offsets: offsets,
	}
	if c.Version >= 3 {
		commit.MemberID, commit.InstanceID, commit.Generation = req.MemberID, req.InstanceID, req.Generation
	}
	refuse := func(code int16) []group.Code {
		return answerOf[group.Committed](group.Refuse(commit, group.Code(code))).Codes
	}
	if req.Group == "" {
		return refuse(kerr.InvalidGroupID.Code)
	}
	permit := s.Coordinator.TakePermit(req.Group, req.ProducerID)
	defer func() { permit.Release() }()
	code := s.offsetsInTransaction(c, req)
	for ; code == 0 && c.Version >= 5 && !permit.Good(); code = s.offsetsInTransaction(c, req) {
		// The coordinator has waited for the end of the transaction before,
		// whose marker made the permit void.
		permit.Release()
		permit = s.Coordinator.TakePermit(req.Group, req.ProducerID)
	}
	if code != 0 {
		return refuse(code)
	}
	answers := make(chan group.Response, 1)
	s.Coordinator.CommitInTransaction(req.Group, commit, permit, func(r group.Response) { answers <- r })
	select {
	case r := <-answers:
		return answerOf[group.Committed](r).Codes
	case <-c.Context.Done():
		return refuse(kerr.NotCoordinator.Code)
	}
}

// offsetsInTransaction adds the group's offsets to the transaction or, before
// version 5, verifies that they have been added. It returns the code that a
// client is to be told, 0 if all is well.
func (s *Server) offsetsInTransaction(c *Call, req *kmsg.TxnOffsetCommitRequest) int16 {
	code := transact[txn.AddedOffsets](s, c, req.TransactionalID, txn.AddOffsets{
		ProducerID: req.ProducerID, ProducerEpoch: req.ProducerEpoch, Partition: s.Coordinator.PartitionOf(req.Group),
		VerifyOnly: c.Version < 5, ClientVersion: clientVersion(c, 5),
	}).Code
	switch int16(code) {
	case kerr.ProducerFenced.Code:
		return kerr.InvalidProducerEpoch.Code
	case kerr.TransactionAbortable.Code:
		if c.Version < 4 {
			return kerr.InvalidTxnState.Code
		}
	}
	return int16(code)
}
