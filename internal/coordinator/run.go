package coordinator

import (
	"sync"
	"sync/atomic"
	"time"

	"rota/internal/machine"
	"rota/internal/storage"
)

// partitionLog is the log of one partition of an internal topic.
type partitionLog interface {
	Bounds() storage.Bounds
	Read(dst []byte, offset int64, o storage.ReadOptions) ([]byte, storage.ReadInfo, error)
	Watch(f func()) (stop func())
	// Hold keeps compaction from taking tombstones away.
	Hold() (release func())
	Writer(epoch int32) partitionWriter
}

// partitionWriter is the only writer of a partitionLog.
type partitionWriter interface {
	Append(batch []byte, done func(error)) (base int64, err error)
	// Writable returns why an append would be refused, or nil.
	Writable() error
}

// keepInputs is the longest queue whose memory is kept from turn to turn.
const keepInputs = 1024

// runner drives the shard of one partition. It has no goroutine of its own:
// whoever brings an input while nobody is at work runs the shard himself, one
// turn; what has gathered by then is left to a goroutine that works until
// nothing is left. So an idle shard costs its memory only, a lone request
// changes hands never, and under load requests gather into turns whose records
// share one batch.
//
// busy is the token of whoever is at work. It is taken and given back under
// mu; everything below it belongs to its holder. No lock is held while the
// shard runs.
type runner[Q, R, E any] struct {
	c *shell[Q, R, E]
	p int32

	mu    sync.Mutex
	queue []input[Q, R, E] // what has arrived
	busy  bool
	shut  bool // nothing is taken any more

	state     state
	term      atomic.Int32 // epoch, for those who do not hold the token
	epoch     int32        // of the newest leadership that this shard knows of
	shard     *Shard[Q, R, E]
	log       partitionLog
	writer    partitionWriter
	now       machine.Now      // of this turn
	inputs    []input[Q, R, E] // of this turn
	at        int              // inputs[:at] have been dealt with
	again     bool             // there is work without new inputs
	timer     *time.Timer
	wakeAt    time.Duration          // when timer runs out, 0 if it is not running
	idle      []*completion[Q, R, E] // to be used again
	landed    *completion[Q, R, E]   // being dealt with by land
	refused   []Release[R]           // answers that no shard has to do with
	passing   []*passing[Q, R, E]
	marks     []marking // that wait for the load
	trouble   trouble
	ended     bool            // gone is closed
	gone      chan struct{}   // closed when the runner has shut and is at rest
	drained   []chan struct{} // to be closed when the shard has drained
	first     bool            // the first load has ended
	loadTook  time.Duration   // of the last load
	loadPause time.Duration   // before the next one, after one that has failed
	ahead     time.Duration   // how far Advance has moved the clock
	trip      *trip           // nil unless it moves
}

// state is what a runner does with requests.
type state uint8

const (
	// loading: COORDINATOR_LOAD_IN_PROGRESS, in the form of each API.
	loading state = iota
	// active: the shard serves.
	active
	// failed: the load has failed, and may be tried again: NOT_COORDINATOR.
	failed
	// away: the partition is led elsewhere: NOT_COORDINATOR.
	away
	// draining: no new requests, NOT_COORDINATOR; appends in flight end.
	draining
	// stopped: COORDINATOR_NOT_AVAILABLE.
	stopped
)

// input is one thing that happened. It is a request, a control, or the outcome
// of an append; else a timer ran out.
type input[Q, R, E any] struct {
	asked bool // req, id and done are set
	req   Q
	id    string
	done  func(R)

	control   func(*runner[Q, R, E])
	completed *completion[Q, R, E]
	err       error // with completed
}

// completion hands the outcome of an append back to the runner. Completions
// are used again, so that an append allocates nothing.
type completion[Q, R, E any] struct {
	r     *runner[Q, R, E]
	shard *Shard[Q, R, E]
	seq   uint64
	done  func(error) // calls r.complete(c, err)
}

