package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"rota/internal/group"
)

// firstFreeGeneration is where the generations of a file become variables over
// TCP: how far a restart moves them depends on the broker.
const firstFreeGeneration = 1000

// names are the variables of a file: what its member ids, groups and late
// generations are called on the broker.
type names struct {
	prefix string
	ids    map[string]string // by the file's name
	known  map[string]string // by the broker's
	gens   map[string]map[int32]int32
}

func newNames(prefix string) *names {
	return &names{prefix: prefix, ids: map[string]string{}, known: map[string]string{}, gens: map[string]map[int32]int32{}}
}

// groupID is what the broker calls a group of the file. The empty id is
// itself.
func (n *names) groupID(name string) string {
	if name == "" {
		return ""
	}
	return n.prefix + name
}

// groupName is the file's name of a group of the broker, if it is of the file.
func (n *names) groupName(id string) (string, bool) {
	return strings.CutPrefix(id, n.prefix)
}

// bind learns that the file's name stands for the broker's id.
func (n *names) bind(name, id string) {
	if name != "" && id != "" && n.ids[name] == "" && n.known[id] == "" {
		n.ids[name], n.known[id] = id, name
	}
}

// next is the name of the next id that a client is given: the number after
// the last one of its letter.
func (n *names) next(client string) string {
	last := 0
	for name := range n.ids {
		if rest, ok := strings.CutPrefix(name, letter(client)); ok {
			if k, err := strconv.Atoi(rest); err == nil {
				last = max(last, k)
			}
		}
	}
	return letter(client) + strconv.Itoa(last+1)
}

// real is the broker's id for a name; an unbound name stands for itself.
func (n *names) real(name string) string {
	if id, ok := n.ids[name]; ok {
		return id
	}
	return name
}

// written is the file's name for an id; an unknown id stands for itself.
func (n *names) written(id string) string {
	if name, ok := n.known[id]; ok {
		return name
	}
	return id
}

// bindGeneration learns what a late generation of the file is.
func (n *names) bindGeneration(name string, written, real int32) {
	if written < firstFreeGeneration || real <= 0 {
		return
	}
	if n.gens[name] == nil {
		n.gens[name] = map[int32]int32{}
	}
	if _, ok := n.gens[name][written]; !ok {
		n.gens[name][written] = real
	}
}

func (n *names) realGeneration(name string, written int32) int32 {
	if g, ok := n.gens[name][written]; ok {
		return g
	}
	return written
}

func (n *names) writtenGeneration(name string, real int32) int32 {
	for written, g := range n.gens[name] {
		if g == real {
			return written
		}
	}
	return real
}

// outgoing replaces the variables of a request by what they stand for.
func (n *names) outgoing(name string, r group.Request) group.Request {
	switch r := r.(type) {
	case group.Join:
		r.MemberID = n.real(r.MemberID)
		return r
	case group.Sync:
		r.MemberID, r.Generation = n.real(r.MemberID), n.realGeneration(name, r.Generation)
		r.Assignments = slices.Clone(r.Assignments)
		for i := range r.Assignments {
			r.Assignments[i].MemberID = n.real(r.Assignments[i].MemberID)
		}
		return r
	case group.Heartbeat:
		r.MemberID, r.Generation = n.real(r.MemberID), n.realGeneration(name, r.Generation)
		return r
	case group.Leave:
		r.Members = slices.Clone(r.Members)
		for i := range r.Members {
			r.Members[i].MemberID = n.real(r.Members[i].MemberID)
		}
		return r
	case group.Commit:
		r.MemberID, r.Generation = n.real(r.MemberID), n.realGeneration(name, r.Generation)
		return r
	case group.TxnCommit:
		r.MemberID, r.Generation = n.real(r.MemberID), n.realGeneration(name, r.Generation)
		return r
	}
	return r
}

// incoming replaces what an answer says by the variables that stand for it.
func (n *names) incoming(name string, r group.Response) group.Response {
	switch r := r.(type) {
	case group.Joined:
		r.MemberID, r.Leader = n.written(r.MemberID), n.written(r.Leader)
		r.Generation = n.writtenGeneration(name, r.Generation)
		for i := range r.Members {
			r.Members[i].MemberID = n.written(r.Members[i].MemberID)
		}
		return r
	case group.Left:
		for i := range r.Members {
			r.Members[i].MemberID = n.written(r.Members[i].MemberID)
		}
		return r
	case group.Described:
		for i := range r.Members {
			r.Members[i].MemberID = n.written(r.Members[i].MemberID)
		}
		return r
	}
	return r
}

// learn binds the variables of an expected answer to a JoinGroup, and checks
// the form of the id that was given: client id or instance id, a dash, and
// something that is its own.
func (n *names) learn(expected Line, q *call, r group.Response) error {
	j, ok := r.(group.Joined)
	if !ok || expected.Words[0] != "join" {
		return nil
	}
	o, err := readOptions(expected.Words[1:], "member", "generation")
	if err != nil {
		return err
	}
	if g, err := o.number("generation", 0, 32); err == nil && j.Code == 0 {
		n.bindGeneration(q.group, int32(g), j.Generation)
	}
	name, err := o.text("member", "")
	if err != nil || name == "" || j.MemberID == "" || n.ids[name] != "" || n.known[j.MemberID] != "" {
		return err
	}
	n.bind(name, j.MemberID)
	request, ok := q.request.(group.Join)
	if !ok {
		return errors.New("a join is answered that was not sent")
	}
	prefix := request.ClientID + "-"
	if request.InstanceID != nil {
		prefix = *request.InstanceID + "-"
	}
	if rest, ok := strings.CutPrefix(j.MemberID, prefix); !ok || rest == "" {
		return fmt.Errorf("the member id %q does not begin with %q", j.MemberID, prefix)
	}
	return nil
}
