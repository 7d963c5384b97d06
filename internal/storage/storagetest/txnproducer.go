package storagetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"

	"rota/internal/record"
	"rota/internal/storage"
)

// book is what a workload knows of its transactions, by their numbers.
type book interface {
	// begin opens a transaction.
	begin() int
	// batch makes a batch of a transaction. acked must be called with its offset
	// when it is durable.
	batch(txn int, id int64, epoch int16) (batch []byte, acked func(base int64))
	// ending notes, before the marker is appended, how a transaction will end;
	// ended that the marker is durable.
	ending(txn int, commit bool)
	ended(txn int)
}

// txnProducer is a transactional producer of one log with its coordinator. As
// in KIP-890 each transaction ends with a marker of the next epoch. A batch that
// fails makes it abort; a marker is repeated until it is durable. It outlives
// the store, as both would.
type txnProducer struct {
	id   int64
	book book

	mu       sync.Mutex
	log      *storage.Log
	life     *life
	epoch    int16
	sequence int32
	txn      int // -1: none
	waiting  int // batches on their way
	failed   bool
	decided  bool // the marker is due
	commit   bool
	marking  bool // and on its way
	problem  error
}

func newTxnProducer(id int64, b book) *txnProducer { return &txnProducer{id: id, book: b, txn: -1} }

// clone is a producer that goes its own way, with another book.
func (x *txnProducer) clone(b book) *txnProducer {
	x.mu.Lock()
	defer x.mu.Unlock()
	return &txnProducer{
		id: x.id, book: b, log: x.log, life: x.life, epoch: x.epoch, sequence: x.sequence, txn: x.txn, waiting: x.waiting,
		failed: x.failed, decided: x.decided, commit: x.commit, marking: x.marking,
	}
}

// use begins a new life with another log: what was on its way is lost.
func (x *txnProducer) use(l *storage.Log, life *life) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.log, x.life = l, life
	x.failed = x.failed || x.waiting > 0
	x.waiting, x.marking = 0, false
}

// step does something that a producer may do now.
func (x *txnProducer) step(r *rand.Rand) {
	x.mu.Lock()
	idle, decided := x.txn < 0, x.decided
	x.mu.Unlock()
	switch n := r.IntN(4); {
	case decided:
		x.mark()
	case idle || n < 2:
		x.send()
	default:
		x.end(n == 2)
	}
}

// send appends a batch, in a new transaction if none is open.
func (x *txnProducer) send() {
	x.mu.Lock()
	if x.decided {
		x.mu.Unlock()
		return
	}
	if x.txn < 0 {
		x.txn = x.book.begin()
	}
	log, life := x.log, x.life
	batch, acked := x.book.batch(x.txn, x.id, x.epoch)
	h, err := record.ParseHeader(batch)
	if err != nil {
		panic(err)
	}
	sequence := x.sequence
	x.sequence += h.Count
	x.waiting++
	x.mu.Unlock()
	batch = resequence(batch, &h, sequence)
	heard := func(a storage.Appended) {
		life.during(func() {
			x.mu.Lock()
			defer x.mu.Unlock()
			x.waiting--
			if a.Err != nil {
				x.failed, x.problem = true, a.Err
				return
			}
			acked(a.Base)
		})
	}
	g, _, err := log.Verification(x.id, h.ProducerEpoch, sequence)
	if err != nil {
		heard(storage.Appended{Err: err})
		return
	}
	log.AppendVerified(batch, g, storage.DurableAck, heard)
}

// resequence gives a batch that has been made its sequence.
func resequence(batch []byte, h *record.Header, sequence int32) []byte {
	var b record.Builder
	b.Reset(nil)
	b.SetProducer(h.ProducerID, h.ProducerEpoch, sequence)
	b.SetTransactional()
	for r, err := range new(record.Codec).Records(batch) {
		if err != nil {
			panic(err)
		}
		b.Append(r.Timestamp, r.Key, r.Value)
	}
	out, err := b.FinishCompressed(h.Attributes.Compression(), 0, new(record.Codec))
	if err != nil {
		panic(err)
	}
	return out
}

// end decides on the transaction that is open: one of which something failed or
// is on its way aborts.
func (x *txnProducer) end(commit bool) {
	x.mu.Lock()
	if x.txn < 0 || x.decided {
		x.mu.Unlock()
		return
	}
	x.decided, x.commit = true, commit && !x.failed && x.waiting == 0
	x.book.ending(x.txn, x.commit)
	x.mu.Unlock()
	x.mark()
}

// mark appends the marker that is due.
func (x *txnProducer) mark() {
	x.mu.Lock()
	if !x.decided || x.marking {
		x.mu.Unlock()
		return
	}
	x.marking = true
	log, life := x.log, x.life
	m := storage.Marker{ProducerID: x.id, ProducerEpoch: x.epoch + 1, CoordinatorEpoch: 3, Commit: x.commit}
	x.mu.Unlock()
	log.AppendMarker(m, func(err error) {
		life.during(func() {
			x.mu.Lock()
			defer x.mu.Unlock()
			x.marking = false
			if err != nil {
				x.problem = err
				if errors.Is(err, storage.ErrInvalidProducerEpoch) || errors.Is(err, storage.ErrCoordinatorFenced) {
					panic(fmt.Sprintf("marker of producer %d epoch %d: %v", x.id, m.ProducerEpoch, err))
				}
				return
			}
			x.book.ended(x.txn)
			x.txn, x.decided, x.failed = -1, false, false
			x.epoch++
			x.sequence = 0
		})
	})
}

// finish moves on what may move: a transaction in which nothing is on its way
// ends. It reports whether there is none.
func (x *txnProducer) finish() bool {
	x.mu.Lock()
	idle, waiting := x.txn < 0, x.waiting
	x.mu.Unlock()
	if !idle && waiting == 0 {
		x.end(true)
		x.mark()
	}
	return idle
}
