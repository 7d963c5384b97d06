package explore

import (
	"time"

	"rota/internal/group"
	"rota/internal/scenario"
)

// watched is a group whose calls are told to an observer.
type watched struct {
	*group.Group
	tell func(*Call)
}

var _ scenario.Machine = (*watched)(nil)

func (w *watched) call(req group.Request, t group.Ticket, run func() group.Effects) group.Effects {
	c := begin(w.Group, req, t)
	fx := run()
	c.end(w.Group, &fx)
	w.tell(c)
	return fx
}

// Step implements scenario.Machine.
func (w *watched) Step(now group.Now, at group.Offset, t group.Ticket, req group.Request) group.Effects {
	return w.call(req, t, func() group.Effects { return w.Group.Step(now, at, t, req) })
}

// Tick implements scenario.Machine.
func (w *watched) Tick(now group.Now, at group.Offset) group.Effects {
	return w.call(nil, 0, func() group.Effects { return w.Group.Tick(now, at) })
}

// Loaded implements scenario.Machine.
func (w *watched) Loaded(now group.Now, at group.Offset, epoch int32) group.Effects {
	return w.call(nil, 0, func() group.Effects { return w.Group.Loaded(now, at, epoch) })
}

// Unload implements scenario.Machine.
func (w *watched) Unload(now group.Now) group.Effects {
	return w.call(nil, 0, func() group.Effects { return w.Group.Unload(now) })
}

// Forgive implements scenario.Machine.
func (w *watched) Forgive(now group.Now, late time.Duration) {
	w.call(forgiven{}, 0, func() group.Effects { w.Group.Forgive(now, late); return group.Effects{} })
}

// Apply implements scenario.Machine.
func (w *watched) Apply(e group.Entry) error {
	c := begin(w.Group, nil, 0)
	err := w.Group.Apply(e)
	c.end(w.Group, &group.Effects{})
	c.Request = applied{group.Describe{}, e, err}
	w.tell(c)
	return err
}

// forgiven and applied stand for calls that are no requests.
type (
	forgiven struct{ group.Describe }
	applied  struct {
		group.Describe
		entry group.Entry
		err   error
	}
)

// watchFile plays a scenario file and tells what happens.
func watchFile(f *scenario.File, tell func(*Call)) error {
	happened, err := scenario.Run(f, func(id string, c *group.Config) scenario.Machine {
		return &watched{group.New(id, c), tell}
	})
	if err != nil {
		return err
	}
	loading := false
	for i := range happened.Blocks {
		b := &happened.Blocks[i]
		switch {
		case b.Input.Kind == scenario.Command && b.Input.Words[0] == "loading":
			loading = true
		case b.Input.Kind == scenario.Command && b.Input.Words[0] == "loaded":
			loading = false
		case b.Input.Kind == scenario.Request && loading:
			for _, l := range b.Body {
				if l.Kind == scenario.Reply && l.Who == b.Input.Who {
					tell(&Call{Loading: true, Before: &Facts{}, After: &Facts{}, Request: lineCall{verb: b.Input.Words[0], words: l.Words}})
				}
			}
		}
	}
	return nil
}

// lineCall is a request that the shell answers by itself.
type lineCall struct {
	group.Describe
	verb  string
	words []string
}