// origin is the leadership under which a shard said something.
type origin struct {
	partition int32
	epoch     int32
	term      *atomic.Int32 // the epoch of the newest leadership
}

// leads reports whether the leadership still is the newest.
func (o origin) leads() bool { return o.term.Load() == o.epoch }

// put brings an input and, if nobody is at work, does the work. It reports
// false if the runner takes nothing any more.
func (r *runner[Q, R, E]) put(in input[Q, R, E]) bool {
	r.mu.Lock()
	if r.shut {
		r.mu.Unlock()
		return false
	}
	r.queue = append(r.queue, in)
	if r.busy {
		r.mu.Unlock()
		return true
	}
	r.busy = true
	r.mu.Unlock()
	r.turn()
	r.rest()
	return true
}

// control runs f as an input. It reports false if the runner takes nothing any
// more.
func (r *runner[Q, R, E]) control(f func(*runner[Q, R, E])) bool {
	return r.put(input[Q, R, E]{control: f})
}

// ask runs f as an input and waits for what it returns. Errors: ErrNotServing
// if the runner takes nothing any more.
func (r *runner[Q, R, E]) ask(f func(*runner[Q, R, E]) bool) (bool, error) {
	answer := make(chan bool, 1)
	if !r.put(input[Q, R, E]{control: func(r *runner[Q, R, E]) { answer <- f(r) }}) {
		return false, ErrNotServing
	}
	return <-answer, nil
}

// complete brings the outcome of an append. It comes from the store, which may
// not be called back here: if that is all there is to do it is done at once,
// because answering does not append; everything else is left to a goroutine.
func (r *runner[Q, R, E]) complete(c *completion[Q, R, E], err error) {
	r.mu.Lock()
	if r.shut {
		r.mu.Unlock()
		return
	}
	if r.busy || err != nil || len(r.queue) > 0 {
		r.queue = append(r.queue, input[Q, R, E]{completed: c, err: err})
		start := !r.busy
		r.busy = true
		r.mu.Unlock()
		if start {
			go r.run()
		}
		return
	}
	r.busy = true
	r.mu.Unlock()
	r.land(c)
	r.rest()
}

// rest gives the token back, or to a goroutine if there is more to do.
func (r *runner[Q, R, E]) rest() {
	if !r.pause() {
		go r.run()
	}
}

// run works until there is nothing to do.
func (r *runner[Q, R, E]) run() {
	for {
		r.turn()
		if r.pause() {
			return
		}
	}
}

// pause gives the token back if there is nothing to do.
func (r *runner[Q, R, E]) pause() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.queue) > 0 || r.again {
		return false
	}
	r.busy = false
	if r.shut && !r.ended {
		r.ended = true
		close(r.gone)
	}
	return true
}

// turn deals with all that has arrived.
func (r *runner[Q, R, E]) turn() {
	r.mu.Lock()
	r.inputs, r.queue = r.queue, r.inputs[:0]
	r.mu.Unlock()
	r.at, r.again = 0, false
	r.travel()
	r.begin()
	for r.at < len(r.inputs) { // once, and once more after each panic
		r.guard((*runner[Q, R, E]).takeInputs)
	}
	r.guard((*runner[Q, R, E]).finish)
	clear(r.inputs)
	if cap(r.inputs) > keepInputs {
		r.inputs = nil
	}
	r.end()
	r.arrive()
}

// land deals with one batch that has become durable.
func (r *runner[Q, R, E]) land(c *completion[Q, R, E]) {
	r.again = false
	r.begin()
	r.landed = c
	r.guard((*runner[Q, R, E]).takeLanded)
	r.end()
}

func (r *runner[Q, R, E]) begin() {
	r.now = r.c.config.Now()
	r.now.Mono += r.ahead
	if r.shard != nil {
		r.shard.Begin(r.now, r.writer.Writable() != nil)
	}
}

