package catalog

import (
	"context"
	"sync"

	"rota/internal/schema"
)

// producerBlock is how many producer ids one record reserves. A restart loses
// what is left of a block.
const producerBlock = 1000

// producerIDs are the ids that are reserved and have not been given.
type producerIDs struct {
	mu        sync.Mutex
	next, end int64
}

// take gives an id, and false if none is left.
func (p *producerIDs) take() (int64, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next == p.end {
		return 0, false
	}
	p.next++
	return p.next - 1, true
}

// empty reports whether none is left, and where the next block begins.
func (p *producerIDs) empty() (end int64, empty bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.end, p.next == p.end
}

// refill adds a block that has been reserved.
func (p *producerIDs) refill(end int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end = end
}

// ProducerID returns an id that was never given before, from a block reserved
// by a durable record.
func (c *Catalog) ProducerID(ctx context.Context) (int64, error) {
	for {
		if id, ok := c.ids.take(); ok {
			return id, nil
		}
		if err := c.reserveProducerIDs(ctx); err != nil {
			return 0, err
		}
	}
}

// reserveProducerIDs reserves a block, unless somebody else just has.
func (c *Catalog) reserveProducerIDs(ctx context.Context) error {
	if err := c.takeTurn(ctx); err != nil {
		return err
	}
	defer c.endTurn()
	end, empty := c.ids.empty()
	if !empty {
		return nil
	}
	end += producerBlock
	err := c.append(change{schema.ProducerBlockKey{}, schema.AppendProducerBlockValue(nil, schema.ProducerBlockValue{Next: end})})
	if err == nil {
		c.ids.refill(end)
	}
	return err
}
