package txn

import "time"

// Loaded ends the load of the id from the log. A transaction that was decided
// gets its markers, again perhaps; one that is open has the rest of its time.
func (p *Producer) Loaded(now Now, at Offset, _ int32) Effects {
	p.begin(now, at)
	switch {
	case !p.log.exists:
	case p.log.State == Ongoing:
		open := time.Duration(now.Wall-p.log.StartedAt) * time.Millisecond
		p.startTimeout(time.Duration(p.log.TimeoutMillis)*time.Millisecond - max(open, 0))
	case ending(p.log.State) && len(p.log.Partitions) == 0:
		p.complete()
	case ending(p.log.State):
		p.askForMarkers()
	}
	return p.finish()
}
