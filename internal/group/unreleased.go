package group

import (
	"cmp"
	"slices"
)

// unreleased are the answers that start a session once the shell has released
// them, by ticket. There is mostly one, or none: a list costs an idle group
// nothing.
type unreleased []unreleasedAnswer

type unreleasedAnswer struct {
	ticket Ticket
	member *member
}

func (u unreleased) find(t Ticket) (int, bool) {
	return slices.BinarySearchFunc(u, t, func(a unreleasedAnswer, t Ticket) int { return cmp.Compare(a.ticket, t) })
}

func (u *unreleased) put(t Ticket, m *member) {
	i, _ := u.find(t)
	*u = slices.Insert(*u, i, unreleasedAnswer{t, m})
}

// take removes an answer and returns its member, nil if there is none.
func (u *unreleased) take(t Ticket) *member {
	i, ok := u.find(t)
	if !ok {
		return nil
	}
	m := (*u)[i].member
	*u = slices.Delete(*u, i, i+1)
	return m
}
