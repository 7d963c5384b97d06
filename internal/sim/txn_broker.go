package sim

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"

	"rota/internal/coordinator"
	"rota/internal/group"
	"rota/internal/storage"
	"rota/internal/txn"
)

// The codes that the broker answers with, and that movers tell apart.
var (
	codeMoved           = kerr.NotCoordinator.Code
	codeLoadInProgress  = kerr.CoordinatorLoadInProgress.Code
	codeStorage         = kerr.KafkaStorageError.Code
	codeInvalidEpoch    = kerr.InvalidProducerEpoch.Code
	codeInvalidTxnState = kerr.InvalidTxnState.Code
	codeSequence        = kerr.OutOfOrderSequenceNumber.Code
)

// txnCall is a request of a mover on its way through the broker.
type txnCall struct {
	m        *txnMover
	what     verb
	a        *attempt
	part     int
	sequence int32
	producer int64
	epoch    int16
	commit   bool
	before   int // the position when it was asked for
	sent     int64

	taken   bool // the broker has read it
	lost    bool // nobody waits for the answer any more
	ready   bool // the answer is on its way
	code    int16
	newID   int64
	newEp   int16
	offset  int64
	retries int
}

// verb is what a mover asks for.
type verb uint8

const (
	verbInit verb = iota
	verbPosition
	verbAdd
	verbProduce
	verbAddOffsets
	verbCommitOffsets
	verbEnd
)

var verbNames = [...]string{"init", "position", "add partitions", "produce", "add offsets", "commit offsets", "end"}

// answer brings the answer of a call on its way.
func (w *TxnWorld) answer(c *txnCall, code int16) {
	if c.ready {
		w.fail("answered twice", "%s of mover %d", verbNames[c.what], c.m.number)
		return
	}
	c.ready, c.code = true, code
	w.stats.Answers[verbNames[c.what]+" "+codeText(code)]++
	w.mix(uint64(c.what), uint64(uint16(code)), uint64(c.m.number))
	w.trace("%s answers %s to %s: producer %d epoch %d", c.m, verbNames[c.what], codeText(code), c.newID, c.newEp)
}

// bodyOf is an answer of the type that belongs to its request.
func bodyOf[T any](r any) T {
	body, ok := r.(T)
	if !ok {
		panic(fmt.Sprintf("sim: %T answers another request", r))
	}
	return body
}

func codeText(code int16) string {
	if code == 0 {
		return "ok"
	}
	if e := kerr.TypedErrorForCode(code); e != nil {
		return e.Message
	}
	return "?"
}

// serve runs a request.
func (w *TxnWorld) serve(c *txnCall) {
	c.taken = true
	id, state := idName(c.m.id), w.stateOf(c.m.id)
	w.trace("%s: %s part %d sequence %d producer %d epoch %d commit %t", c.m, verbNames[c.what], c.part, c.sequence, c.producer, c.epoch, c.commit)
	switch c.what {
	case verbInit:
		state.submit(id, txn.InitProducerID{
			TimeoutMillis: int32(txnTimeout.Milliseconds()), ProducerID: c.producer, ProducerEpoch: c.epoch, NewProducerID: w.newID(),
		}, func(r txn.Response) { w.initialized(c, bodyOf[txn.Initialized](r)) })
	case verbPosition:
		c.before = w.positions[c.m.id]
		tp := group.TopicPartition{Topic: "input", Partition: int32(c.m.id)}
		w.offsetsOf(c.m.id).submit(groupName(c.m.id), group.FetchOffsets{Partitions: []group.TopicPartition{tp}, RequireStable: true}, func(r group.Response) {
			w.positioned(c, bodyOf[group.FetchedOffsets](r))
		})
	case verbAdd:
		var list []txn.TopicPartition
		for _, part := range c.a.parts {
			list = append(list, dataPartition(part))
		}
		state.submit(id, txn.AddPartitions{ProducerID: c.producer, ProducerEpoch: c.epoch, Partitions: list}, func(r txn.Response) {
			w.answer(c, int16(bodyOf[txn.AddedPartitions](r).Code))
		})
	case verbProduce:
		w.produce(c)
	case verbAddOffsets:
		state.submit(id, txn.AddOffsets{ProducerID: c.producer, ProducerEpoch: c.epoch, Partition: int32(w.offsetsOf(c.m.id).number)}, func(r txn.Response) {
			w.answer(c, int16(bodyOf[txn.AddedOffsets](r).Code))
		})
	case verbCommitOffsets:
		w.commitOffsets(c)
	case verbEnd:
		req := txn.End{ProducerID: c.producer, ProducerEpoch: c.epoch, Commit: c.commit, ClientVersion: c.m.version(), NewProducerID: -1}
		if txn.IsExhausted(c.epoch) {
			req.NewProducerID = w.newID()
		}
		state.submit(id, req, func(r txn.Response) {
			e := bodyOf[txn.Ended](r)
			if c.newID, c.newEp = e.ProducerID, e.ProducerEpoch; e.Code == 0 && c.m.newer {
				w.sawEpoch(w.told, id, e.ProducerID, e.ProducerEpoch)
			}
			w.answer(c, int16(e.Code))
		})
	}
}

