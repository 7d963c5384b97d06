package group

import "time"

// Group is one consumer group, whether or not it exists yet: a Group without
// any state answers every request as Kafka answers for an unknown group, and
// Exists says whether there is anything to keep.
type Group struct{}

// New returns the group of that id with no state.
func New(id string, c *Config) *Group { panic("not built") }

// Exists reports whether the group holds any state. The caller may drop a
// Group that does not exist.
func (g *Group) Exists() bool { panic("not built") }

// Step runs one request that arrived at now and returns its effects. at is the
// log offset that the next record will get. A request that must wait, such as a
// join during a rebalance, has no reply yet: its Ticket comes back in the
// effects of a later call.
//
// Calls must not run now.Mono backwards.
func (g *Group) Step(now Now, at Offset, t Ticket, req Request) Effects { panic("not built") }

// Tick runs every deadline at or before now, earliest first, and returns their
// effects. Calling it early or twice does nothing.
func (g *Group) Tick(now Now, at Offset) Effects { panic("not built") }

// Deadline returns the next time (Now.Mono) at which Tick has work, and false
// if there is none.
func (g *Group) Deadline() (time.Duration, bool) { panic("not built") }

// Apply folds one entry of the group log into the group. Step and Tick call it
// for the entries they emit; recovery calls it for those it reads. The error
// says that a known record cannot be decoded: the load of the shard fails.
// Keys are decoded by package schema, which also says to which group they belong.
func (g *Group) Apply(e Entry) error { panic("not built") }

// Loaded ends a replay: every member gets a full session, a group over its
// size limit starts a rebalance, and epoch (this shard's leader epoch) sets the
// generation numbers apart from those of earlier epochs.
func (g *Group) Loaded(now Now, at Offset, epoch int32) Effects { panic("not built") }

// Released says that the reply with this ticket has been released by the
// shell: the session of the member it went to starts in full.
func (g *Group) Released(now Now, t Ticket) { panic("not built") }

// Forgive is called instead of Tick when the shard finds itself late: it
// restarts every session in full and moves join, sync and pending-id deadlines
// by late.
func (g *Group) Forgive(now Now, late time.Duration) { panic("not built") }

// Unload ends the group's life on this shard: every parked request is answered
// with NOT_COORDINATOR. The Group must not be used after it.
func (g *Group) Unload(now Now) Effects { panic("not built") }

// Parked lists the tickets of parked requests, in the order of arrival.
func (g *Group) Parked() []Ticket { panic("not built") }

// Summary is a group's line in ListGroups.
type Summary struct {
	ID           string
	ProtocolType string
	State        string
	GroupType    string // "classic"
}

// Summary describes the group for ListGroups.
func (g *Group) Summary() Summary { panic("not built") }

// MarshalText writes everything the group knows, sorted and readable: what
// replay tests compare and what a crash report holds. Open requests and
// deadlines come last, under a line of their own, so that a comparison can
// leave them out.
func (g *Group) MarshalText() ([]byte, error) { panic("not built") }
