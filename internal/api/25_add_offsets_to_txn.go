package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/txn"
)

// AddOffsetsToTxn (key 25), versions 0-4: makes the offsets of a group part of
// a producer's transaction: the partition of the offsets topic that keeps the
// group (KIP-98).
//
//	v1: clients throttle themselves
//	v2: PRODUCER_FENCED is possible (KIP-588)
//	v3: flexible
//	v4: TRANSACTION_ABORTABLE is possible (KIP-890)
//
// Not done: throttling.
func addOffsetsToTxnAPI() API {
	return API{Key: kmsg.AddOffsetsToTxn, Min: 0, Max: 4, Class: Alone, Handle: addOffsetsToTxn}
}

func addOffsetsToTxn(s *Server, c *Call) {
	req := requestOf[*kmsg.AddOffsetsToTxnRequest](c)
	added := transact[txn.AddedOffsets](s, c, req.TransactionalID, txn.AddOffsets{
		ProducerID: req.ProducerID, ProducerEpoch: req.ProducerEpoch, Partition: s.Coordinator.PartitionOf(req.Group),
	})
	c.Answer.Reply(&kmsg.AddOffsetsToTxnResponse{Version: c.Version, ErrorCode: fencedBefore(c, 2, added.Code)})
}
