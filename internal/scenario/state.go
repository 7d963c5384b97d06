package scenario

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"rota/internal/group"
	"rota/internal/story"
)

// eventLine writes an event: its kind, the generation, and what it has of
// cause, member and numbers.
func eventLine(e group.Event) Line {
	words := []string{e.Kind.String(), "generation=" + strconv.Itoa(int(e.Generation))}
	put := func(key, value string) {
		if value != "" {
			words = append(words, key+"="+value)
		}
	}
	put("cause", e.Cause.String())
	put("member", memberName(e.Member))
	put("replaced", e.Replaced)
	if e.Code != 0 {
		put("code", formatCode(e.Code))
	}
	if e.Duration != 0 {
		put("after", formatDuration(e.Duration))
	}
	var waited []string
	for i := range e.WaitedFor {
		w := &e.WaitedFor[i]
		word := memberName(w.MemberRef) + ":" + formatDuration(w.Took)
		if w.Outcome != group.OutcomeJoined {
			word += ":" + w.Outcome.String()
		}
		waited = append(waited, word)
	}
	put("waited-for", strings.Join(waited, ","))
	if e.Count != 0 {
		put("count", strconv.Itoa(e.Count))
	}
	if e.Member.Reason != "" {
		put("reason", quote(e.Member.Reason))
	}
	if e.Kind == group.MemberExpired || e.Kind == group.MemberDropped {
		put("timeout", optionalDuration(e.Timeout))
		put("silent", optionalDuration(e.Silent))
	}
	if e.Kind == group.AssignmentInstalled {
		words = append(words, movesWords(story.Compare(e.Before, e.After))...)
	}
	return Line{Kind: Event, Words: words}
}

// movesWords write what an assignment moved, if its bytes can be read.
func movesWords(a *story.Assignment) []string {
	if !a.Decoded {
		return nil
	}
	words := []string{fmt.Sprintf("kept=%d moved=%d", a.Kept, a.Moved)}
	if a.MovesNotNeeded != nil {
		words[0] += fmt.Sprintf(" not-needed=%d", *a.MovesNotNeeded)
	}
	words = strings.Fields(words[0])
	for i := range a.Members {
		m := &a.Members[i]
		name := memberName(group.MemberRef{ID: m.ID, InstanceID: m.InstanceID})
		for _, t := range m.Gained {
			words = append(words, name+":+"+t.Topic+"/"+story.Ranges(t.Partitions))
		}
		for _, t := range m.Lost {
			words = append(words, name+":-"+t.Topic+"/"+story.Ranges(t.Partitions))
		}
	}
	return words
}

func optionalDuration(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return formatDuration(d)
}

func memberName(m group.MemberRef) string {
	if m.ID == "" && m.InstanceID == "" {
		return ""
	}
	if m.InstanceID == "" {
		return quote(m.ID)
	}
	return memberEntry(m.ID, &m.InstanceID)
}

// states writes the state of every group, less those that do not exist.
func (s *shell) states() map[string]string {
	all := map[string]string{}
	for _, name := range s.names {
		if g, ok := s.groups[name]; ok && g.Exists() {
			all[name] = stateWords(g)
		}
	}
	return all
}

// stateWords writes a group's state as a "=" line has it: the generation, the
// members by name, and the leader once the generation has one.
func stateWords(g Machine) string {
	state := g.Summary().State
	facts := readText(g)
	words := []string{state, "generation=" + facts.generation}
	if state == group.CompletingRebalance.String() || state == group.Stable.String() {
		words = append(words, "leader="+facts.leader)
	}
	if len(facts.members) > 0 {
		slices.Sort(facts.members)
		words = append(words, "members="+strings.Join(facts.members, ","))
	}
	return strings.Join(words, " ")
}

// textFacts is what a "=" line needs of a group's text.
type textFacts struct {
	generation, leader string
	members            []string
}

// readText takes the facts from the text of a group: the only place where the
// rules show their generation and leader.
func readText(g Machine) textFacts {
	text, err := g.MarshalText()
	if err != nil {
		return textFacts{generation: err.Error()}
	}
	var facts textFacts
	_, open, _ := strings.Cut(string(text), group.OpenLine+"\n")
	for line := range strings.Lines(open) {
		words, err := splitWords(strings.TrimSuffix(line, "\n"))
		if err != nil || strings.HasPrefix(line, " ") || len(words) < 2 {
			continue
		}
		switch words[0] {
		case "state":
			o, _ := readOptions(words[2:], "generation", "leader")
			facts.generation, facts.leader = o.values["generation"], plainWord(o.values["leader"])
		case "member":
			facts.members = append(facts.members, plainWord(words[1]))
		}
	}
	return facts
}

// plainWord takes the quotes from a word that needs none.
func plainWord(word string) string {
	text, err := unquote(word)
	if err != nil {
		return word
	}
	return quote(text)
}

// durableText is what a group must know again after a restart.
func durableText(g Machine) (string, error) {
	text, err := g.MarshalText()
	before, _, _ := strings.Cut(string(text), group.OpenLine+"\n")
	return before, err
}
