package api

import (
	"cmp"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/txn"
)

// DescribeTransactions (key 65), version 0: tells the state of transactional
// ids: the producer, its transaction, and the partitions in it (KIP-664).
//
// Not done: throttling.
func describeTransactionsAPI() API {
	return API{Key: kmsg.DescribeTransactions, Min: 0, Max: 0, Class: Alone, Handle: describeTransactions}
}

func describeTransactions(s *Server, c *Call) {
	req := requestOf[*kmsg.DescribeTransactionsRequest](c)
	resp := &kmsg.DescribeTransactionsResponse{Version: c.Version}
	for _, id := range req.TransactionalIDs {
		state := kmsg.NewDescribeTransactionsResponseTransactionState()
		state.TransactionalID = id
		if id == "" {
			state.ErrorCode = kerr.InvalidRequest.Code
			resp.TransactionStates = append(resp.TransactionStates, state)
			continue
		}
		d := transact[txn.Described](s, c, id, txn.Describe{})
		state.ErrorCode, state.State = int16(d.Code), d.State
		state.ProducerID, state.ProducerEpoch = d.ProducerID, d.ProducerEpoch
		state.TimeoutMillis, state.StartTimestamp = d.TimeoutMillis, d.StartedAt
		state.Topics = transactionTopics(d.Partitions)
		resp.TransactionStates = append(resp.TransactionStates, state)
	}
	c.Answer.Reply(resp)
}

// transactionTopics puts partitions together by topic.
func transactionTopics(partitions []txn.TopicPartition) []kmsg.DescribeTransactionsResponseTransactionStateTopic {
	partitions = slices.Clone(partitions)
	slices.SortFunc(partitions, func(a, b txn.TopicPartition) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	var topics []kmsg.DescribeTransactionsResponseTransactionStateTopic
	for _, p := range partitions {
		if n := len(topics); n == 0 || topics[n-1].Topic != p.Topic {
			topics = append(topics, kmsg.DescribeTransactionsResponseTransactionStateTopic{Topic: p.Topic})
		}
		last := &topics[len(topics)-1]
		last.Partitions = append(last.Partitions, p.Partition)
	}
	return topics
}
