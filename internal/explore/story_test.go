package explore

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"rota/internal/group"
	"rota/internal/scenario"
)

// TestPathsPlayAsScenarios walks at random and plays what was walked: the
// scenario must bring the group where the walk has brought it.
func TestPathsPlayAsScenarios(t *testing.T) {
	for _, spec := range Worlds() {
		r := rand.New(rand.NewPCG(1, 1))
		actions := spec.actions()
		for range 10 {
			w := newWorld(&spec)
			var path []action
			if spec.Formed > 0 {
				path = w.opening()
			}
			for range 30 {
				if a := actions[r.IntN(len(actions))]; w.can(a) && w.do(a) {
					path = append(path, a)
				}
			}
			if w.wrong != "" {
				t.Fatalf("%s: %s", spec.Name, w.wrong)
			}
			if len(w.flight) > 0 { // a scenario ends with a durable log
				w.do(action{durable, nobody})
				path = append(path, action{durable, nobody})
			}
			script := script(&spec, &Result{Path: path, Wrong: "nothing"})
			file, err := scenario.Parse("walk", []byte(script))
			if err != nil {
				t.Fatalf("%v\n%s", err, script)
			}
			var played *group.Group
			_, err = scenario.Run(file, func(id string, c *group.Config) scenario.Machine {
				return &noted{group.New(id, c), &played}
			})
			if err != nil {
				t.Fatalf("%s: %v\n%s", spec.Name, err, script)
			}
			if got, want := textWithoutTickets(t, played), textWithoutTickets(t, w.g); got != want && w.g.Exists() {
				t.Fatalf("%s: played:\n%s\nwalked:\n%s\n%s", spec.Name, got, want, script)
			}
		}
	}
}

// noted is a group that says so when it serves.
type noted struct {
	*group.Group
	served **group.Group
}

func (n *noted) Step(now group.Now, at group.Offset, t group.Ticket, req group.Request) group.Effects {
	*n.served = n.Group
	return n.Group.Step(now, at, t, req)
}

func (n *noted) Loaded(now group.Now, at group.Offset, epoch int32) group.Effects {
	*n.served = n.Group
	return n.Group.Loaded(now, at, epoch)
}

// textWithoutTickets is the text of a group without its tickets, which two shells may
// number in two ways.
func textWithoutTickets(t *testing.T, g *group.Group) string {
	t.Helper()
	if g == nil {
		return ""
	}
	text, err := g.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	lines := slices.DeleteFunc(strings.Split(string(text), "\n"), func(l string) bool { return strings.Contains(l, "ticket=") })
	return strings.Join(lines, "\n")
}
