package coordinator

import (
	"bytes"
	"fmt"
	"strings"

	"rota/internal/machine"
	"rota/internal/schema"
	"rota/internal/txn"
)

// TxnMachine is a Machine of the kind that *txn.Producer is.
type TxnMachine = Machine[txn.Request, txn.Response, txn.Event]

var _ TxnMachine = (*txn.Producer)(nil)

// TxnShardConfig says what a TxnShard runs on.
type TxnShardConfig struct {
	Txn   txn.Config
	Epoch int32 // the shard's leader epoch
}

// TxnShard is a Shard of transactional ids, the records of a partition of
// __transaction_state.
type TxnShard struct {
	*Shard[txn.Request, txn.Response, txn.Event]
}

// NewTxnShard makes a shard that waits for Replay.
func NewTxnShard(c TxnShardConfig) *TxnShard {
	return &TxnShard{NewShard(ShardConfig[txn.Request, txn.Response, txn.Event]{Kind: &txnKind{config: c.Txn}, Epoch: c.Epoch})}
}

// txnSummaries describes every transactional id, in no particular order.
func txnSummaries(s *Shard[txn.Request, txn.Response, txn.Event]) []txn.Summary {
	list := make([]txn.Summary, 0, len(s.order))
	for _, e := range s.order {
		if m, ok := e.m.(*txn.Producer); ok {
			if summary, exists := m.Summary(); exists {
				list = append(list, summary)
			}
		}
	}
	return list
}

// txnKind is the Kind of transactional ids.
type txnKind struct {
	config txn.Config // read by the machines at every call
}

func (k *txnKind) New(id string) TxnMachine { return txn.New(id, &k.config) }

func (*txnKind) Owner(e *machine.Entry) (id string, unknown *int16, err error) {
	key, unknown, err := schema.ParseTransactionKey(e.Key)
	return key.TransactionalID, unknown, err
}

// Loaded does nothing: there is nothing to give back.
func (*txnKind) Loaded() {}

func (*txnKind) Refuse(req txn.Request, code machine.Code) txn.Response { return txn.Refuse(req, code) }

// MayWrite is false for requests that only read.
func (*txnKind) MayWrite(req txn.Request) bool {
	switch r := req.(type) {
	case txn.Describe:
		return false
	case txn.AddPartitions:
		return !r.VerifyOnly
	case txn.AddOffsets:
		return !r.VerifyOnly
	}
	return true
}

func (*txnKind) Expire() txn.Request { return txn.Expire{} }

func (*txnKind) Lost(n int) txn.Event { return txn.Event{Kind: txn.EventsLost, Count: n} }

// txnCrash is the file of a panic in a transactional id: the state as comments,
// then what the log holds, then the last requests in the order of their time.
func txnCrash(c *Crash[txn.Request, txn.Response, txn.Event], p *panicked, state []byte) (head, tail []byte) {
	var b bytes.Buffer
	comment(&b, fmt.Sprintf("panic in %s of transactional id %q: %v\n%s", c.What, c.ID, p.value, p.stack))
	comment(&b, "\nThe transactional id:\n"+string(state))
	head = bytes.Clone(b.Bytes())
	b.Reset()
	for _, call := range c.Calls {
		if call.tick {
			fmt.Fprintf(&b, "at %s tick\n", call.now.Mono)
			continue
		}
		name := strings.TrimPrefix(fmt.Sprintf("%T", call.req), "txn.")
		fmt.Fprintf(&b, "at %s %s %+v\n", call.now.Mono, name, call.req)
	}
	return head, b.Bytes()
}
