package web

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"rota/internal/display"
	"rota/internal/lag"
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
	Selected bool
	MostLag  int64
	Moves    []move
	Moved    int // partitions
	// Verdict is that on its worst partition; Topics has them all.
	Verdict lag.Verdict
	Topics  []topicLag
	// Recorded is false if no history is kept.
	Recorded bool
}

// topicLag is a group's part of one topic.
type topicLag struct {
	Topic   string
	Records int64
	Lags    []lag.Lag
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
	lags, err := s.lags.Group(id)
	if err != nil {
		return nil, err
	}
	for i := range lags {
		d.MostLag = max(d.MostLag, lags[i].Records)
	}
	d.Verdict = lag.Worst(lags)
	d.Topics = byTopic(lags)
	if chosen, err := s.c.Survey.Rebalance(id, key); err == nil {
		t := told(chosen)
		d.Rebalance = &t
		took := s.c.Survey.Took(chosen)
		for _, narrow := range []bool{false, true} {
			d.Gantt = append(d.Gantt, gantt(chosen, took, narrow))
			d.Strip = append(d.Strip, strip(id, detail.Past, t.Key, s.c.Survey.Now().UnixMilli(), narrow))
		}
		d.Moves, d.Moved = moves(chosen.Assignment)
	}
	return &view{Title: text(id), Nav: "groups", Main: "group.html", Data: d, Live: true}, nil
}

// byTopic gathers partitions, which are sorted.
func byTopic(all []lag.Lag) []topicLag {
	var list []topicLag
	for i := range all {
		if n := len(list); n == 0 || list[n-1].Topic != all[i].Topic {
			list = append(list, topicLag{Topic: all[i].Topic})
		}
		t := &list[len(list)-1]
		t.Records += all[i].Records
		t.Lags = append(t.Lags, all[i])
	}
	return list
}

// move is what went from one member to another.
type move struct {
	From, To string
	// Nobody says that From is no member's name.
	Nobody bool
	Parts  []story.TopicPartitions
	Count  int
}

// maxMoves bounds the table of moves.
const maxMoves = 100

// moves pairs what members gained with what others lost: the most first.
func moves(a *story.Assignment) (list []move, partitions int) {
	if a == nil || !a.Decoded {
		return nil, 0
	}
	type partition struct {
		topic string
		index int32
	}
	lost := map[partition]*story.Member{}
	for i := range a.Members {
		for _, t := range a.Members[i].Lost {
			for _, p := range t.Partitions {
				lost[partition{t.Topic, p}] = &a.Members[i].Member
			}
		}
	}
	type pair struct{ from, to string }
	at := map[pair]int{}
	add := func(from, to *story.Member, topic string, index int32) {
		m := move{From: nobodyText(a), To: "nobody", Nobody: from == nil}
		var key pair
		if from != nil {
			m.From, key.from = display.One(from.Label(), 60), from.ID
		}
		if to != nil {
			m.To, key.to = display.One(to.Label(), 60), to.ID
		}
		i, ok := at[key]
		if !ok {
			i = len(list)
			at[key] = i
			list = append(list, m)
		}
		list[i].add(topic, index)
		partitions++
	}
	for i := range a.Members {
		for _, t := range a.Members[i].Gained {
			for _, p := range t.Partitions {
				add(lost[partition{t.Topic, p}], &a.Members[i].Member, t.Topic, p)
				delete(lost, partition{t.Topic, p})
			}
		}
	}
	for i := range a.Members {
		for _, t := range a.Members[i].Lost {
			for _, p := range t.Partitions {
				if _, left := lost[partition{t.Topic, p}]; left {
					add(&a.Members[i].Member, nil, t.Topic, p)
				}
			}
		}
	}
	slices.SortStableFunc(list, func(x, y move) int { return cmp.Compare(y.Count, x.Count) })
	return list[:min(len(list), maxMoves)], partitions
}

func (m *move) add(topic string, index int32) {
	m.Count++
	if n := len(m.Parts); n == 0 || m.Parts[n-1].Topic != topic {
		m.Parts = append(m.Parts, story.TopicPartitions{Topic: topic})
	}
	t := &m.Parts[len(m.Parts)-1]
	t.Partitions = append(t.Partitions, index)
}

// nobodyText says who had the partitions that no present member had: events do
// not name the owners that are gone.
func nobodyText(a *story.Assignment) string {
	switch {
	case a.Orphaned > 0 && a.Added > 0:
		return "nobody, or a member that is gone"
	case a.Orphaned > 0:
		return "a member that is gone"
	}
	return "nobody"
}
