package coordinator

import (
	"encoding/binary"

	"rota/internal/machine"
	"rota/internal/record"
)

// coalesceLimit bounds the records of several steps that share one batch of
// the log, in bytes. A step's own batch may be larger: it is never split.
const coalesceLimit = 256 << 10

// keepBuffer is the largest buffer that is kept from turn to turn.
const keepBuffer = 1 << 20

// Append is a batch that the shell must append.
type Append struct {
	Seq  uint64         // names the batch in Appended and Completed
	Base machine.Offset // the offset that its first record must get
	// Batch is the encoded batch, valid until the next turn begins.
	Batch []byte
}

// held is a reply that waits for a batch.
type held[Q, R, E any] struct {
	entry *entry[Q, R, E]
	reply machine.Reply[R]
}

// batch is one batch of the log between its first record and its durability,
// with all that waits for it.
type batch[Q, R, E any] struct {
	seq     uint64
	base    machine.Offset
	durable bool
	replies []held[Q, R, E]
	events  []Published[E]
	leaving []*entry[Q, R, E]
	marks   []func(error) // of the marker that the batch is
}

// flight is the end of the log as the shard sees it: the batches that are not
// durable yet, oldest first, the last of them perhaps still open. The records
// of all steps of a turn go into one batch, so that they share its cost.
type flight[Q, R, E any] struct {
	next    machine.Offset    // offset of the next record
	seq     uint64            // of the newest batch
	batches []*batch[Q, R, E] // batches[head:] are in flight
	head    int
	open    bool // the newest batch takes more records
	builder record.Builder
	start   int    // where the open batch begins in buf
	buf     []byte // the batches of this turn
	appends []Append
	free    []*batch[Q, R, E]
}

func (f *flight[Q, R, E]) len() int { return len(f.batches) - f.head }

// find returns the batch if it is in flight, else nil.
func (f *flight[Q, R, E]) find(seq uint64) *batch[Q, R, E] {
	if f.len() == 0 || seq < f.batches[f.head].seq {
		return nil
	}
	return f.batches[f.head+int(seq-f.batches[f.head].seq)]
}

// add puts one batch of a machine, which is atomic, into the open batch of the
// log or, if it does not go there, into a new one.
func (f *flight[Q, R, E]) add(wall int64, mb *machine.Batch) *batch[Q, R, E] {
	if len(mb.Records) == 0 {
		panic("coordinator: a batch without records")
	}
	transactional := mb.ProducerID >= 0
	size := 0
	for i := range mb.Records {
		size += len(mb.Records[i].Key) + len(mb.Records[i].Value)
	}
	if f.open && (transactional || f.builder.Size()+size > coalesceLimit) {
		f.close()
	}
	if !f.open {
		f.begin()
	}
	for i := range mb.Records {
		r := &mb.Records[i]
		if r.Since != nil {
			f.builder.Append(wall, r.Key, r.Value, record.Field{Key: machine.EpochHeader, Value: binary.BigEndian.AppendUint32(nil, uint32(*r.Since))})
			continue
		}
		f.builder.Append(wall, r.Key, r.Value)
	}
	f.next += machine.Offset(len(mb.Records))
	b := f.batches[len(f.batches)-1]
	if transactional {
		f.builder.SetProducer(mb.ProducerID, mb.ProducerEpoch, 0)
		f.builder.SetTransactional()
		f.close()
	}
	return b
}

func (f *flight[Q, R, E]) begin() {
	var b *batch[Q, R, E]
	if n := len(f.free); n > 0 {
		b, f.free = f.free[n-1], f.free[:n-1]
	} else {
		b = new(batch[Q, R, E])
	}
	f.seq++
	b.seq, b.base = f.seq, f.next
	f.batches = append(f.batches, b)
	f.open = true
	f.start = len(f.buf)
	f.builder.Reset(f.buf)
}

// close ends the open batch, if there is one, and hands it to the shell.
func (f *flight[Q, R, E]) close() {
	if !f.open {
		return
	}
	f.open = false
	f.buf = f.builder.Finish()
	b := f.batches[len(f.batches)-1]
	f.appends = append(f.appends, Append{Seq: b.seq, Base: b.base, Batch: f.buf[f.start:]})
}

// takeAppends returns what has been closed since the last call.
func (f *flight[Q, R, E]) takeAppends() []Append {
	a := f.appends
	f.appends = f.appends[:0]
	f.buf = f.buf[:0]
	if cap(f.buf) > keepBuffer {
		f.buf = nil
	}
	return a
}

// abandon forgets the batches that have not been handed to the shell.
func (f *flight[Q, R, E]) abandon() {
	f.open = false
	clear(f.appends)
	f.appends = f.appends[:0]
}

// pop takes out the oldest batch.
func (f *flight[Q, R, E]) pop() *batch[Q, R, E] {
	b := f.batches[f.head]
	f.batches[f.head] = nil
	f.head++
	if f.head == len(f.batches) {
		f.batches, f.head = f.batches[:0], 0
	} else if f.head > 64 && f.head > len(f.batches)/2 {
		n := copy(f.batches, f.batches[f.head:])
		clear(f.batches[n:])
		f.batches, f.head = f.batches[:n], 0
	}
	return b
}

// recycle keeps the memory of a batch that nothing refers to any more.
func (f *flight[Q, R, E]) recycle(b *batch[Q, R, E]) {
	const enough = 8
	if len(f.free) >= enough {
		return
	}
	clear(b.replies)
	clear(b.events)
	clear(b.leaving)
	clear(b.marks)
	*b = batch[Q, R, E]{replies: b.replies[:0], events: b.events[:0], leaving: b.leaving[:0], marks: b.marks[:0]}
	f.free = append(f.free, b)
}

// Appended says where the log put a batch, or that it refused it. A shard
// that finds itself elsewhere than it thought is over: another writer has been
// at the log, and offsets that the machines have noted are wrong.
func (s *Shard[Q, R, E]) Appended(seq uint64, base machine.Offset, err error) {
	b := s.flight.find(seq)
	switch {
	case s.ended != nil || b == nil:
	case err != nil:
		s.end(&AppendError{Offset: b.base, Err: err})
	case base != b.base:
		s.end(&OffsetError{Want: b.base, Got: base})
	}
}

// Completed says that a batch is durable, or that it failed. What waits for
// it leaves once every earlier batch is durable too.
func (s *Shard[Q, R, E]) Completed(seq uint64, err error) {
	b := s.flight.find(seq)
	if s.ended != nil || b == nil {
		return
	}
	if err != nil {
		s.end(&AppendError{Offset: b.base, Err: err})
		return
	}
	b.durable = true
	for s.flight.len() > 0 && s.flight.batches[s.flight.head].durable {
		s.land(s.flight.pop())
	}
}

// land lets go what waited for a batch that is durable now.
func (s *Shard[Q, R, E]) land(b *batch[Q, R, E]) {
	for _, h := range b.replies {
		s.answer(h.reply.Ticket, h.reply.Body)
		if h.reply.Session {
			s.running = running[Q, R, E]{entry: h.entry, what: "released"}
			h.entry.m.Released(s.now, h.reply.Ticket)
			s.keep(h.entry)
		}
	}
	s.running = running[Q, R, E]{}
	for _, done := range b.marks {
		s.tell(done, nil)
	}
	s.out.Events = append(s.out.Events, b.events...)
	for _, e := range b.leaving {
		if e.leaving == b.seq {
			e.leaving = 0
			s.keep(e)
		}
	}
	s.flight.recycle(b)
}
