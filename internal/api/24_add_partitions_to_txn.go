package api

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/broker"
	"rota/internal/catalog"
	"rota/internal/txn"
)

// AddPartitionsToTxn (key 24), versions 0-5: makes partitions part of a
// producer's transaction, which begins with the first one (KIP-98).
//
//	v1: clients throttle themselves
//	v2: PRODUCER_FENCED is possible (KIP-588)
//	v3: flexible
//	v4: Transactions: several at once, each perhaps only to be verified; for brokers (KIP-890)
//	v5: TRANSACTION_ABORTABLE is possible (KIP-890)
//
// If one partition of a transaction does not exist, none is added: the others
// are answered with OPERATION_NOT_ATTEMPTED.
//
// Not done: throttling.
func addPartitionsToTxnAPI() API {
	return API{Key: kmsg.AddPartitionsToTxn, Min: 0, Max: 5, Class: Alone, Handle: addPartitionsToTxn}
}

func addPartitionsToTxn(s *Server, c *Call) {
	req := requestOf[*kmsg.AddPartitionsToTxnRequest](c)
	resp := &kmsg.AddPartitionsToTxnResponse{Version: c.Version}
	view := s.Broker.Catalog.View()
	if c.Version >= 4 {
		for i := range req.Transactions {
			t := &req.Transactions[i]
			resp.Transactions = append(resp.Transactions, kmsg.AddPartitionsToTxnResponseTransaction{
				TransactionalID: t.TransactionalID, Topics: addToTransaction(s, c, view, t),
			})
		}
		c.Answer.Reply(resp)
		return
	}
	t := kmsg.AddPartitionsToTxnRequestTransaction{
		TransactionalID: req.TransactionalID, ProducerID: req.ProducerID, ProducerEpoch: req.ProducerEpoch,
	}
	for i := range req.Topics {
		t.Topics = append(t.Topics, kmsg.AddPartitionsToTxnRequestTransactionTopic{Topic: req.Topics[i].Topic, Partitions: req.Topics[i].Partitions})
	}
	for _, topic := range addToTransaction(s, c, view, &t) {
		answer := kmsg.AddPartitionsToTxnResponseTopic{Topic: topic.Topic}
		for _, p := range topic.Partitions {
			answer.Partitions = append(answer.Partitions, kmsg.AddPartitionsToTxnResponseTopicPartition{Partition: p.Partition, ErrorCode: p.ErrorCode})
		}
		resp.Topics = append(resp.Topics, answer)
	}
	c.Answer.Reply(resp)
}

// addToTransaction adds the partitions of one transaction and answers for each.
func addToTransaction(s *Server, c *Call, view *catalog.View, t *kmsg.AddPartitionsToTxnRequestTransaction) []kmsg.AddPartitionsToTxnResponseTransactionTopic {
	add := txn.AddPartitions{ProducerID: t.ProducerID, ProducerEpoch: t.ProducerEpoch, VerifyOnly: t.VerifyOnly}
	refusals, refused := make([]int16, 0, len(t.Topics)), false
	for i := range t.Topics {
		for _, p := range t.Topics[i].Partitions {
			code := s.mayJoinTransaction(c, view, t.Topics[i].Topic, p)
			refusals, refused = append(refusals, code), refused || code != 0
			add.Partitions = append(add.Partitions, txn.TopicPartition{Topic: t.Topics[i].Topic, Partition: p})
		}
	}
	if refused {
		for i := range refusals {
			if refusals[i] == 0 {
				refusals[i] = kerr.OperationNotAttempted.Code
			}
		}
		return addedTopics(t, refusals)
	}
	added := transact[txn.AddedPartitions](s, c, t.TransactionalID, add)
	codes := make([]int16, len(added.Codes))
	for i, code := range added.Codes {
		codes[i] = fencedBefore(c, 2, code)
	}
	return addedTopics(t, codes)
}

// mayJoinTransaction is the code that keeps a partition out of transactions, 0
// if none does. A client has nothing to write to internal topics.
func (s *Server) mayJoinTransaction(c *Call, view *catalog.View, topic string, partition int32) int16 {
	t, _, err := s.Broker.Partition(view, broker.TopicRef{Name: topic}, partition)
	switch {
	case t != nil && t.Internal && c.Version < 4:
		return kerr.TopicAuthorizationFailed.Code
	case err == kerr.UnknownTopicOrPartition:
		return err.Code
	}
	return 0
}

// addedTopics puts codes, one for each partition of the request, into the form
// of the response.
func addedTopics(t *kmsg.AddPartitionsToTxnRequestTransaction, codes []int16) []kmsg.AddPartitionsToTxnResponseTransactionTopic {
	topics := make([]kmsg.AddPartitionsToTxnResponseTransactionTopic, len(t.Topics))
	for i := range t.Topics {
		topics[i].Topic = t.Topics[i].Topic
		for _, p := range t.Topics[i].Partitions {
			topics[i].Partitions = append(topics[i].Partitions, kmsg.AddPartitionsToTxnResponseTransactionTopicPartition{Partition: p, ErrorCode: codes[0]})
			codes = codes[1:]
		}
	}
	return topics
}
