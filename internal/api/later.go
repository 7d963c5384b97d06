package api

import "rota/internal/storage"

// Later lists the parts of a response that are read only when they leave: what
// they give belongs between the bytes that the response has appended. Whoever
// made the list closes the parts, each once, also if the response panics. The
// zero Later is empty.
type Later struct {
	parts []LaterPart
	bytes int
}

// LaterPart is one of them. At is the position in the appended bytes, counted
// as the response does: from the beginning of what it was given to append to.
type LaterPart struct {
	At      int
	Stretch storage.Stretch
}

// Add takes a part. Positions must rise, or stay the same.
func (l *Later) Add(at int, st storage.Stretch) {
	l.parts = append(l.parts, LaterPart{at, st})
	l.bytes += st.Size()
}

// Parts are those that have been added, in order, until Reset.
func (l *Later) Parts() []LaterPart { return l.parts }

// Bytes is how many bytes all parts will give.
func (l *Later) Bytes() int { return l.bytes }

// Reset closes all parts and empties the list.
func (l *Later) Reset() {
	for i := range l.parts {
		l.parts[i].Stretch.Close()
		l.parts[i] = LaterPart{}
	}
	l.parts, l.bytes = l.parts[:0], 0
}
