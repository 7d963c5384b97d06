package storage

// Remembered says how much a log keeps in memory of transactions: aborted ones
// whose markers are in the tail, and those that hold back the last stable offset
// now and at the end of the segments.
func (l *Log) Remembered() (aborted, spans, settled int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.aborted.len(), l.producers.spans.len(), l.settledProducers.spans.len()
}
