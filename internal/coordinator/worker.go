package coordinator

import "sync"

// worker runs functions one after the other, in the order in which they come,
// on a goroutine that is there only while there are any. It takes work from
// callbacks that may not do it themselves.
type worker struct {
	mu    sync.Mutex
	queue []func()
	busy  bool
}

func (w *worker) do(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue = append(w.queue, f)
	if !w.busy {
		w.busy = true
		go w.run()
	}
}

func (w *worker) run() {
	var list []func()
	for {
		w.mu.Lock()
		list, w.queue = w.queue, list[:0]
		w.busy = len(list) > 0
		w.mu.Unlock()
		if len(list) == 0 {
			return
		}
		for i, f := range list {
			f()
			list[i] = nil
		}
	}
}
