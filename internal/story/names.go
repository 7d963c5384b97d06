package story

import (
	"strings"

	"rota/internal/display"
)

// A member is named by what its reader gave it: its instance id, or its client
// id. Clients of one program often have the same one, so a client id goes with
// the end of the member id; that end is the same in sentences, in pictures and
// in the member ids that group describe lists.

// Name is how a sentence calls a member: by its instance id if it is static,
// else by its client id with the end of its member id, and by the host; else by its member id.
func (m *Member) Name() string { return m.name(true) }

// Role is how a sentence calls whoever has the client id and the host of m,
// or its instance id, whatever member ids it has had.
func (m *Member) Role() string { return m.name(false) }

func (m *Member) name(one bool) string {
	if m == nil {
		return "no member"
	}
	var s strings.Builder
	switch {
	case m.InstanceID != "":
		s.WriteString("static member " + Quote(m.InstanceID))
	case m.ClientID != "":
		s.WriteString("member " + Quote(m.ClientID))
		if end := m.end(); one && end != "" {
			s.WriteString(" (.." + end + ")")
		}
	case m.ID != "":
		return "member " + Quote(m.ID)
	default:
		return "a member without a name"
	}
	if m.Host != "" {
		s.WriteString(" on " + display.One(strings.TrimPrefix(m.Host, "/"), maxShown))
	}
	return s.String()
}

// Label is how a picture calls a member, in few characters. It is as the
// client sent it and must be made harmless where it is shown.
func (m *Member) Label() string {
	switch {
	case m.InstanceID != "":
		return m.InstanceID
	case m.ClientID == "":
		return m.ID
	}
	if end := m.end(); end != "" {
		return m.ClientID + " .." + end
	}
	return m.ClientID
}

// end is what tells members of one client id apart: the end of the random part
// of the member id. It is empty if there is no such part.
func (m *Member) end() string {
	const shortest, shown = 16, 4
	rest := m.ID
	if m.ClientID != "" {
		rest = strings.TrimPrefix(rest, m.ClientID+"-")
	}
	if len(rest) < shortest || rest == m.ClientID {
		return ""
	}
	r := []rune(rest)
	return display.One(string(r[len(r)-min(shown, len(r)):]), maxShown)
}
