package explore

import (
	"time"

	"rota/internal/group"
)

// The clock of a world goes in quanta, and every timeout is a multiple of it:
// so there are few ways in which deadlines can lie to each other, and the
// search comes to an end.
const (
	quantum       = 5 * time.Second
	session       = 2 * quantum
	rebalance     = 4 * quantum
	newMemberLife = 6 * quantum
)

// maxClients is how many clients a world can have.
const maxClients = 3

// Spec is a world to explore.
type Spec struct {
	Name string
	// What the world is there to show.
	About   string
	Clients []Client
	// Delay is the initial rebalance delay.
	Delay time.Duration
	// MaxSize is the limit of members; 0: none.
	MaxSize int
	// SlowLog: what is appended is durable when the search says so. Otherwise
	// it is durable at once.
	SlowLog bool
	// Loads bounds how often a path may lose and reload the shard.
	Loads int8
	// Lost bounds how many requests may be open that nobody waits for.
	Lost int
	// Formed: the search begins with a stable group of so many clients.
	Formed int
	// Actions that clients and world may take.
	Actions []kind
}

// Client is one client of a world.
type Client struct {
	Static  bool
	Version int16 // of its JoinGroup
	// Protocols are the names it offers, best first. Default: range.
	Protocols []string
}

// basic are the requests of every client.
var basic = []kind{joinNew, joinOwn, syncOwn, beatOwn, tick}

func with(more ...kind) []kind { return append(append([]kind(nil), basic...), more...) }

var (
	dynamic = Client{Version: 9}
	static  = Client{Version: 9, Static: true}
)

// Worlds are the worlds that are explored.
func Worlds() []Spec {
	return []Spec{
		{
			Name: "two", About: "two dynamic members that do anything at all", Clients: []Client{dynamic, dynamic},
			Delay: quantum, Lost: 1,
			Actions: with(wait, joinNewLost, joinLost, joinOther, joinStale, syncStale, beatStale, leaveOwn, abandon),
		},
		{
			Name: "three", About: "three dynamic members", Clients: []Client{dynamic, dynamic, dynamic},
			Actions: with(joinOther, leaveOwn, beatOwn),
		},
		{
			Name: "static", About: "a static member that restarts next to a dynamic one, and a slow log", Clients: []Client{static, dynamic},
			SlowLog: true, Loads: 1, Lost: 1,
			Actions: with(durable, fail, wait, restart, joinOther, beatStale, leaveOwn, leaveInstance, abandon),
		},
		{
			Name: "statics", About: "two static members, the first of an older version", Clients: []Client{{Static: true, Version: 5}, static},
			Delay: quantum, Loads: 1, Lost: 1,
			Actions: with(wait, restart, joinOther, syncStale, beatStale, leaveInstance, reload),
		},
		{
			Name: "failures", About: "two members, and a log that is slow, fails and is read again", Clients: []Client{dynamic, dynamic},
			SlowLog: true, Loads: 2, Lost: 1,
			Actions: with(durable, fail, reload, wait, syncAgain, leaveOwn, abandon, late),
		},
		{
			Name: "commits", About: "commits of members and others, before and after failures", Clients: []Client{dynamic, dynamic},
			SlowLog: true, Loads: 1,
			Actions: with(durable, fail, wait, leaveOwn, commitOwn, commitStale, commitNobody, fetch),
		},
		{
			Name: "old", About: "clients of JoinGroup 3, which lose their id with every answer they miss", Clients: []Client{{Version: 3}, {Version: 3}},
			Delay: quantum, Lost: 2,
			Actions: with(wait, joinNewLost, leaveOwn, abandon, restart),
		},
		{
			Name: "full", About: "three clients and room for two", Clients: []Client{dynamic, dynamic, static}, MaxSize: 2,
			Actions: with(wait, restart, leaveOwn, joinOther),
		},
		{
			Name: "operator", About: "a group that is deleted and expires between its members", Clients: []Client{dynamic, static},
			SlowLog: true, Loads: 1,
			Actions: with(durable, fail, leaveOwn, commitNobody, fetch, remove, expire),
		},
		{
			Name: "votes", About: "members with different protocols", Clients: []Client{{Version: 9, Protocols: []string{"range", "sticky"}}, {Version: 9, Static: true, Protocols: []string{"sticky"}}},
			Delay:   quantum,
			Actions: with(restart, joinOther, leaveInstance, wait),
		},
		{
			Name: "formed", About: "a stable group of three, and what becomes of it", Clients: []Client{dynamic, static, dynamic},
			Formed:  3,
			Actions: with(wait, joinOther, leaveOwn, restart),
		},
		{
			Name: "newcomer", About: "a stable group of two, and a third that is on its way", Clients: []Client{dynamic, dynamic, {Version: 3}},
			Formed: 2, Lost: 1,
			Actions: with(wait, leaveOwn, abandon),
		},
		{
			Name: "silence", About: "a stable group of a static leader and a follower that change and fall silent", Clients: []Client{static, dynamic},
			Formed:  2,
			Actions: with(wait, joinOther, restart),
		},
		{
			Name: "moves", About: "a stable group whose coordinator moves", Clients: []Client{dynamic, static},
			Formed: 2, SlowLog: true, Loads: 1,
			Actions: with(durable, fail, reload, wait, joinOther, leaveOwn, leaveInstance, commitOwn),
		},
	}
}

func (s *Spec) config() *group.Config {
	c := group.DefaultConfig()
	c.InitialDelay, c.NewMemberTimeout = s.Delay, newMemberLife
	c.CheckInvariants = true
	if s.MaxSize > 0 {
		c.MaxSize = s.MaxSize
	}
	return &c
}