func dataPartition(n int) txn.TopicPartition {
	return txn.TopicPartition{Topic: "data", Partition: int32(n)}
}

func (w *TxnWorld) newID() int64 {
	w.producers++
	return w.producers
}

// initialized fences everybody who had the id before.
func (w *TxnWorld) initialized(c *txnCall, r txn.Initialized) {
	if r.Code == 0 {
		w.sawEpoch(w.told, idName(c.m.id), r.ProducerID, r.ProducerEpoch)
		for _, a := range w.attempts {
			if a.of == c.m.id && a.outcome == undecided {
				a.fenced = true
			}
		}
	}
	c.newID, c.newEp = r.ProducerID, r.ProducerEpoch
	w.answer(c, int16(r.Code))
}

func (w *TxnWorld) positioned(c *txnCall, r group.FetchedOffsets) {
	code := r.Code
	if code == 0 {
		code, c.offset = r.Offsets[0].Code, max(r.Offsets[0].Offset, 0)
		if w.spoil.offset {
			c.offset = 0
		}
		if now := w.positions[c.m.id]; code == 0 && (c.offset < int64(c.before) || c.offset > int64(now)) {
			w.fail("position", "%s is told %d; it was %d when it asked and is %d", c.m, c.offset, c.before, now)
		}
	}
	w.answer(c, int16(code))
}

// produce goes the way of broker.appendTransactional.
func (w *TxnWorld) produce(c *txnCall) {
	p := w.partitions[c.part]
	number, needed, err := p.verification(c.producer, c.epoch, c.sequence)
	d := data{producer: c.producer, epoch: c.epoch, sequence: c.sequence, attempt: c.a}
	switch {
	case err != nil:
		w.answer(c, produceCode(err))
	case !needed:
		p.append(d, number, func(err error) { w.answer(c, produceCode(err)) })
	default:
		w.stateOf(c.m.id).submit(idName(c.m.id), txn.AddPartitions{
			ProducerID: c.producer, ProducerEpoch: c.epoch, Partitions: []txn.TopicPartition{dataPartition(c.part)},
			VerifyOnly: !c.m.newer, ClientVersion: c.m.version(),
		}, func(r txn.Response) {
			added := bodyOf[txn.AddedPartitions](r)
			code := int16(added.Code)
			if code == 0 {
				code = int16(added.Codes[0])
			}
			if code != 0 {
				w.answer(c, epochCode(code))
				return
			}
			w.hop(func() { w.appendVerified(c, p, d, number) })
		})
	}
}

// hop is the way from the coordinator to a log, on which much may happen.
func (w *TxnWorld) hop(f func()) {
	if !w.calm && w.r.oneIn(5) {
		w.slow = append(w.slow, f)
	} else {
		w.hops = append(w.hops, f)
	}
}

func (w *TxnWorld) appendVerified(c *txnCall, p *partition, d data, number int) {
	p.append(d, number, func(err error) {
		if c.retries++; errors.Is(err, errNotVerified) && c.m.newer && c.retries < 10 {
			w.count("guard void, asked again")
			w.produce(c)
			return
		}
		w.answer(c, produceCode(err))
	})
}

func produceCode(err error) int16 {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errFenced):
		return codeInvalidEpoch
	case errors.Is(err, errSequence):
		return codeSequence
	case errors.Is(err, errNotVerified):
		return codeInvalidTxnState
	}
	return codeStorage
}

// epochCode is what producers and consumers are told instead of PRODUCER_FENCED.
func epochCode(code int16) int16 {
	if code == kerr.ProducerFenced.Code {
		return codeInvalidEpoch
	}
	return code
}

// permit is coordinator.Permit.
type permit struct {
	host     int
	producer int64
	void     bool
}

// commitOffsets goes the way of api.commitInTransaction.
func (w *TxnWorld) commitOffsets(c *txnCall) {
	h := w.offsetsOf(c.m.id)
	p := &permit{host: h.number, producer: c.producer}
	w.permits = append(w.permits, p)
	w.stateOf(c.m.id).submit(idName(c.m.id), txn.AddOffsets{
		ProducerID: c.producer, ProducerEpoch: c.epoch, Partition: int32(h.number), VerifyOnly: !c.m.newer, ClientVersion: c.m.version(),
	}, func(r txn.Response) {
		code := int16(bodyOf[txn.AddedOffsets](r).Code)
		if code != 0 {
			w.answer(c, epochCode(code))
			return
		}
		w.hop(func() { w.commitPermitted(c, h, p) })
	})
}

