package story

import "testing"

func TestFollowsUp(t *testing.T) {
	gaveUp := &Rebalance{Ending: Installed, Protocol: "cooperative-sticky", Assignment: &Assignment{Unassigned: 1}}
	whole := &Rebalance{Ending: Installed, Protocol: "cooperative-sticky", Assignment: &Assignment{}}
	eager := &Rebalance{Ending: Installed, Protocol: "range", Assignment: &Assignment{}}
	running := &Rebalance{Ending: Interrupted, Assignment: &Assignment{Unassigned: 1}}
	owned := Rebalance{Cause: CauseProtocolsChanged, Changed: &Change{Owned: true}}
	for name, c := range map[string]struct {
		before *Rebalance
		r      Rebalance
		want   bool
	}{
		"supersedes":                  {running, Rebalance{Supersedes: true, Cause: CauseMemberLeft}, true},
		"hands out":                   {gaveUp, Rebalance{Cause: CauseLeaderRejoined}, true},
		"another gives up":            {whole, owned, true},
		"leader of its own":           {whole, Rebalance{Cause: CauseLeaderRejoined}, false},
		"eager client tells it":       {eager, owned, false},
		"somebody joins":              {gaveUp, Rebalance{Cause: CauseMemberJoined}, false},
		"the one before did not end":  {running, Rebalance{Cause: CauseLeaderRejoined}, false},
		"other topics, nothing given": {whole, Rebalance{Cause: CauseProtocolsChanged, Changed: &Change{TopicsAdded: []string{"t"}}}, false},
	} {
		if got := FollowsUp(c.before, &c.r); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