// takeInputs deals with the inputs of the turn, from r.at on.
func (r *runner[Q, R, E]) takeInputs() {
	for r.at < len(r.inputs) {
		in := &r.inputs[r.at]
		r.at++
		switch {
		case in.asked:
			r.request(in)
		case in.completed != nil:
			r.outcome(in.completed, in.err)
		case in.control != nil:
			in.control(r)
		default:
			r.wakeAt = 0
		}
	}
}

func (r *runner[Q, R, E]) request(in *input[Q, R, E]) {
	if r.state == active {
		r.shard.Submit(in.id, in.req, in.done)
		return
	}
	r.refused = append(r.refused, Release[R]{Done: in.done, Body: r.c.refuse(in.req, r.state.refusal())})
}

// outcome tells the shard of an append, if it is still that shard's.
func (r *runner[Q, R, E]) outcome(c *completion[Q, R, E], err error) {
	if c.shard == r.shard && r.shard != nil {
		r.shard.Completed(c.seq, err)
	}
	c.shard = nil
	r.idle = append(r.idle, c)
}

func (r *runner[Q, R, E]) takeLanded() {
	c := r.landed
	r.landed = nil
	r.outcome(c, nil)
}

// refusal is the code of requests that arrive in a state other than active.
func (s state) refusal() machine.Code {
	switch s {
	case loading:
		return codeCoordinatorLoadInProgress
	case stopped:
		return codeCoordinatorNotAvailable
	default:
		return codeNotCoordinator
	}
}

// finish ends the shard's turn and appends what it says.
func (r *runner[Q, R, E]) finish() {
	if r.shard == nil {
		return
	}
	for _, a := range r.shard.Finish() {
		if r.shard.Ended() != nil {
			break
		}
		c := r.completion(a.Seq)
		base, err := r.writer.Append(a.Batch, c.done)
		if err != nil {
			r.idle = append(r.idle, c)
		}
		r.shard.Appended(a.Seq, base, err)
	}
}

func (r *runner[Q, R, E]) completion(seq uint64) *completion[Q, R, E] {
	var c *completion[Q, R, E]
	if n := len(r.idle); n > 0 {
		c, r.idle = r.idle[n-1], r.idle[:n-1]
	} else {
		c = &completion[Q, R, E]{r: r}
		c.done = func(err error) { r.complete(c, err) }
	}
	c.shard, c.seq = r.shard, seq
	return c
}

// end does what the shard says, sets the timer, and sees to a shard that is
// over.
func (r *runner[Q, R, E]) end() {
	release(r.refused)
	r.refused = r.refused[:0]
	if r.shard == nil {
		return
	}
	if r.state == draining && r.shard.InFlight() == 0 {
		r.unload()
	}
	out := r.shard.Take()
	release(out.Releases)
	for i := range out.Events {
		r.c.publish(origin{r.p, r.epoch, &r.term}, out.Events[i].ID, out.Events[i].Events)
	}
	clear(out.Events)
	if why := r.shard.Ended(); why != nil {
		r.over(why)
		return
	}
	r.setTimer()
}

// unload ends the shard, if there is one, come what may.
func (r *runner[Q, R, E]) unload() {
	if r.shard != nil {
		r.guard(func(r *runner[Q, R, E]) { r.shard.Unload() })
	}
}

// release sends answers.
func release[R any](answers []Release[R]) {
	for i := range answers {
		answers[i].Done(answers[i].Body)
	}
	clear(answers)
}

// setTimer makes sure that a turn comes when the shard next has work. A timer
// that runs out too early is left alone: the turn finds nothing to do.
func (r *runner[Q, R, E]) setTimer() {
	at, ok := r.shard.Deadline()
	if !ok {
		return
	}
	if at <= r.now.Mono {
		r.again = true
		return
	}
	if r.wakeAt != 0 && r.wakeAt <= at {
		return
	}
	r.wakeAt = at
	if r.timer == nil {
		r.timer = time.AfterFunc(at-r.now.Mono, func() { r.put(input[Q, R, E]{}) })
	} else {
		r.timer.Reset(at - r.now.Mono)
	}
}
