package explore

import (
	"fmt"
	"hash/maphash"
	"slices"
	"time"

	"rota/internal/group"
)

// Limits bound a search.
type Limits struct {
	Depth  int // of paths; 0: none
	States int // to be visited; 0: none
	// Over is asked now and then whether the time is over; nil: never.
	Over func() bool
	// Futures is of how many states one is followed into a future in which
	// everybody behaves; 0: of none.
	Futures int
	// Watch is told of every call on the group, if it is not nil.
	Watch func(*Call)
}

// Result is what a search has come to.
type Result struct {
	States, Steps int
	Depth         int  // to which every path was followed
	Whole         bool // there is nothing more to see
	Futures       int
	// Wrong is what a check has found, and Path the shortest way there.
	Wrong string
	Path  []action
}

func (r *Result) String() string {
	how := fmt.Sprintf("to depth %d", r.Depth)
	if r.Whole {
		how = fmt.Sprintf("all there are, none farther than %d", r.Depth)
	}
	return fmt.Sprintf("%d states (%s), %d steps, %d futures", r.States, how, r.Steps, r.Futures)
}

// node is a state on the list, by how it was reached.
type node struct {
	parent int32
	action byte
}

// search is one breadth-first search.
type search struct {
	spec    *Spec
	limits  Limits
	actions []action
	opening []action
	seed    maphash.Seed
	nodes   []node
	visited map[uint64]struct{}
	result  Result
	// trail is the path to the state that was looked at last, with the worlds
	// on it: the next state mostly lies next to it.
	trail []step
	buf   []byte
}

type step struct {
	node  int32
	world *world
}

// Explore visits the states of a world.
func Explore(spec *Spec, limits Limits) Result {
	s := &search{spec: spec, limits: limits, actions: spec.actions(), seed: maphash.MakeSeed(), visited: map[uint64]struct{}{}}
	root := newWorld(spec)
	root.watch = limits.Watch
	if spec.Formed > 0 {
		s.opening = root.opening()
	}
	s.nodes = []node{{parent: -1}}
	s.trail = []step{{0, root}}
	s.isNew(root)
	level := 0 // where the states of the present depth begin
	for depth := 0; level < len(s.nodes); depth++ {
		end := len(s.nodes)
		for i := level; i < end; i++ {
			if !s.expand(int32(i)) {
				s.result.States = len(s.nodes)
				return s.result
			}
		}
		level = end
		s.result.Depth = depth
		if limits.Depth > 0 && depth+1 >= limits.Depth {
			break
		}
	}
	s.result.States = len(s.nodes)
	s.result.Whole = level == len(s.nodes)
	return s.result
}

// expand follows every action from a state. It returns false if the search is
// over.
func (s *search) expand(n int32) bool {
	from := s.world(n)
	for _, a := range s.actions {
		if !from.can(a) {
			continue
		}
		w := from.clone()
		if !s.try(w, a) {
			continue
		}
		s.result.Steps++
		if w.wrong == "" {
			w.check()
		}
		if w.wrong != "" {
			s.violation(n, a, w.wrong)
			return false
		}
		if !s.isNew(w) {
			continue
		}
		s.nodes = append(s.nodes, node{n, a.pack()})
		if f := s.limits.Futures; f > 0 && len(s.nodes)%f == 0 {
			s.result.Futures++
			if why := w.future(); why != "" {
				s.violation(n, a, "if everybody behaves from here on: "+why)
				return false
			}
		}
	}
	if s.limits.States > 0 && len(s.nodes) >= s.limits.States {
		return false
	}
	return s.limits.Over == nil || n%256 != 0 || !s.limits.Over()
}

// try does an action; a panic of the rules is something wrong.
func (s *search) try(w *world, a action) (ok bool) {
	defer func() {
		if r := recover(); r != nil {
			w.fail("panic: %v", r)
			ok = true
		}
	}()
	return w.do(a)
}

func (s *search) isNew(w *world) bool {
	s.buf = w.digest(s.buf[:0])
	h := maphash.Bytes(s.seed, s.buf)
	if _, old := s.visited[h]; old {
		return false
	}
	s.visited[h] = struct{}{}
	return true
}

