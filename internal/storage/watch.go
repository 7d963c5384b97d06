package storage

// watch is one registered Watch.
type watch struct {
	f     func()
	index int // in Log.watches; -1 when stopped
}

// Watch calls f each time more can be read, the start moves, or the log ends.
// f must not block and may not call into the store. stop ends the watch; a
// call that is under way at that moment is not waited for.
func (l *Log) Watch(f func()) (stop func()) {
	w := &watch{f: f}
	l.mu.Lock()
	w.index = len(l.watches)
	l.watches = append(l.watches, w)
	l.mu.Unlock()
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if w.index < 0 {
			return
		}
		last := len(l.watches) - 1
		moved := l.watches[last]
		l.watches[w.index], moved.index = moved, w.index
		l.watches[last] = nil
		l.watches, w.index = l.watches[:last], -1
	}
}
