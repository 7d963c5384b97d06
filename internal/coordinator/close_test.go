package coordinator

import (
	"testing"
	"testing/synctest"
)

// A journal that cannot be opened again gives no leader epoch: Close does not
// wait for one, at the start or for a move.
func TestCloseWithoutALeaderEpoch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		hold := make(chan struct{})
		r := newRig(t, func(c *rigConfig) {
			c.NextEpoch = func() (int32, error) { <-hold; return 1, nil }
		})
		synctest.Wait()
		if err := r.c.Close(); err != nil {
			t.Error(err)
		}
		close(hold) // as the store's Close does
	})
}
