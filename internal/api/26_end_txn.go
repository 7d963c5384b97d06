package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/txn"
)

// EndTxn (key 26), versions 0-5: commits or aborts a producer's transaction.
// It is answered when that is decided, durably; the markers are written then
// (KIP-98).
//
//	v1: clients throttle themselves
//	v2: PRODUCER_FENCED is possible (KIP-588)
//	v3: flexible
//	v4: TRANSACTION_ABORTABLE is possible (KIP-890)
//	v5: every end gives the producer a new epoch, and perhaps a new id (KIP-890)
//
// Not done: throttling.
func endTxnAPI() API {
	return API{Key: kmsg.EndTxn, Min: 0, Max: 5, Class: Alone, Handle: endTxn}
}

func endTxn(s *Server, c *Call) {
	req := requestOf[*kmsg.EndTxnRequest](c)
	got := transact[txn.Ended](s, c, req.TransactionalID, txn.End{
		ProducerID: req.ProducerID, ProducerEpoch: req.ProducerEpoch, Commit: req.Commit, ClientVersion: clientVersion(c, 5),
	})
	c.Answer.Reply(&kmsg.EndTxnResponse{
		Version: c.Version, ErrorCode: fencedBefore(c, 2, got.Code),
		ProducerID: got.ProducerID, ProducerEpoch: got.ProducerEpoch,
	})
}
