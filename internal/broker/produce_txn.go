package broker

import (
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"rota/internal/record"
	"rota/internal/storage"
	"rota/internal/txn"
)

// Transaction is what a Produce says of the transactional batches in it. It
// gathers those that the transaction coordinator must be asked about: when all
// batches of the request have been given to Append, Verify asks.
type Transaction struct {
	// ID is the transactional id.
	ID string
	// Adds says that the request also adds its partitions to the transaction:
	// from version 12 on (KIP-890).
	Adds bool
	// Abortable says that the client knows TRANSACTION_ABORTABLE: from version
	// 11 on.
	Abortable bool
	// Patience is how long the client waits for its answer; 0: not told.
	Patience time.Duration

	asks []*verification
}

// verifications are the transactional batches that wait for the coordinator's
// word. What a producer sends to a partition behind one that waits waits too:
// batches reach the log in the order in which they came.
type verifications struct {
	mu   sync.Mutex
	open map[verificationKey]*verification
}

type verificationKey struct {
	log      *storage.Log
	producer int64
	epoch    int16
}

// verification is a question to the coordinator, and what waits for the answer.
type verification struct {
	key      verificationKey
	topic    string
	index    int32
	sequence int32 // of the first batch that waits
	guard    storage.Guard
	waiting  []waitingBatch // guarded by verifications.mu
}

type waitingBatch struct {
	batch []byte // a copy
	ack   storage.Ack
	done  func(storage.Appended)
}

// appendTransactional appends a batch, at once if its transaction is open in
// the log, else when the coordinator has agreed.
func (b *Broker) appendTransactional(log *storage.Log, topic string, h *record.Header, p *Produce, done func(storage.Appended)) {
	key := verificationKey{log, h.ProducerID, h.ProducerEpoch}
	w := waitingBatch{ack: p.Ack, done: done}
	if b.verifying.join(key, p.Batch, w) {
		return
	}
	guard, needed, err := log.Verification(h.ProducerID, h.ProducerEpoch, h.BaseSequence)
	switch {
	case err != nil:
		refuseAppend(done, err)
	case !needed || !p.Transaction.Adds && !b.Settings().Bool("transaction.partition.verification.enable"):
		log.AppendVerified(p.Batch, guard, p.Ack, done)
	default:
		v := &verification{key: key, topic: topic, index: p.Partition, sequence: h.BaseSequence, guard: guard}
		if b.verifying.begin(v, p.Batch, w) {
			p.Transaction.asks = append(p.Transaction.asks, v)
		}
	}
}

// join puts a batch behind those that wait already, and reports whether there
// are any.
func (s *verifications) join(key verificationKey, batch []byte, w waitingBatch) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.open[key]
	if v == nil {
		return false
	}
	w.batch = append([]byte(nil), batch...)
	v.waiting = append(v.waiting, w)
	return true
}

// begin makes a batch wait, and reports whether it is the first one: another
// connection may have been faster.
func (s *verifications) begin(v *verification, batch []byte, w waitingBatch) bool {
	w.batch = append([]byte(nil), batch...)
	s.mu.Lock()
	defer s.mu.Unlock()
	first := s.open[v.key] == nil
	if first {
		if s.open == nil {
			s.open = make(map[verificationKey]*verification)
		}
		s.open[v.key] = v
	}
	v = s.open[v.key]
	v.waiting = append(v.waiting, w)
	return first
}

// take takes out what waits. When that is nothing the verification is over.
func (s *verifications) take(v *verification) []waitingBatch {
	s.mu.Lock()
	defer s.mu.Unlock()
	waiting := v.waiting
	v.waiting = nil
	if len(waiting) == 0 {
		delete(s.open, v.key)
	}
	return waiting
}

// Verify asks the transaction coordinator about what Append has found to need
// its word, and appends what it agrees to. run is called with what is to be
// done then: the answer comes on a goroutine that must not be held up.
func (b *Broker) Verify(t *Transaction, run func(func())) {
	for len(t.asks) > 0 {
		first, rest := t.asks[0], []*verification(nil)
		same := []*verification{first}
		for _, v := range t.asks[1:] {
			if v.key.producer == first.key.producer && v.key.epoch == first.key.epoch {
				same = append(same, v)
			} else {
				rest = append(rest, v)
			}
		}
		t.asks = rest
		b.ask(t, same, run)
	}
}

// settleVerification appends what has waited for a verification, or refuses it.
func (b *Broker) settleVerification(v *verification, err error) {
	for {
		waiting := b.verifying.take(v)
		if len(waiting) == 0 {
			return
		}
		for i := range waiting {
			if w := &waiting[i]; err != nil {
				refuseAppend(w.done, err)
			} else {
				v.key.log.AppendVerified(w.batch, v.guard, w.ack, w.done)
			}
		}
	}
}

// ask asks about batches of one producer.
func (b *Broker) ask(t *Transaction, same []*verification, run func(func())) {
	req := txn.AddPartitions{
		ProducerID: same[0].key.producer, ProducerEpoch: same[0].key.epoch, VerifyOnly: !t.Adds, ClientVersion: txn.Version0,
		Patience: t.Patience,
	}
	if t.Adds {
		req.ClientVersion = txn.Version2
	}
	for _, v := range same {
		req.Partitions = append(req.Partitions, txn.TopicPartition{Topic: v.topic, Partition: v.index})
	}
	b.Transactions.Submit(t.ID, req, func(r txn.Response) {
		run(func() {
			added, _ := r.(txn.AddedPartitions)
			var again []*verification
			for i, v := range same {
				err := t.produceError(added.Codes[i])
				if err == nil && t.Adds && v.renew() {
					again = append(again, v)
					continue
				}
				b.settleVerification(v, err)
			}
			if len(again) > 0 {
				b.ask(t, again, run)
			}
		})
	})
}

// renew takes another guard if the one that was taken is void, and reports
// whether it has: the coordinator has let the request wait for the end of the
// transaction before, whose marker made the guard void. It must be asked again.
func (v *verification) renew() bool {
	guard, needed, err := v.key.log.Verification(v.key.producer, v.key.epoch, v.sequence)
	if err != nil || !needed || guard == v.guard {
		return false
	}
	v.guard = guard
	return true
}

func refuseAppend(done func(storage.Appended), err error) {
	done(storage.Appended{Base: -1, LogAppend: -1, Start: -1, Err: err})
}

// produceError is what a producer is told instead of an answer of the
// coordinator. What passes by itself is NOT_ENOUGH_REPLICAS: every producer
// tries again then, and does not look for another leader.
func (t *Transaction) produceError(code txn.Code) error {
	if code == 0 {
		return nil
	}
	switch err := kerr.TypedErrorForCode(int16(code)); err {
	case kerr.ProducerFenced:
		return kerr.InvalidProducerEpoch
	case kerr.TransactionAbortable, kerr.InvalidTxnState:
		if t.Abortable && err == kerr.TransactionAbortable {
			return err
		}
		return Refuse(kerr.InvalidTxnState, "The partition is not part of the transaction.")
	case kerr.ConcurrentTransactions:
		if t.Adds {
			return err
		}
		return unverified(err)
	case kerr.CoordinatorLoadInProgress, kerr.CoordinatorNotAvailable, kerr.NotCoordinator:
		return unverified(err)
	default:
		return err
	}
}

func unverified(err *kerr.Error) error {
	return Refuse(kerr.NotEnoughReplicas, "The transaction could not be verified: %s.", err.Message)
}
