package web

import "rota/internal/survey"

// The arrows of the state machine.
const (
	arrowFirst    = "first"   // Empty to PreparingRebalance
	arrowAll      = "all"     // PreparingRebalance to CompletingRebalance
	arrowPlan     = "plan"    // CompletingRebalance to Stable
	arrowAgain    = "again"   // Stable to PreparingRebalance
	arrowOver     = "over"    // CompletingRebalance to PreparingRebalance
	arrowNobody   = "nobody"  // PreparingRebalance to Empty
	arrowDeleted  = "deleted" // Empty to Dead
	arrowNotTaken = ""        // not known
)

// lastArrow is the arrow that brought the group to its state.
func lastArrow(g *survey.Group, initial, supersedes bool) string {
	switch g.State {
	case "Stable":
		return arrowPlan
	case "CompletingRebalance":
		return arrowAll
	case "PreparingRebalance":
		switch {
		case initial:
			return arrowFirst
		case supersedes:
			return arrowOver
		}
		return arrowAgain
	case "Empty":
		if g.Last != nil {
			return arrowNobody
		}
	}
	return arrowNotTaken
}

// node is a state of the picture.
type node struct {
	name       string
	x, y, w, h float64
}

// edge is an arrow of the picture, with a label beside it.
type edge struct {
	name, path string
	x, y       float64
	anchor     string
	label      string
}

// stateMachine draws the states with the present one lit and the arrow that
// led there.
func stateMachine(state, arrow string, narrow bool) *drawing {
	d := &drawing{W: 880, H: 176, Class: "wide", Title: "State machine of the group", Desc: "The group is " + state + "."}
	nodes, edges := wideNodes, wideEdges
	if narrow {
		d.W, d.H, d.Class = 340, 312, "narrow"
		nodes, edges = narrowNodes, narrowEdges
	}
	for _, lit := range []bool{false, true} { // what is lit lies on top
		for _, e := range edges {
			if (e.name == arrow) != lit {
				continue
			}
			class := "arrow"
			if lit {
				class = "arrow lit"
			}
			d.path(e.path, class)
			if e.label != "" {
				class = "hint " + e.anchor
				if lit {
					class += " lit"
				}
				d.text(e.x, e.y, class, e.label)
			}
		}
	}
	for _, n := range nodes {
		class, text := "state", "statename"
		if n.name == state {
			class, text = "state lit "+state, "statename lit"
		}
		d.rect(n.x, n.y, n.w, n.h, 8, class, stateMeaning[n.name])
		d.text(n.x+n.w/2, n.y+n.h/2+5, text, n.name)
	}
	return d
}

// stateMeaning says what each state is, for the tooltips and the legend.
var stateMeaning = map[string]string{
	"Empty":               "No members, though perhaps committed offsets.",
	"PreparingRebalance":  "Members are expected to join again; joins wait until all are in or the deadline has come.",
	"CompletingRebalance": "The generation has its members and waits for the leader's assignment.",
	"Stable":              "Every member can have its assignment.",
	"Dead":                "The group is no more.",
}

var wideNodes = []node{
	{"Empty", 6, 56, 110, 44},
	{"PreparingRebalance", 224, 56, 176, 44},
	{"CompletingRebalance", 508, 56, 176, 44},
	{"Stable", 764, 56, 110, 44},
	{"Dead", 6, 138, 110, 32},
}

var wideEdges = []edge{
	{arrowFirst, "M116 68 H216 m-8 -4 l8 4 l-8 4", 166, 60, "middle", "a member joins"},
	{arrowNobody, "M224 90 H124 m8 -4 l-8 4 l8 4", 166, 106, "middle", "nobody is left"},
	{arrowAll, "M400 78 H500 m-8 -4 l8 4 l-8 4", 450, 70, "middle", "all have joined"},
	{arrowPlan, "M684 78 H756 m-8 -4 l8 4 l-8 4", 720, 70, "middle", "assigned"},
	{arrowAgain, "M819 56 C819 6 330 6 330 48 m-4 -8 l4 8 l4 -8", 575, 14, "middle", "someone joins, leaves, is lost or changes"},
	{arrowOver, "M596 100 C596 146 312 146 312 108 m-4 8 l4 -8 l4 8", 454, 148, "middle", "the same, before the assignment has come"},
	{arrowDeleted, "M61 100 V130 m-4 -8 l4 8 l4 -8", 70, 122, "start", "deleted, or expired"},
}

var narrowNodes = []node{
	{"Empty", 6, 6, 120, 40},
	{"PreparingRebalance", 6, 94, 176, 40},
	{"CompletingRebalance", 6, 182, 176, 40},
	{"Stable", 6, 266, 120, 40},
	{"Dead", 234, 6, 100, 40},
}

var narrowEdges = []edge{
	{arrowFirst, "M24 46 V86 m-4 -8 l4 8 l4 -8", 32, 74, "start", "joins"},
	{arrowNobody, "M96 94 V54 m-4 8 l4 -8 l4 8", 104, 74, "start", "nobody is left"},
	{arrowAll, "M66 134 V174 m-4 -8 l4 8 l4 -8", 74, 158, "start", "all have joined"},
	{arrowPlan, "M66 222 V258 m-4 -8 l4 8 l4 -8", 74, 244, "start", "assigned"},
	{arrowAgain, "M126 286 C330 286 330 104 190 104 m8 -4 l-8 4 l8 4", 284, 290, "end", ""},
	{arrowOver, "M182 202 C240 202 240 124 190 124 m8 -4 l-8 4 l8 4", 0, 0, "start", ""},
	{arrowDeleted, "M126 26 H226 m-8 -4 l8 4 l-8 4", 176, 18, "middle", "deleted"},
}
