package group

import (
	"slices"
	"strings"
)

// supports counts the members that list a protocol, by name. Groups know one
// or two, for which a list takes a tenth of what a map does.
type supports []support

type support struct {
	name    string
	members int
}

func (s supports) find(name string) (int, bool) {
	return slices.BinarySearchFunc(s, name, func(e support, name string) int { return strings.Compare(e.name, name) })
}

// of is the number of members that list the protocol.
func (s supports) of(name string) int {
	if i, ok := s.find(name); ok {
		return s[i].members
	}
	return 0
}

// add changes the number for a protocol.
func (s *supports) add(name string, n int) {
	i, ok := s.find(name)
	if !ok {
		*s = slices.Insert(*s, i, support{name: name})
	}
	if (*s)[i].members += n; (*s)[i].members == 0 {
		*s = slices.Delete(*s, i, i+1)
	}
}
