package storage

import "sort"

// EpochAt returns the leader epoch of the record at offset, -1 if unknown.
func (l *Log) EpochAt(offset int64) int32 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if offset < l.start || offset >= l.end {
		return -1
	}
	i := sort.Search(len(l.epochs), func(i int) bool { return l.epochs[i].Start > offset })
	if i == 0 {
		return -1
	}
	return l.epochs[i-1].Epoch
}

// EndOfEpoch answers OffsetForLeaderEpoch (KIP-320): the largest epoch not
// above epoch and the offset at which it ended. An epoch older than all that
// are known ended where the oldest known one began; -1, -1 stands for an epoch
// that is newer than the log's.
func (l *Log) EndOfEpoch(epoch int32) (int32, int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case epoch < 0 || epoch > l.epoch:
		return -1, -1
	case epoch == l.epoch:
		return epoch, l.hw
	}
	i := sort.Search(len(l.epochs), func(i int) bool { return l.epochs[i].Epoch > epoch })
	end := l.hw // the log's own epoch may have no records yet
	if i < len(l.epochs) {
		end = min(end, l.epochs[i].Start)
	}
	if i > 0 {
		epoch = l.epochs[i-1].Epoch
	}
	return epoch, end
}

// beginEpochLocked notes that the next batch is the first of the log's epoch.
func (l *Log) beginEpochLocked() {
	if n := len(l.epochs); n == 0 || l.epochs[n-1].Epoch < l.epoch {
		l.epochs = append(l.epochs, EpochStart{Epoch: l.epoch, Start: l.end})
	}
}

// epochsSince drops the epochs that ended before start.
func epochsSince(epochs []EpochStart, start int64) []EpochStart {
	for len(epochs) > 1 && epochs[1].Start <= start {
		epochs = epochs[1:]
	}
	return epochs
}

// epochsWithin returns a copy of the epochs of the records from start up to end.
func epochsWithin(epochs []EpochStart, start, end int64) []EpochStart {
	epochs = epochsSince(epochs, start)
	n := len(epochs)
	for n > 0 && epochs[n-1].Start >= end {
		n--
	}
	return append([]EpochStart(nil), epochs[:n]...)
}
