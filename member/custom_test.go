package member_test

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"rota/member"
)

// weighted is a protocol of a program's own: members say how much they can
// take, the leader shares 10 tasks by that, and an assignment is a stretch.
type weighted struct{ weight byte }

func (weighted) Name() string      { return "weighted" }
func (weighted) Cooperative() bool { return false }

func (p weighted) Metadata([]member.Shard, int32) []byte { return []byte{p.weight} }

func (weighted) Assign(members []member.CustomCandidate) (map[string][]byte, error) {
	slices.SortFunc(members, func(a, b member.CustomCandidate) int { return int(a.Metadata[0]) - int(b.Metadata[0]) })
	total, next, left := 0, 0, 0
	for _, m := range members {
		total += int(m.Metadata[0])
	}
	plan := map[string][]byte{}
	for _, m := range members {
		left += int(m.Metadata[0])
		end := 10 * left / total
		plan[m.ID] = binary.BigEndian.AppendUint16([]byte{byte(next)}, uint16(end-next))
		next = end
	}
	return plan, nil
}

func (weighted) Shards(assignment []byte) ([]member.Shard, error) {
	if len(assignment) != 3 {
		return nil, errors.New("not a stretch")
	}
	var list []member.Shard
	for i := range binary.BigEndian.Uint16(assignment[1:]) {
		list = append(list, member.Shard{Topic: "task", Partition: int32(assignment[0]) + int32(i)})
	}
	return list, nil
}

func TestProtocolsOfAProgramsOwn(t *testing.T) {
	bubble(t, func(w *world) {
		strong := w.join("strong", member.Config{Work: member.Custom("tasks", weighted{4})})
		w.settle()
		weak := w.join("weak", member.Config{Work: member.Custom("tasks", weighted{1})})
		w.settle()
		if a, b := numbers(shards(weak)), numbers(shards(strong)); a != "0 1" || b != "2 3 4 5 6 7 8 9" {
			t.Errorf("they own %q and %q", a, b)
		}
		if s := w.g.State(); s.ProtocolType != "tasks" || s.Protocol != "weighted" {
			t.Errorf("%+v", s)
		}
		other := w.join("other", member.Config{Work: member.Custom("jobs", weighted{1})})
		w.settle()
		if !errors.Is(other.Err(), kerr.InconsistentGroupProtocol) {
			t.Errorf("a member of another type has ended with %v", other.Err())
		}
	})
}

func TestUpdateTellsTheLeader(t *testing.T) {
	bubble(t, func(w *world) {
		told := map[string]string{}
		a := w.join("a", member.Config{Work: member.Shards(2), Metadata: []byte("one"), Assignors: []member.Assignor{listening{member.Range(), told}}})
		w.settle()
		a.Update([]byte("two"), "the weight has changed")
		w.settle()
		if len(told) != 2 || told["one"] == "" || told["two"] == "" {
			t.Errorf("the leader was told %v", told)
		}
	})
}

// listening keeps what members say.
type listening struct {
	member.Assignor
	told map[string]string
}

func (l listening) Assign(members []member.Candidate, topics map[string]int32) map[string][]member.Shard {
	for _, m := range members {
		l.told[string(m.Metadata)] = m.ID
	}
	return l.Assignor.Assign(members, topics)
}