// world returns the world of a node.
func (s *search) world(n int32) *world {
	var path []int32
	for i := n; ; i = s.nodes[i].parent {
		path = append(path, i)
		if i == 0 {
			break
		}
	}
	common := 0
	for common < len(path) && common < len(s.trail) && s.trail[common].node == path[len(path)-1-common] {
		common++
	}
	s.trail = s.trail[:common]
	for i := len(path) - 1 - common; i >= 0; i-- {
		w := s.trail[len(s.trail)-1].world.clone()
		w.do(unpack(s.nodes[path[i]].action))
		s.trail = append(s.trail, step{path[i], w})
	}
	return s.trail[len(s.trail)-1].world
}

func (s *search) violation(n int32, a action, wrong string) {
	path := []action{a}
	for i := n; i > 0; i = s.nodes[i].parent {
		path = append(path, unpack(s.nodes[i].action))
	}
	slices.Reverse(path)
	s.result.Wrong, s.result.Path = wrong, append(slices.Clone(s.opening), path...)
}

// can reports whether an action may be possible: it spares the copy of a world
// for those that are not.
func (w *world) can(a action) bool {
	switch {
	case a.client != nobody:
		return w.possible(int(a.client), a.kind)
	case a.kind == durable, a.kind == fail:
		return len(w.flight) > 0
	case a.kind == reload:
		return w.loads < w.spec.Loads
	}
	return true
}

// Future bounds: within settling everybody must be in, and remain so for calm.
const (
	pace     = quantum / 2
	settling = 40 * quantum
	calm     = 8 * quantum
)

// future lets everybody behave from here on, and says what is wrong with where
// that leads.
func (w *world) future() string {
	w = w.clone()
	w.watch = nil
	began := w.mono
	var since time.Duration
	for w.mono < began+settling {
		w.durable()
		for c := range w.spec.Clients {
			w.behave(c)
			w.durable()
		}
		if w.wrong != "" {
			return w.wrong
		}
		switch {
		case !w.well():
			since = 0
		case since == 0:
			since = w.mono
		case w.mono-since >= calm:
			return ""
		}
		w.pass(pace)
	}
	return fmt.Sprintf("after %s the group is %s with %d members", settling, w.g.Summary().State, len(w.model.members))
}

// behave does what a client does that follows the protocol.
func (w *world) behave(c int) {
	for range 2 {
		k, ok := w.proper(c)
		if !ok {
			return
		}
		w.doClient(c, k)
		if k != joinNew || w.clients[c].id == "" {
			return
		}
	}
}

// proper is what a client does next that follows the protocol.
func (w *world) proper(c int) (kind, bool) {
	if w.waiting(c) != nil {
		return 0, false
	}
	switch cl := &w.clients[c]; {
	case cl.id == "":
		return joinNew, true
	case cl.stage == mustJoin:
		return joinOwn, true
	case cl.stage == mustSync:
		return syncOwn, true
	}
	return beatOwn, true
}

// opening makes the stable group that the world begins with, and returns how.
func (w *world) opening() []action {
	var path []action
	act := func(a action) {
		if w.do(a) {
			path = append(path, a)
		}
	}
	for range 20 {
		for c := range w.spec.Formed {
			for range 2 {
				if k, ok := w.proper(c); ok && (k != beatOwn || w.model.state == group.PreparingRebalance) {
					act(action{k, int8(c)})
				}
			}
			act(action{durable, nobody})
		}
		if w.in() == w.spec.Formed && w.model.state == group.Stable {
			return path
		}
		if w.model.state == group.PreparingRebalance && w.model.initial {
			act(action{tick, nobody})
		}
	}
	panic("explore: no opening of world " + w.spec.Name)
}

// in counts the clients that are members and know what they own.
func (w *world) in() int {
	n := 0
	for c := range w.spec.Clients {
		if cl := &w.clients[c]; cl.stage == member && cl.gen == w.model.gen && w.model.member(cl.id) != nil {
			n++
		}
	}
	return n
}

// well reports whether all is as it should be. A group that is full has its
// limit of members.
func (w *world) well() bool {
	want := len(w.spec.Clients)
	if w.spec.MaxSize > 0 {
		want = min(want, w.spec.MaxSize)
	}
	return w.model.state == group.Stable && w.in() == want && len(w.model.members) == want
}

// pass lets time go by, deadline by deadline.
func (w *world) pass(d time.Duration) {
	end := w.mono + d
	for w.wrong == "" {
		due, ok := w.g.Deadline()
		if !ok || due > end {
			break
		}
		w.advance(due - w.mono)
		w.durable()
	}
	if w.mono < end {
		w.mono = end
	}
}
