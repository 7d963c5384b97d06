package coordinator

import "time"

// dueHeap orders the machines that have a deadline, the earliest first. Each
// entry knows its place, so that a change costs a walk up or down, and machines
// without a deadline cost nothing.
type dueHeap[Q, R, E any] struct {
	entries []*entry[Q, R, E]
}

// nowhere is the place of an entry that is not in the heap.
const nowhere = -1

// first returns the machine that is due next, or nil.
func (h *dueHeap[Q, R, E]) first() *entry[Q, R, E] {
	if len(h.entries) == 0 {
		return nil
	}
	return h.entries[0]
}

// set makes at the deadline of e.
func (h *dueHeap[Q, R, E]) set(e *entry[Q, R, E], at time.Duration) {
	if e.place == nowhere {
		e.place = len(h.entries)
		h.entries = append(h.entries, e)
	} else if e.due == at {
		return
	}
	e.due = at
	h.up(e.place)
	h.down(e.place)
}

// clear takes e out of the heap.
func (h *dueHeap[Q, R, E]) clear(e *entry[Q, R, E]) {
	i := e.place
	if i == nowhere {
		return
	}
	last := len(h.entries) - 1
	h.put(i, h.entries[last])
	h.entries[last] = nil
	h.entries = h.entries[:last]
	e.place = nowhere
	if i < last {
		h.up(i)
		h.down(h.entries[i].place)
	}
}

// before breaks ties by age, so that the order never depends on chance.
func before[Q, R, E any](a, b *entry[Q, R, E]) bool {
	return a.due < b.due || a.due == b.due && a.number < b.number
}

func (h *dueHeap[Q, R, E]) put(i int, e *entry[Q, R, E]) {
	h.entries[i] = e
	e.place = i
}

func (h *dueHeap[Q, R, E]) up(i int) {
	e := h.entries[i]
	for i > 0 {
		parent := (i - 1) / 2
		if !before(e, h.entries[parent]) {
			break
		}
		h.put(i, h.entries[parent])
		i = parent
	}
	h.put(i, e)
}

func (h *dueHeap[Q, R, E]) down(i int) {
	e := h.entries[i]
	for {
		child := 2*i + 1
		if child >= len(h.entries) {
			break
		}
		if child+1 < len(h.entries) && before(h.entries[child+1], h.entries[child]) {
			child++
		}
		if !before(h.entries[child], e) {
			break
		}
		h.put(i, h.entries[child])
		i = child
	}
	h.put(i, e)
}
