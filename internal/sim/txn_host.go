package sim

import (
	"bytes"

	"rota/internal/coordinator"
	"rota/internal/group"
	"rota/internal/machine"
	"rota/internal/record"
	"rota/internal/schema"
	"rota/internal/txn"
)

// host is one partition of an internal topic: its log, and the shard that
// serves it, which is the real one.
type host[Q, R, E any] struct {
	w       *TxnWorld
	topic   string
	number  int
	batches []hosted
	durable int // how many of batches are
	serving *coordinator.Shard[Q, R, E]
	epoch   int32
	drains  bool
	away    bool
	loading bool
	refuse  bool // the next append
	open    *int // requests of this life of the shard that have no answer

	load  func(epoch int32) *coordinator.Shard[Q, R, E]
	event func(id string, e *E)
	// settled is told of each batch that becomes durable.
	settled func(b *hosted)
	deny    func(req Q, code machine.Code) R
}

// hosted is one batch of a host's log.
type hosted struct {
	seq   uint64
	base  machine.Offset
	bytes []byte
}

type (
	txnHost   = host[txn.Request, txn.Response, txn.Event]
	groupHost = host[group.Request, group.Response, group.Event]
)

func (h *host[Q, R, E]) end() machine.Offset {
	if n := len(h.batches); n > 0 {
		return record.NextOffset(h.batches[n-1].bytes)
	}
	return 0
}

// start loads the shard and makes it serve.
func (h *host[Q, R, E]) start() {
	h.w.leader++
	h.epoch = h.w.leader
	s := h.load(h.epoch)
	h.serving, h.drains, h.away, h.open = s, false, false, new(int)
	var codec record.Codec
	for i := range h.batches {
		if err := s.Replay(h.batches[i].bytes, &codec); err != nil {
			h.w.fail("load", "%s-%d cannot be read: %v", h.topic, h.number, err)
			return
		}
	}
	h.w.count("load of " + h.topic)
	h.loading = true
	h.turn(func() { s.Activate(h.end()) })
	h.loading = false
}

// turn is one turn of the shard, and those that follow from it without time
// passing.
func (h *host[Q, R, E]) turn(f func()) {
	s := h.serving
	for range 1000 {
		if s == nil || s != h.serving || s.Ended() != nil {
			return
		}
		s.Begin(h.w.now(), h.w.full)
		if f != nil {
			f()
			f = nil
		}
		for _, a := range s.Finish() {
			if s.Ended() == nil {
				h.append(s, a)
			}
		}
		h.take(s)
		if at, ok := s.Deadline(); !ok || at > h.w.mono {
			return
		}
	}
	h.w.fail("busy", "%s-%d never comes to rest", h.topic, h.number)
}

func (h *host[Q, R, E]) append(s *coordinator.Shard[Q, R, E], a coordinator.Append) {
	if h.refuse {
		h.refuse = false
		h.w.count("append refused")
		s.Appended(a.Seq, 0, errDisk)
		return
	}
	b := hosted{seq: a.Seq, base: h.end(), bytes: bytes.Clone(a.Batch)}
	record.SetBaseOffset(b.bytes, b.base)
	record.SetLeaderEpoch(b.bytes, h.epoch)
	h.w.mixBytes(b.bytes)
	h.batches = append(h.batches, b)
	s.Appended(a.Seq, b.base, nil)
}

// take does what the shard says. What it answers may call it again, but for
// that a turn of its own is queued.
func (h *host[Q, R, E]) take(s *coordinator.Shard[Q, R, E]) {
	if h.drains && s.InFlight() == 0 {
		s.Unload()
	}
	out := s.Take()
	for i := range out.Releases {
		r := out.Releases[i]
		h.w.later(func() { r.Done(r.Body) })
	}
	for i := range out.Events {
		for j := range out.Events[i].Events {
			h.event(out.Events[i].ID, &out.Events[i].Events[j])
		}
	}
	if s.Ended() != nil && h.serving == s {
		h.serving = nil
		h.land(len(h.batches) - h.durable) // before anyone reads the log
		open := h.open
		h.w.later(func() {
			if *open != 0 {
				h.w.fail("unanswered", "%s-%d has ended with %d requests unanswered", h.topic, h.number, *open)
			}
		})
	}
}

// submit runs a request, or refuses it as a broker does that does not serve
// the partition. done is called once, unless the broker crashes.
func (h *host[Q, R, E]) submit(id string, req Q, done func(R)) {
	if h.serving == nil || h.drains {
		code := machine.Code(codeMoved)
		if !h.away {
			code = machine.Code(codeLoadInProgress)
		}
		done(h.deny(req, code))
		return
	}
	answered := false
	open, s := h.open, h.serving
	*open++
	h.turn(func() {
		s.Submit(id, req, func(r R) {
			if answered {
				h.w.fail("answered twice", "%T of %s", req, id)
			}
			answered = true
			*open--
			done(r)
		})
	})
}