func (w *TxnWorld) commitPermitted(c *txnCall, h *groupHost, p *permit) {
	switch c.retries++; {
	case p.void && c.m.newer && c.retries < 10:
		w.count("permit void, asked again")
		w.commitOffsets(c)
	case p.void:
		w.answer(c, codeInvalidTxnState)
	default:
		commit := group.TxnCommit{
			Version: 5, TransactionalID: idName(c.m.id), ProducerID: c.producer, ProducerEpoch: c.epoch, Generation: -1,
			Offsets: []group.CommitOffset{{
				TopicPartition: group.TopicPartition{Topic: "input", Partition: int32(c.m.id)},
				Offset:         int64(c.a.to), LeaderEpoch: -1, Metadata: c.a.name(), Timestamp: -1,
			}},
		}
		h.submit(groupName(c.m.id), commit, func(r group.Response) { w.answer(c, epochCode(int16(bodyOf[group.Committed](r).Codes[0]))) })
	}
}

type txnShard = coordinator.Shard[txn.Request, txn.Response, txn.Event]

// marking is a marker that a partition is to get.
type marking struct {
	from     *txnHost
	life     *txnShard
	tp       txn.TopicPartition
	m        storage.Marker
	delivery *delivery
	slow     bool
}

// delivery is all markers of one transaction.
type delivery struct {
	id       string
	decision int64
	left     int
}

// heard does what a transactional id asks for.
func (w *TxnWorld) heard(h *txnHost, id string, e *txn.Event) {
	w.count("event " + e.Kind.String())
	switch e.Kind {
	case txn.WriteMarkers:
		if w.spoil.loads && h.loading {
			return
		}
		w.trace("markers of %s: producer %d epoch %d commit %t to %v", id, e.ProducerID, e.ProducerEpoch, e.Commit, e.Partitions)
		d := &delivery{id: id, decision: e.Decision, left: len(e.Partitions)}
		for _, tp := range e.Partitions {
			m := storage.Marker{ProducerID: e.ProducerID, ProducerEpoch: e.ProducerEpoch, CoordinatorEpoch: h.epoch, Commit: e.Commit}
			m.Commit = m.Commit != (w.spoil.outcome && w.r.oneIn(50))
			w.markers = append(w.markers, &marking{h, h.serving, tp, m, d, w.r.oneIn(6)})
		}
	case txn.NeedProducerID:
		life := h.serving
		w.later(func() { w.supply(h, life, id) })
	case txn.Fenced, txn.TimedOut, txn.Expired, txn.EventsLost:
	}
}

// supply brings the producer id that a transactional id needs, until it is taken.
func (w *TxnWorld) supply(h *txnHost, life *txnShard, id string) {
	if h.serving != life {
		return
	}
	h.submit(id, txn.SupplyProducerID{ProducerID: w.newID()}, func(r txn.Response) {
		if bodyOf[txn.Supplied](r).Code != 0 {
			w.count("producer id brought again")
			w.again = append(w.again, func() { w.supply(h, life, id) })
		}
	})
}

// written says that all markers of a transaction are durable, until that is taken.
func (w *TxnWorld) written(k *marking) {
	if k.from.serving != k.life {
		return
	}
	k.from.submit(k.delivery.id, txn.MarkersWritten{Decision: k.delivery.decision}, func(r txn.Response) {
		if bodyOf[txn.Completed](r).Code != 0 && !w.spoil.reports {
			w.count("report of markers brought again")
			w.again = append(w.again, func() { w.written(k) })
		}
	})
}

// markSomething sends one of the markers, or what the shell tries again.
func (w *TxnWorld) markSomething() {
	if len(w.again) > 0 && w.r.oneIn(2) {
		f := w.again[0]
		w.again = w.again[1:]
		f()
		return
	}
	if len(w.markers) == 0 {
		return
	}
	i := w.r.below(len(w.markers))
	k := w.markers[i]
	if k.slow && !w.calm && !w.r.oneIn(20) {
		return
	}
	w.markers = append(w.markers[:i:i], w.markers[i+1:]...)
	if k.from.serving != k.life && !w.spoil.leads {
		w.count("marker given up by a coordinator that has moved")
		return
	}
	done := func(err error) {
		switch {
		case errors.Is(err, storage.ErrCoordinatorFenced):
			w.count("marker of an older coordinator refused")
		case err == nil, errors.Is(err, storage.ErrInvalidProducerEpoch):
			if k.delivery.left--; k.delivery.left == 0 {
				w.written(k)
			}
		default:
			w.count("marker tried again")
			w.markers = append(w.markers, k)
		}
	}
	if k.tp.Topic == "data" {
		w.partitions[k.tp.Partition].mark(k.m, done)
		return
	}
	h := w.offsets[k.tp.Partition]
	kept := w.permits[:0:0]
	for _, p := range w.permits {
		if p.host == h.number && p.producer == k.m.ProducerID {
			p.void = !w.spoil.permits
		} else {
			kept = append(kept, p)
		}
	}
	w.permits = kept
	if s := h.serving; s == nil || h.drains {
		done(coordinator.ErrNotServing)
	} else {
		h.turn(func() { s.EndTransaction(k.m, done) })
	}
}
