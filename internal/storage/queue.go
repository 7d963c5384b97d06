package storage

// queue is a first-in first-out list on one slice, which it reuses. The zero
// value is empty.
type queue[T any] struct {
	items []T
	head  int // items[:head] have been popped
}

func (q *queue[T]) len() int { return len(q.items) - q.head }

// at returns the i-th item from the front.
func (q *queue[T]) at(i int) *T { return &q.items[q.head+i] }

// all returns the items in order. They are valid until the queue changes.
func (q *queue[T]) all() []T { return q.items[q.head:] }

func (q *queue[T]) push(v T) {
	if q.head > 0 && len(q.items) == cap(q.items) && q.head >= len(q.items)/2 {
		n := copy(q.items, q.items[q.head:])
		clear(q.items[n:])
		q.items, q.head = q.items[:n], 0
	}
	q.items = append(q.items, v)
}

// pop removes n items from the front.
func (q *queue[T]) pop(n int) {
	clear(q.items[q.head : q.head+n])
	q.head += n
	if q.head == len(q.items) {
		q.items, q.head = q.items[:0], 0
	}
}

// shrink gives back the memory of an empty queue.
func (q *queue[T]) shrink() {
	if q.len() == 0 {
		q.items, q.head = nil, 0
	}
}

// truncate keeps the first n items.
func (q *queue[T]) truncate(n int) {
	clear(q.items[q.head+n:])
	q.items = q.items[:q.head+n]
}
