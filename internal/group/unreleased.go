package group

// unreleased are the answers that start a session once the shell has released
// them, in the order in which they were given. That is the order in which they
// are released, too, but for those whose batch another one overtakes, so they
// are looked for from the front: a large group has thousands at once.
type unreleased struct {
	list []unreleasedAnswer
	gone int // answers at the front that have been taken
}

type unreleasedAnswer struct {
	ticket Ticket
	member *member
}

// keepUnreleased is the longest list whose memory is kept.
const keepUnreleased = 16

// all are the answers that have not been taken.
func (u *unreleased) all() []unreleasedAnswer { return u.list[u.gone:] }

func (u *unreleased) put(t Ticket, m *member) { u.list = append(u.list, unreleasedAnswer{t, m}) }

// take removes an answer and returns its member, nil if there is none.
func (u *unreleased) take(t Ticket) *member {
	waiting := u.all()
	for i := range waiting {
		if waiting[i].ticket != t {
			continue
		}
		m := waiting[i].member
		copy(waiting[1:i+1], waiting[:i])
		waiting[0] = unreleasedAnswer{}
		u.gone++
		u.tidy()
		return m
	}
	return nil
}

// tidy gives back the room at the front once it is half of the list.
func (u *unreleased) tidy() {
	switch {
	case u.gone == len(u.list) && cap(u.list) > keepUnreleased:
		*u = unreleased{}
	case u.gone == len(u.list), u.gone > keepUnreleased && 2*u.gone > len(u.list):
		n := copy(u.list, u.all())
		clear(u.list[n:])
		u.list, u.gone = u.list[:n], 0
	}
}
