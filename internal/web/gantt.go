package web

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"rota/internal/story"
)

// row is one member's line of a Gantt picture.
type row struct {
	member *story.Member
	// came is when its JoinGroup was there, counted from the start of the
	// rebalance; negative if it did not come. gone is when it was lost, negative
	// if it was not.
	came, gone time.Duration
	how        string // of a loss: left, expired, dropped, refused, absent
	trigger    bool
	leader     bool
	assigned   *story.MemberAssignment
}

// maxRows bounds the picture.
const maxRows = 40

// gantt draws one rebalance: its phases, when each member came or went, and what
// the assignment changed for it. took is how long it has taken until now.
func gantt(r *story.Rebalance, took time.Duration, narrow bool) *drawing {
	rows, more := ganttRows(r)
	g := &ganttPicture{r: r, took: max(took, time.Millisecond), drawing: &drawing{
		W: 1000, Class: "wide", Title: "Timeline of the rebalance", Desc: strings.Join(r.Sentences(), " "),
	}}
	g.left, g.right, g.rowHeight = 250, 680, 36
	if narrow {
		g.W, g.Class, g.narrow = 350, "narrow", true
		g.left, g.right, g.rowHeight = 4, 346, 42
	}
	g.axis(len(rows))
	g.phases()
	y := g.top + 40
	for i := range rows {
		y += g.row(&rows[i], y)
	}
	if more > 0 {
		g.text(4, y+14, "hint start", fmt.Sprintf("and %d more, who were there sooner", more))
		y += 22
	}
	g.H = int(y + 6)
	return g.drawing
}

type ganttPicture struct {
	*drawing
	r           *story.Rebalance
	took        time.Duration
	narrow      bool
	left, right float64
	top         float64
	rowHeight   float64
}

// at is where a time after the start lies.
func (g *ganttPicture) at(t time.Duration) float64 {
	t = min(max(t, 0), g.took)
	return g.left + (g.right-g.left)*float64(t)/float64(g.took)
}

// axis draws the scale and its lines.
func (g *ganttPicture) axis(rows int) {
	g.top = 22
	bottom := g.top + 34
	if !g.narrow {
		bottom += float64(rows) * g.rowHeight
	}
	marks := 6
	if g.narrow {
		marks = 3
	}
	for t := time.Duration(0); ; t += tick(g.took, marks) {
		if t > g.took {
			break
		}
		x := g.at(t)
		g.line(x, g.top, x, bottom, "grid")
		anchor := "middle"
		switch {
		case t == 0:
			anchor = "start"
		case x > g.right-24:
			anchor = "end"
		}
		g.text(x, 14, "hint "+anchor, tickText(t))
	}
}

// tick is a round distance of which about n fit.
func tick(d time.Duration, n int) time.Duration {
	raw := float64(d) / float64(n)
	unit := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, f := range []float64{1, 2, 5, 10} {
		if unit*f >= raw {
			return max(time.Duration(unit*f), 1)
		}
	}
	return max(time.Duration(unit*10), 1)
}

func tickText(t time.Duration) string {
	if t == 0 {
		return "0"
	}
	return strings.Replace(t.String(), "µ", "u", 1)
}

// phases draws the two phases above the members.
func (g *ganttPicture) phases() {
	join, sync := g.took, time.Duration(0)
	if g.r.Join != nil {
		join = time.Duration(g.r.Join.Took)
		sync = g.took - join
		if g.r.Sync != nil {
			sync = time.Duration(g.r.Sync.Took)
		}
	}
	if !g.narrow {
		g.text(4, g.top+20, "label", "phases")
		if g.r.Sync != nil {
			g.text(g.right+14, g.top+20, "change start", "assigned after "+story.Took(sync))
		}
	}
	g.phase("join", "joining", 0, join, g.r.Join == nil)
	if sync > 0 || g.r.Join != nil {
		g.phase("sync", "assigning", join, join+sync, g.r.Sync == nil && g.r.Ending == story.Running)
	}
}

func (g *ganttPicture) phase(class, name string, from, to time.Duration, running bool) {
	x1, x2 := g.at(from), g.at(to)
	title := name + ": " + story.Took(to-from)
	if running {
		class += " running"
		title += " so far"
	}
	g.rect(x1, g.top+4, max(x2-x1, 2), 24, 4, "phase "+class, title)
	text := name + " " + story.Took(to-from)
	switch {
	case widthOf(text)+10 < x2-x1:
		g.text((x1+x2)/2, g.top+20, "inphase middle", text)
	case widthOf(name)+8 < x2-x1:
		g.text((x1+x2)/2, g.top+20, "inphase middle", name)
	}
}

