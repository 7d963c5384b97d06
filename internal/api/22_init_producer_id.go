package api

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// InitProducerID (key 22), versions 0-5: gives an idempotent producer an id
// that nobody had before (KIP-98).
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
// Not done: transactional ids are refused with
// TRANSACTIONAL_ID_AUTHORIZATION_FAILED; throttling.
func initProducerIDAPI() API {
	return API{Key: kmsg.InitProducerID, Min: 0, Max: 5, Class: Alone, Handle: initProducerID}
}

func initProducerID(s *Server, c *Call) {
	req := requestOf[*kmsg.InitProducerIDRequest](c)
	resp := kmsg.NewPtrInitProducerIDResponse()
	resp.ProducerEpoch = -1
	defer c.Answer.Reply(resp)
	if req.TransactionalID != nil {
		resp.ErrorCode = kerr.TransactionalIDAuthorizationFailed.Code
		if *req.TransactionalID == "" {
			resp.ErrorCode = kerr.InvalidRequest.Code
		}
		return
	}
	id, err := s.Broker.Catalog.ProducerID(c.Context)
	if err != nil {
		resp.ErrorCode = s.errorCode(err)
		return
	}
	resp.ProducerID, resp.ProducerEpoch = id, 0
}
