package txn

import (
	"bytes"
	"fmt"
)

// OpenLine parts the text of an id: above it stands what the log remembers,
// which is the same for one that was read back; below it what it forgets.
const OpenLine = "--- not in the log"

// MarshalText writes everything there is to know of the id, readable: what
// replay tests compare and what a crash report holds.
func (p *Producer) MarshalText() ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "transactional id %q\n", p.id)
	if l := &p.log; l.exists {
		fmt.Fprintf(&b, "%s producer=%d epoch=%d previous=%d next=%d timeout=%dms started=%d updated=%d version=%d at=%d\n",
			l.State, l.ProducerID, l.ProducerEpoch, l.PreviousProducerID, l.NextProducerID, l.TimeoutMillis, l.StartedAt, l.UpdatedAt, l.ClientVersion, l.at)
		for _, tp := range p.partitions() {
			fmt.Fprintf(&b, "  %s-%d\n", tp.Topic, tp.Partition)
		}
	}
	fmt.Fprintf(&b, "%s\nlast-epoch=%d", OpenLine, p.lastEpoch)
	if p.timeout != never {
		fmt.Fprintf(&b, " timeout=%s", p.timeout)
	}
	if p.needsID {
		b.WriteString(" needs-id")
	}
	b.WriteByte('\n')
	for _, w := range p.waiting {
		fmt.Fprintf(&b, "waiting %T ticket=%d until=%s\n", w.req, w.ticket, w.by)
	}
	return b.Bytes(), nil
}
