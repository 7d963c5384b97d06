package web

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"rota/internal/story"
	"rota/internal/survey"
)

// groupData is what the page of a group shows.
type groupData struct {
	*survey.GroupDetail
	// Machine, Strip and Gantt are pictures, for wide and narrow screens.
	Machine, Strip, Gantt []*drawing
	Rebalance             *toldRebalance
	// Selected is true if the reader chose the rebalance.
	Selected  bool
	MostLag   int64
	Moves     []move
	MoreMoves int
	Advice    []string
	// Topics sums up the offsets by topic.
	Topics []topicLag
	// Recorded is false if no history is kept.
	Recorded bool
}

// topicLag is a group's part of one topic.
type topicLag struct {
	Topic      string
	Partitions int
	Lag        int64
	Offsets    []survey.Committed
}

// toldRebalance is a rebalance with what is said of it.
type toldRebalance struct {
	*story.Rebalance
	Key       string       `json:"key"`
	Took      story.Millis `json:"took_ms"`
	Sentences []string     `json:"sentences"`
	Happened  []happened   `json:"events"`
}

// happened is one event of a rebalance.
type happened struct {
	After    story.Millis `json:"after_ms"`
	Kind     story.Kind   `json:"kind"`
	Sentence string       `json:"sentence"`
}

func told(r *story.Rebalance) toldRebalance {
	t := toldRebalance{Rebalance: r, Key: survey.KeyOf(r), Took: story.Millis(r.Took()), Sentences: r.Sentences(), Happened: []happened{}}
	for i := range r.Events {
		e := &r.Events[i]
		after := max(e.TimeMillis-r.StartedMillis, 0)
		t.Happened = append(t.Happened, happened{story.Millis(time.Duration(after) * time.Millisecond), e.Kind, e.Sentence()})
	}
	return t
}

func (s *Server) showGroup(r *http.Request) (*view, error) {
	id, key := r.URL.Query().Get("id"), r.URL.Query().Get("rebalance")
	detail, err := s.c.Survey.GroupNamed(id)
	if err != nil {
		return nil, err
	}
	d := &groupData{GroupDetail: detail, Selected: key != "", Recorded: s.c.Survey.Rebalances != nil}
	initial, supersedes := false, false
	if newest, err := s.c.Survey.Rebalance(id, ""); err == nil {
		initial, supersedes = newest.Initial, newest.Supersedes
	}
	arrow := lastArrow(&detail.Group, initial, supersedes)
	for _, narrow := range []bool{false, true} {
		d.Machine = append(d.Machine, stateMachine(detail.State, arrow, narrow))
	}
	for i := range detail.Offsets {
		d.MostLag = max(d.MostLag, detail.Offsets[i].Lag)
	}
	d.Topics = byTopic(detail.Offsets)
	if chosen, err := s.c.Survey.Rebalance(id, key); err == nil {
		t := told(chosen)
		d.Rebalance = &t
		took := s.c.Survey.Took(chosen)
		for _, narrow := range []bool{false, true} {
			d.Gantt = append(d.Gantt, gantt(chosen, took, narrow))
			d.Strip = append(d.Strip, strip(id, detail.Past, t.Key, s.c.Survey.Now().UnixMilli(), narrow))
		}
		d.Moves, d.MoreMoves = moves(chosen.Assignment)
	}
	return &view{Title: text(id), Nav: "groups", Main: "group.html", Data: d, Live: true}, nil
}

// byTopic gathers offsets, which are sorted.
func byTopic(all []survey.Committed) []topicLag {
	var list []topicLag
	for i := range all {
		o := &all[i]
		if n := len(list); n == 0 || list[n-1].Topic != o.Topic {
			list = append(list, topicLag{Topic: o.Topic})
		}
		t := &list[len(list)-1]
		t.Partitions++
		t.Lag += o.Lag
		t.Offsets = append(t.Offsets, *o)
	}
	return list
}

// move is one partition that has another owner than before.
type move struct {
	Topic     string
	Partition int32
	From, To  *story.Member // nil: nobody
}

// maxMoves bounds the table of moves.
const maxMoves = 200

// moves pairs what members gained with what others lost.
func moves(a *story.Assignment) (list []move, more int) {
	if a == nil || !a.Decoded {
		return nil, 0
	}
	type key struct {
		topic string
		index int32
	}
	at := map[key]int{}
	find := func(topic string, p int32) *move {
		k := key{topic, p}
		i, ok := at[k]
		if !ok {
			i = len(list)
			at[k] = i
			list = append(list, move{Topic: topic, Partition: p})
		}
		return &list[i]
	}
	for i := range a.Members {
		m := &a.Members[i]
		for _, t := range m.Gained {
			for _, p := range t.Partitions {
				find(t.Topic, p).To = &m.Member
			}
		}
		for _, t := range m.Lost {
			for _, p := range t.Partitions {
				find(t.Topic, p).From = &m.Member
			}
		}
	}
	slices.SortFunc(list, func(a, b move) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	if n := len(list) - maxMoves; n > 0 {
		return list[:maxMoves], n
	}
	return list, 0
}

// Name is how a table calls the owner.
func (m *move) Name(of *story.Member) string {
	if of == nil {
		return "nobody"
	}
	return text(memberName(of))
}
