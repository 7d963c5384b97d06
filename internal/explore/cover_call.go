package explore

import "rota/internal/group"

// Call is one call on a group, as an observer sees it.
type Call struct {
	Request group.Request // nil for a tick or a load
	Ticket  group.Ticket
}

func begin(*group.Group, group.Request, group.Ticket) *Call { return &Call{} }
func (c *Call) end(*group.Group, *group.Effects)            {}
