package storagetest

import (
	"sync"

	"rota/internal/storage"
)

// answer is where the answer to an append arrives.
type answer struct {
	mu    sync.Mutex
	got   storage.Appended
	times int
}

func (a *answer) set(got storage.Appended) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.got = got
	a.times++
}

// get returns the answer, and false if it has not arrived exactly once.
func (a *answer) get() (storage.Appended, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.got, a.times == 1
}

// sequence collects what happens, in order.
type sequence[T any] struct {
	mu  sync.Mutex
	all []T
}

func (s *sequence[T]) add(v T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, v)
}

func (s *sequence[T]) get() []T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]T(nil), s.all...)
}
