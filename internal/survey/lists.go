package survey

import (
	"context"
	"slices"
	"sync"
	"time"
)

// lists keeps the newest list of groups for those who ask next. The zero value
// is ready.
type lists struct {
	once sync.Once
	turn chan struct{} // taken by whoever makes a list, or looks at it

	groups []Group
	until  time.Time // the list serves
}

// share is how many times as long as it took to make a list it serves.
const share = 10

// get returns what survey returns, or returned a moment ago. It is the caller's.
func (l *lists) get(ctx context.Context, survey func(context.Context) ([]Group, error)) ([]Group, error) {
	l.once.Do(l.init)
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-l.turn }()
	began := time.Now()
	if began.After(l.until) {
		groups, err := survey(ctx)
		if err != nil {
			return nil, err
		}
		l.groups = groups
		l.until = began.Add(share * time.Since(began))
	}
	return slices.Clone(l.groups), nil
}

func (l *lists) init() { l.turn = make(chan struct{}, 1) }