// row draws one member: how long it was waited for, how long it waited itself,
// and what it has now. It returns how high that is.
func (g *ganttPicture) row(w *row, y float64) float64 {
	name := w.member.Label()
	var tags []string
	if w.trigger {
		tags = append(tags, "trigger")
	}
	if w.leader {
		tags = append(tags, "leader")
	}
	tag := strings.Join(tags, ", ")
	bar := y + 5
	if g.narrow {
		bar = y + 20
		label := name
		if tag != "" {
			label += "  (" + tag + ")"
		}
		g.text(4, y+13, "label", fit(label, g.right-56))
	} else {
		room := g.left - 16
		if tag != "" {
			room -= widthOf(tag) + 10
			g.text(g.left-10, y+17, "tag end", tag)
		}
		g.text(4, y+17, "label", fit(name, room))
	}
	const height = 16
	piece := func(from, to time.Duration, class, title string) {
		x1, x2 := g.at(from), g.at(to)
		g.rect(x1, bar, max(x2-x1, 3), height, 3, "bar "+class, title)
	}
	end := g.took
	if w.gone >= 0 {
		end = w.gone
	}
	joined := g.took
	if g.r.Join != nil {
		joined = time.Duration(g.r.Join.Took)
	}
	if w.came > 0 && w.came <= end {
		piece(0, w.came, "awaited", name+" joined after "+story.Took(w.came))
	} else if w.came < 0 {
		piece(0, end, "awaited "+w.how, name+" was waited for: "+story.Took(end))
	}
	if w.came >= 0 {
		if w.came < min(joined, end) {
			piece(w.came, min(joined, end), "waits", name+" waits for the others: "+story.Took(min(joined, end)-w.came))
		}
		if end > joined && g.r.Join != nil {
			piece(joined, end, "syncs", name+" waits for the assignment: "+story.Took(end-joined))
		}
	}
	if w.gone >= 0 {
		x := g.at(w.gone)
		g.line(x, bar-3, x, bar+height+3, "loss")
		text := w.how
		if w.gone > 0 {
			text += " after " + story.Took(w.gone)
		}
		if x+widthOf(text)+8 < g.right || g.narrow && x < g.right/2 {
			g.text(x+5, bar+12, "losstext start", text)
		} else {
			g.text(x-5, bar+12, "losstext end", text)
		}
	}
	return g.changes(w, y)
}

// changes writes what the assignment gave to the member and took from it, and
// returns how high the row is.
func (g *ganttPicture) changes(w *row, y float64) float64 {
	a := w.assigned
	if a == nil || g.r.Assignment == nil || !g.r.Assignment.Decoded {
		return g.rowHeight
	}
	x, base, room := g.right+14, y+13, float64(g.W)-g.right-18
	if g.narrow {
		x, base, room = g.left, y+51, g.right-g.left
		g.text(g.right, y+13, "change end", fmt.Sprintf("has %d", a.Partitions))
	}
	line := func(class, text string) {
		g.text(x, base, class+" start", fit(text, room))
		base += 15
	}
	if a.GainedN+a.LostN == 0 && !g.narrow {
		base = y + 17
		line("change", fmt.Sprintf("kept all %d", a.Partitions))
		return g.rowHeight
	}
	if a.GainedN > 0 != (a.LostN > 0) && !g.narrow {
		base = y + 17 // one line stands in the middle
	}
	if a.GainedN > 0 {
		line("gained", fmt.Sprintf("+%d  %s", a.GainedN, partsText(a.Gained)))
	}
	if a.LostN > 0 {
		line("lost", fmt.Sprintf("-%d  %s", a.LostN, partsText(a.Lost)))
	}
	if g.narrow {
		return base - y + 2
	}
	return g.rowHeight
}

// partsText names partitions in short.
func partsText(list []story.TopicPartitions) string {
	words := make([]string, len(list))
	for i := range list {
		words[i] = list[i].Topic + " " + story.Ranges(list[i].Partitions)
	}
	return strings.Join(words, ", ")
}

// ganttRows lists who had a part in the rebalance, those that took longest
// first, and says how many are left out.
func ganttRows(r *story.Rebalance) (rows []row, more int) {
	at := map[string]int{}
	get := func(m *story.Member) *row {
		i, ok := at[m.ID]
		if !ok {
			i = len(rows)
			at[m.ID] = i
			rows = append(rows, row{member: m, came: -1, gone: -1})
		}
		return &rows[i]
	}
	since := func(e *story.Event) time.Duration {
		return time.Duration(max(e.TimeMillis-r.StartedMillis, 0)) * time.Millisecond
	}
	for i := range r.Events {
		e := &r.Events[i]
		if e.Member == nil {
			continue
		}
		switch e.Kind { //nolint:exhaustive // the others are about no single member
		case story.MemberJoined, story.MemberRejoined, story.MemberReplaced:
			w := get(e.Member)
			w.came = since(e)
		case story.MemberLeft, story.MemberExpired, story.MemberDropped, story.MemberRefused:
			w := get(e.Member)
			w.gone, w.how = since(e), strings.TrimPrefix(string(e.Kind), "member-")
		}
	}
	for i := range r.WaitedFor {
		f := &r.WaitedFor[i]
		w := get(&f.Member)
		switch f.Outcome {
		case story.OutcomeJoined:
			w.came = time.Duration(f.Took)
		default:
			w.gone, w.how = time.Duration(f.Took), string(f.Outcome)
		}
	}
	for i := range r.Awaited {
		get(&r.Awaited[i])
	}
	if r.Assignment != nil {
		for i := range r.Assignment.Members {
			a := &r.Assignment.Members[i]
			w := get(&a.Member)
			w.assigned = a
			if w.came < 0 && w.gone < 0 {
				w.came = 0
			}
		}
	}
	if r.Trigger != nil && r.Trigger.ID != "" {
		get(r.Trigger).trigger = true
	}
	if r.Leader != nil {
		get(r.Leader).leader = true
	}
	slices.SortStableFunc(rows, func(a, b row) int { return int(rank(&b) - rank(&a)) })
	if n := len(rows) - maxRows; n > 0 {
		return rows[:maxRows], n
	}
	return rows, r.WaitedForMore
}

// rank is how early a row stands: the trigger first, then by how long the wait was.
func rank(w *row) time.Duration {
	if w.trigger {
		return math.MaxInt64 / 2
	}
	return max(w.came, w.gone)
}
