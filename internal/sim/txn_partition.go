package sim

import (
	"errors"
	"strconv"

	"rota/internal/storage"
)

// partition is a log of data as the simulated store has it: the rules of
// storage.Log for producers and markers, told again in few words.
type partition struct {
	w       *TxnWorld
	number  int
	batches []data // one offset each
	durable int
	known   map[int64]*producerState
	guards  map[int64]*guard
	open    map[int64][]int // of what is durable: the batches of open transactions
}

// data is a batch, or a marker.
type data struct {
	producer    int64
	epoch       int16
	sequence    int32
	coordinator int32
	marker      bool
	commit      bool // of a marker
	attempt     *attempt
	visible     bool // for readers of what is committed, once it is stable
	done        []func(error)
}

// producerState is what a partition knows of a producer.
type producerState struct {
	epoch       int16
	coordinator int32
	next        int32 // sequence
	last        int   // the newest batch
	open        bool
}

type guard struct {
	number int
	epoch  int16
}

var (
	errFenced        = errors.New("producer epoch is fenced")
	errSequence      = errors.New("out of order sequence")
	errNotVerified   = errors.New("no transaction is open")
	errStorage       = errors.New("flush has failed")
	errCoordinatorOf = storage.ErrCoordinatorFenced
)

func (w *TxnWorld) newPartition(number int) *partition {
	return &partition{w: w, number: number, known: map[int64]*producerState{}, guards: map[int64]*guard{}, open: map[int64][]int{}}
}

func (p *partition) name() string { return "data-" + strconv.Itoa(p.number) }

// verification is storage.Log.Verification.
func (p *partition) verification(producer int64, epoch int16, sequence int32) (number int, needed bool, err error) {
	if p.w.spoil.verify {
		return 0, false, nil
	}
	if k := p.known[producer]; k != nil {
		switch {
		case epoch < k.epoch:
			return 0, false, errFenced
		case epoch == k.epoch && (k.open || sequence < k.next):
			return 0, false, nil
		}
	}
	g := p.guards[producer]
	if g == nil {
		p.w.guards++
		g = &guard{number: p.w.guards, epoch: epoch}
		p.guards[producer] = g
	}
	g.epoch = max(g.epoch, epoch)
	return g.number, true, nil
}

// append is storage.Log.AppendVerified.
func (p *partition) append(d data, number int, done func(error)) {
	k := p.known[d.producer]
	switch {
	case p.w.spoil.verify:
	case k != nil && d.epoch < k.epoch:
		done(errFenced)
		return
	case k != nil && d.epoch == k.epoch && d.sequence < k.next: // a duplicate
		p.w.count("duplicate produced")
		if p.durable > k.last {
			done(nil)
		} else {
			p.batches[k.last].done = append(p.batches[k.last].done, done)
		}
		return
	case k != nil && d.epoch == k.epoch && d.sequence != k.next, k != nil && d.epoch > k.epoch && d.sequence != 0:
		done(errSequence)
		return
	}
	if !p.w.spoil.verify && (k == nil || !k.open || k.epoch != d.epoch) {
		if g := p.guards[d.producer]; g == nil || g.number != number {
			done(errNotVerified)
			return
		}
	}
	d.done = append(d.done, done)
	p.push(d)
}

// mark is storage.Log.AppendMarker.
func (p *partition) mark(m storage.Marker, done func(error)) {
	if k := p.known[m.ProducerID]; k != nil {
		switch {
		case m.ProducerEpoch < k.epoch:
			done(storage.ErrInvalidProducerEpoch)
			return
		case m.CoordinatorEpoch < k.coordinator && !p.w.spoil.leads:
			done(errCoordinatorOf)
			return
		}
	}
	p.push(data{producer: m.ProducerID, epoch: m.ProducerEpoch, coordinator: m.CoordinatorEpoch, marker: true, commit: m.Commit, done: []func(error){done}})
}

func (p *partition) push(d data) {
	p.batches = append(p.batches, d)
	p.fold(len(p.batches) - 1)
	if !d.marker || !p.w.spoil.guards {
		delete(p.guards, d.producer)
	}
	p.w.mix(uint64(p.number), uint64(d.producer), uint64(d.epoch), uint64(d.sequence))
}

// fold takes batch i into what is known of its producer.
func (p *partition) fold(i int) {
	d := &p.batches[i]
	k := p.known[d.producer]
	if k == nil {
		k = &producerState{coordinator: -1}
		p.known[d.producer] = k
	}
	if k.epoch != d.epoch {
		k.epoch, k.next = d.epoch, 0
	}
	if d.marker {
		k.open, k.coordinator = false, d.coordinator
		return
	}
	k.open, k.next, k.last = true, d.sequence+1, i
}

// complete makes the oldest batch in flight durable.
func (p *partition) complete() {
	i := p.durable
	p.land()
	for _, done := range p.batches[i].done {
		p.w.later(func() { done(nil) })
	}
	p.batches[i].done = nil
}

func (p *partition) land() {
	i := p.durable
	p.durable++
	d := &p.batches[i]
	if !d.marker {
		p.w.lands(d.attempt, p.name())
		d.attempt.landed++
		p.open[d.producer] = append(p.open[d.producer], i)
		return
	}
	for _, j := range p.open[d.producer] {
		of := &p.batches[j]
		of.visible = d.commit
		if d.commit {
			of.attempt.visible++
		}
		p.w.decided(of.attempt, d.commit, p.name())
	}
	delete(p.open, d.producer)
}

// lose fails what is in flight.
func (p *partition) lose() {
	p.w.count("flush of data failed")
	lost := p.batches[p.durable:]
	p.cut(0)
	for i := range lost {
		for _, done := range lost[i].done {
			if p.w.spoil.flush {
				p.w.later(func() { done(nil) })
				continue
			}
			p.w.later(func() { done(errStorage) })
		}
	}
}

// crash keeps n of what is in flight, and tells nobody.
func (p *partition) crash(n uint64) {
	p.cut(int(n % uint64(len(p.batches)-p.durable+1)))
	clear(p.guards)
	for i := range p.batches {
		p.batches[i].done = nil
	}
}

// cut keeps keep of what is in flight, durable, and takes the rest back.
func (p *partition) cut(keep int) {
	for range keep {
		p.land()
	}
	p.batches = p.batches[:p.durable:p.durable]
	clear(p.known)
	for i := range p.batches {
		p.fold(i)
	}
}

// stable is the last stable offset.
func (p *partition) stable() int {
	stable := p.durable
	for _, open := range p.open {
		stable = min(stable, open[0])
	}
	return stable
}

// read returns the attempts that a reader of what is committed sees in offsets
// from on, and the offset at which it stands then.
func (p *partition) read(from, atMost int) (seen []*attempt, next int) {
	end := p.stable()
	for next = from; next < end && len(seen) < atMost; next++ {
		if p.batches[next].visible {
			seen = append(seen, p.batches[next].attempt)
		}
	}
	return seen, next
}
