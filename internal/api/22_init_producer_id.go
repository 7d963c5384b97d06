package api

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/txn"
)

// InitProducerID (key 22), versions 0-5: gives an idempotent producer an id
// that nobody had before (KIP-98). With a transactional id it makes the
// producer the only one that has it: who had it before is fenced, and what
// that one had open is aborted.
//
//	v1: clients throttle themselves
//	v2: flexible
//	v3: ProducerID and ProducerEpoch, to go on with (KIP-360)
//	v4: PRODUCER_FENCED is possible (KIP-588)
//	v5: TRANSACTION_ABORTABLE is possible (KIP-890)
//
// A producer without transactional id gets a new id with epoch 0 whatever it
// had before, as in Kafka.
//
// Not done: two-phase commit (v6, KIP-939), which Kafka 4.4 serves only with
// unstable.api.versions.enable; throttling.
func initProducerIDAPI() API {
	return API{Key: kmsg.InitProducerID, Min: 0, Max: 5, Class: Alone, Handle: initProducerID}
}

func initProducerID(s *Server, c *Call) {
	req := requestOf[*kmsg.InitProducerIDRequest](c)
	resp := kmsg.NewPtrInitProducerIDResponse()
	resp.ProducerEpoch = -1
	defer c.Answer.Reply(resp)
	id, epoch := int64(-1), int16(-1)
	if c.Version >= 3 {
		id, epoch = req.ProducerID, req.ProducerEpoch
	}
	if (id == -1) != (epoch == -1) {
		resp.ErrorCode = kerr.InvalidRequest.Code
		return
	}
	if req.TransactionalID != nil {
		initTransactions(s, c, req, id, epoch, resp)
		return
	}
	fresh, err := s.Broker.Catalog.ProducerID(c.Context)
	if err != nil {
		resp.ErrorCode = s.errorCode(err)
		return
	}
	resp.ProducerID, resp.ProducerEpoch = fresh, 0
}

func initTransactions(s *Server, c *Call, req *kmsg.InitProducerIDRequest, id int64, epoch int16, resp *kmsg.InitProducerIDResponse) {
	if *req.TransactionalID == "" {
		resp.ErrorCode = kerr.InvalidRequest.Code
		return
	}
	got := transact[txn.Initialized](s, c, *req.TransactionalID, txn.InitProducerID{
		TimeoutMillis: req.TransactionTimeoutMillis, ProducerID: id, ProducerEpoch: epoch,
	})
	resp.ErrorCode = fencedBefore(c, 4, got.Code)
	resp.ProducerID, resp.ProducerEpoch = got.ProducerID, got.ProducerEpoch
}
