package scenario

import (
	"context"
	"fmt"
	"slices"
	"time"

	"rota/internal/group"
)

// open plays the usual opening.
func (p *player) open(ctx context.Context, o *opening) error {
	for i, client := range o.clients {
		q, err := o.join(i, "")
		if err != nil {
			return err
		}
		if err := p.send(ctx, q); err != nil {
			return err
		}
		if o.instances[i] != nil || o.version < 4 {
			if err := sleepUntil(ctx, time.Now().Add(p.o.Settle)); err != nil {
				return err
			}
			continue
		}
		answer, err := p.openingAnswer(ctx, client, p.o.Slack)
		if err != nil {
			return err
		}
		id, ok := requiredID(answer)
		if !ok {
			return fmt.Errorf("the join of %s is answered with %+v", client, answer)
		}
		name := p.names.next(client)
		p.names.bind(name, id)
		if q, err = o.join(i, name); err != nil {
			return err
		}
		if err := p.send(ctx, q); err != nil {
			return err
		}
		// The next client must not overtake this one: the first to join leads.
		if err := sleepUntil(ctx, time.Now().Add(p.o.Settle)); err != nil {
			return err
		}
	}
	joined, err := p.openingJoined(ctx, o)
	if err != nil {
		return err
	}
	return p.openingSync(ctx, o, joined)
}

// openingJoined waits for the end of the join phase.
func (p *player) openingJoined(ctx context.Context, o *opening) ([]group.Joined, error) {
	joined := make([]group.Joined, len(o.clients))
	wait := time.Duration(float64(o.group.rebalance)*p.o.Scale) + p.o.Slack
	for i, client := range o.clients {
		answer, err := p.openingAnswer(ctx, client, wait)
		if err != nil {
			return nil, err
		}
		j, ok := answer.(group.Joined)
		if !ok || j.Code != 0 {
			return nil, fmt.Errorf("the join of %s is answered with %+v", client, answer)
		}
		p.names.bind(p.names.next(client), j.MemberID) // nothing new for those that have been told
		j.MemberID = p.names.written(j.MemberID)
		joined[i] = j
	}
	return joined, nil
}

// openingSync ends the opening, and starts the clock.
func (p *player) openingSync(ctx context.Context, o *opening, joined []group.Joined) error {
	for i := range slices.Backward(o.clients) {
		if err := p.send(ctx, o.sync(i, joined)); err != nil {
			return err
		}
	}
	for _, client := range o.clients {
		answer, err := p.openingAnswer(ctx, client, p.o.Slack)
		if err != nil {
			return err
		}
		if s, ok := answer.(group.Synced); !ok || s.Code != 0 {
			return fmt.Errorf("the sync of %s is answered with %+v", client, answer)
		}
	}
	p.anchor(0, time.Now())
	return nil
}

func (p *player) openingAnswer(ctx context.Context, client string, wait time.Duration) (group.Response, error) {
	a, ok, err := p.await(ctx, client, time.Now().Add(wait))
	if err == nil && !ok {
		err = fmt.Errorf("%s is not answered", client)
	}
	if err != nil {
		return nil, err
	}
	return wireAnswer(a.call, a.response)
}