// land makes the oldest n batches durable, without telling the shard.
func (h *host[Q, R, E]) land(n int) {
	for range n {
		b := &h.batches[h.durable]
		h.durable++
		h.settled(b)
	}
}

// complete makes the oldest batch in flight durable and tells the shard.
func (h *host[Q, R, E]) complete() {
	seq, s := h.batches[h.durable].seq, h.serving
	h.land(1)
	if s != nil {
		h.turn(func() { s.Completed(seq, nil) })
	}
}

// lose fails what is in flight: none of it stays.
func (h *host[Q, R, E]) lose() {
	seq, s := h.batches[h.durable].seq, h.serving
	h.batches = h.batches[:h.durable]
	h.w.count("flush of " + h.topic + " failed")
	if s != nil {
		h.turn(func() { s.Completed(seq, errDisk) })
	}
}

// crash ends the host with its broker; n of what is in flight survives.
func (h *host[Q, R, E]) crash(n uint64) {
	h.land(int(n % uint64(len(h.batches)-h.durable+1)))
	h.batches = h.batches[:h.durable]
	h.serving, h.drains, h.away, h.refuse = nil, false, false, false
}

func (w *TxnWorld) newTxnHost(number int) *txnHost {
	h := &txnHost{w: w, topic: "__transaction_state", number: number, deny: txn.Refuse}
	h.load = func(epoch int32) *coordinator.Shard[txn.Request, txn.Response, txn.Event] {
		s := coordinator.NewTxnShard(coordinator.TxnShardConfig{Txn: w.config, Epoch: epoch}).Shard
		s.SetInterval(idsExpire)
		return s
	}
	h.event = func(id string, e *txn.Event) { w.heard(h, id, e) }
	h.settled = w.stateLanded
	return h
}

func (w *TxnWorld) newGroupHost(number int) *groupHost {
	h := &groupHost{w: w, topic: "__consumer_offsets", number: number, deny: group.Refuse}
	h.load = func(epoch int32) *coordinator.Shard[group.Request, group.Response, group.Event] {
		return coordinator.NewGroupShard(coordinator.GroupShardConfig{Group: group.DefaultConfig(), Epoch: epoch, ExpireInterval: offsetsExpire}).Shard
	}
	h.event = func(string, *group.Event) {}
	open := map[int64][]*attempt{}
	h.settled = func(b *hosted) { w.offsetsLanded(number, open, b) }
	return h
}

// stateLanded looks at records of transactional ids that have become durable.
func (w *TxnWorld) stateLanded(b *hosted) {
	for r, err := range w.codec.Records(b.bytes) {
		if err != nil {
			w.fail("log", "%v", err)
			return
		}
		key, _, err1 := schema.ParseTransactionKey(r.Key)
		v, err2 := schema.ParseTransactionValue(r.Value)
		if err1 != nil || err2 != nil {
			w.fail("log", "a record of a transactional id: %v, %v", err1, err2)
			return
		}
		w.count("state " + v.State.String())
		w.sawEpoch(w.logged, key.TransactionalID, v.ProducerID, v.ProducerEpoch)
	}
}

// offsetsLanded follows which attempts have committed offsets, by what stands in
// the log.
func (w *TxnWorld) offsetsLanded(number int, open map[int64][]*attempt, b *hosted) {
	h, err := record.ParseHeader(b.bytes)
	if err != nil {
		w.fail("log", "%v", err)
		return
	}
	for r, err := range w.codec.Records(b.bytes) {
		if err != nil {
			w.fail("log", "%v", err)
			return
		}
		if h.Attributes.Control() {
			m, ok, err := record.ParseMarker(r.Key, r.Value)
			if !ok || err != nil {
				w.fail("log", "a marker: %t %v", ok, err)
				return
			}
			for _, a := range open[h.ProducerID] {
				w.decided(a, m.Type == record.ControlCommit, w.offsets[number].topic)
				if m.Type == record.ControlCommit {
					a.committedOffset = true
					w.positions[a.of] = max(w.positions[a.of], a.to)
				}
			}
			delete(open, h.ProducerID)
			continue
		}
		v, err := schema.ParseOffsetValue(r.Value)
		if err != nil || !h.Attributes.Transactional() {
			w.fail("log", "an offset outside a transaction, or %v", err)
			return
		}
		a := w.attemptOf(v.Metadata)
		w.lands(a, w.offsets[number].topic)
		open[h.ProducerID] = append(open[h.ProducerID], a)
	}
	w.pending[number] = len(open)
}
