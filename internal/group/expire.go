package group

import "time"

// expire runs a retention pass over the group (KIP-211): it removes offsets
// that nobody has use for any more, and then the group, if nothing is left.
func (g *Group) expire() {
	if !g.Exists() {
		return
	}
	var gone []TopicPartition
	if keeps, may := g.retention(); may {
		for _, tp := range g.log.committed.partitions() {
			if o, _ := g.log.committed.get(tp); g.log.unstable[tp] == 0 && !keeps(tp) && g.expired(&o) {
				gone = append(gone, tp)
			}
		}
	}
	if len(gone) > 0 {
		g.appendTombstones(gone)
		e := g.emit(OffsetsExpired)
		e.Cause, e.Count = CauseRetention, len(gone)
	}
	if g.state == Empty && !g.log.holdsOffsets() && len(g.pending) == 0 {
		g.bury(CauseRetention)
	}
}

// retention reports whether offsets of the group may expire at all, and which
// may not.
func (g *Group) retention() (keeps func(TopicPartition) bool, may bool) {
	switch {
	case g.state == Empty:
		return func(TopicPartition) bool { return false }, true
	case g.state == Stable && g.subscribed != nil: // known of consumers only
		return func(tp TopicPartition) bool { return g.subscribesTo(tp.Topic) }, true
	}
	return nil, false
}

// expired reports whether the time of an offset is over. It counts from its
// commit, but in a group that once had members from when the last one went: as
// long as there are members their offsets are in use.
func (g *Group) expired(o *offset) bool { return g.now.Wall >= g.expiresAt(o) }

// expiresAt is when the time of an offset is over, Unix time in milliseconds.
func (g *Group) expiresAt(o *offset) int64 {
	if o.ExpireTimestamp >= 0 {
		return o.ExpireTimestamp
	}
	start := o.CommitTimestamp
	if g.state == Empty && g.protocolType != "" && g.since >= 0 {
		start = g.since
	}
	return start + int64(g.cfg.OffsetsRetention/time.Millisecond)
}
