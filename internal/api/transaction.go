package api

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"

	"rota/internal/txn"
)

// transact asks the transaction coordinator and waits for its answer.
func transact[R txn.Response](s *Server, c *Call, id string, req txn.Request) R {
	answers := make(chan txn.Response, 1)
	s.Broker.Transactions.Submit(id, req, func(r txn.Response) { answers <- r })
	var r txn.Response
	select {
	case r = <-answers:
	case <-c.Context.Done():
		r = txn.Refuse(req, txn.Code(kerr.NotCoordinator.Code))
	}
	answer, ok := r.(R)
	if !ok {
		panic(fmt.Sprintf("api: the transaction coordinator answered with a %T", r))
	}
	return answer
}

// fencedBefore is the code as clients of an API know it that learned of
// PRODUCER_FENCED with version since (KIP-588).
func fencedBefore(c *Call, since int16, code txn.Code) int16 {
	if int16(code) == kerr.ProducerFenced.Code && c.Version < since {
		return kerr.InvalidProducerEpoch.Code
	}
	return int16(code)
}

// clientVersion is the level of transaction.version that a client is at whose
// request has it from version since on.
func clientVersion(c *Call, since int16) int16 {
	if c.Version >= since {
		return txn.Version2
	}
	return txn.Version0
}
