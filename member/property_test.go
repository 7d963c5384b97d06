package member_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/member"
	"rota/rotatest"
)

// registry is where live ownership contexts are counted: the work that must
// never be done by two.
type registry struct {
	t      *testing.T
	mu     sync.Mutex
	live   map[member.Shard]entry
	tokens map[member.Shard]entry
	grants int
}

type entry struct {
	ctx   context.Context
	who   string
	token int32
}

// enter notes an ownership, which must be the only live one of its shard, with
// a higher token than any owner before.
func (r *registry) enter(ctx context.Context, who string, o member.Ownership) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.grants++
	if e, ok := r.live[o.Shard]; ok && e.ctx.Err() == nil && ctx.Err() == nil {
		r.t.Errorf("shard %d: %s owns it with token %d while %s does with %d", o.Shard.Partition, who, o.Token, e.who, e.token)
	}
	// A member that was out of reach may get the shard back in the generation
	// that it had it in; nobody else had it in between.
	if last, ok := r.tokens[o.Shard]; ok && (o.Token < last.token || o.Token == last.token && who != last.who) {
		r.t.Errorf("shard %d: token %d of %s after %d of %s", o.Shard.Partition, o.Token, who, last.token, last.who)
	}
	r.tokens[o.Shard] = entry{who: who, token: o.Token}
	r.live[o.Shard] = entry{ctx, who, o.Token}
}

// order checks the callbacks of one member: prepare, complete, prepare, ... and
// nothing is added, revoked or lost that was not, or was, owned.
type order struct {
	t        *testing.T
	who      string
	mu       sync.Mutex
	prepared bool
	done     bool // a rebalance has been completed
	owned    map[member.Shard]bool
	counts   [3]int
}

func (o *order) attach(c *member.Config) {
	c.OnJoinPrepare = func(p member.Prepare) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.counts[0]++
		if o.prepared {
			o.t.Errorf("%s: OnJoinPrepare twice", o.who)
		}
		o.prepared = true
		o.remove("revoked", p.Revoked)
	}
	c.OnJoinComplete = func(p member.Complete) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.counts[1]++
		if !o.prepared {
			o.t.Errorf("%s: OnJoinComplete without OnJoinPrepare", o.who)
		}
		o.prepared, o.done = false, true
		for _, s := range p.Removed {
			delete(o.owned, s)
		}
		for _, s := range p.Added {
			if o.owned[s] {
				o.t.Errorf("%s: shard %d is added, and was owned", o.who, s.Partition)
			}
			o.owned[s] = true
		}
		if len(o.owned) != len(p.Owned) {
			o.t.Errorf("%s: %d are owned, by the changes %d", o.who, len(p.Owned), len(o.owned))
		}
	}
	c.OnLost = func(list []member.Shard) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.counts[2]++
		if !o.done {
			o.t.Errorf("%s: OnLost before the first OnJoinComplete", o.who)
		}
		o.remove("lost", list)
	}
}

func (o *order) remove(how string, list []member.Shard) {
	for _, s := range list {
		if !o.owned[s] {
			o.t.Errorf("%s: shard %d is %s, and was not owned", o.who, s.Partition, how)
		}
		delete(o.owned, s)
	}
}

// chaos is one run of the property test.
type chaos struct {
	*world
	random  *rand.Rand
	reg     *registry
	config  member.Config
	members map[string]*player
	next    int
}

// player is a member whose network can be cut.
type player struct {
	m     *member.Member
	order *order
	mu    sync.Mutex
	cut   bool
	conns []net.Conn
}

// dial lets no connection through while the player is cut off.
func (p *player) dial(b *rotatest.Broker) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		p.mu.Lock()
		cut := p.cut
		p.mu.Unlock()
		if cut {
			return nil, errors.New("network is down")
		}
		c, err := b.Dial(ctx, network, addr)
		if err == nil {
			p.mu.Lock()
			p.conns = append(p.conns, c)
			p.mu.Unlock()
		}
		return c, err
	}
}

func (p *player) setCut(cut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = cut
	if cut {
		for _, c := range p.conns {
			_ = c.Close()
		}
		p.conns = nil
	}
}

func (c *chaos) join() {
	name := fmt.Sprintf("m%d", c.next)
	c.next++
	p := &player{order: &order{t: c.T, who: name, owned: map[member.Shard]bool{}}}
	conf := c.config
	conf.Group = "g"
	p.order.attach(&conf)
	// Programs differ in how fast they let go.
	lag := time.Duration(c.random.IntN(3000)) * time.Millisecond
	conf.Run = func(ctx context.Context, o member.Ownership) {
		c.reg.enter(ctx, name, o)
		<-ctx.Done()
		time.Sleep(lag)
	}
	m, err := member.Start(conf, kgo.SeedBrokers(c.b.Addr()), kgo.Dialer(p.dial(c.b)), kgo.ClientID(name))
	if err != nil {
		c.Fatal(err)
	}
	p.m = m
	c.Cleanup(func() { c.close(m) })
	c.members[name] = p
}

func (c *chaos) pick() (string, *player) {
	names := make([]string, 0, len(c.members))
	for name := range c.members {
		names = append(names, name)
	}
	if len(names) == 0 {
		return "", nil
	}
	slices.Sort(names)
	name := names[c.random.IntN(len(names))]
	return name, c.members[name]
}

// act does one thing that may happen to a group.
func (c *chaos) act() string {
	name, p := c.pick()
	switch n := c.random.IntN(14); {
	case n < 3 && len(c.members) < 5, p == nil:
		c.join()
		return "join"
	case n == 3:
		delete(c.members, name)
		c.close(p.m)
		return "leave " + name
	case n == 4: // a crash, as the group sees it: silence, and the end
		p.setCut(true)
		delete(c.members, name)
		return "crash " + name
	case n < 7:
		p.setCut(true)
		return "cut off " + name
	case n < 9:
		for _, p := range c.members {
			p.setCut(false)
		}
		return "heal"
	case n == 9:
		c.b.MoveCoordinator("g")
		return "move"
	case n == 10:
		c.b.Crash()
		return "broker crash"
	default:
		keys := []kmsg.Key{kmsg.JoinGroup, kmsg.SyncGroup, kmsg.Heartbeat}
		key := keys[c.random.IntN(len(keys))]
		if c.random.IntN(2) == 0 {
			c.b.On(key).From(name).Delay(time.Duration(c.random.IntN(12_000)) * time.Millisecond)
			return "delay " + key.Name() + " of " + name
		}
		c.b.On(key).DropReply()
		return "lose a reply to " + key.Name()
	}
}

func playChaos(w *world, seed uint64, c member.Config) {
	reg := &registry{t: w.T, live: map[member.Shard]entry{}, tokens: map[member.Shard]entry{}}
	run := &chaos{world: w, random: rand.New(rand.NewPCG(seed, 1)), reg: reg, config: c, members: map[string]*player{}}
	run.join()
	var did []string
	for range 40 {
		did = append(did, run.act())
		time.Sleep(time.Duration(run.random.IntN(20_000)) * time.Millisecond)
	}
	for _, p := range run.members {
		p.setCut(false)
	}
	if len(run.members) == 0 {
		run.join()
	}
	// With the faults over, every shard has its owner.
	time.Sleep(5 * time.Minute)
	synctest.Wait()
	total := 0
	for _, p := range run.members {
		total += len(p.m.Owned())
		if err := p.m.Err(); err != nil {
			w.Errorf("a member has ended: %v", err)
		}
	}
	if total != 7 {
		w.Errorf("%d of 7 shards have an owner in the end", total)
	}
	if w.Failed() {
		w.Logf("seed %d: %s", seed, strings.Join(did, ", "))
	}
}

// TestNoShardHasTwoOwners lets members join, leave, crash, lose their network,
// and the coordinator move and crash, and checks at every grant that nobody else
// has a live context for the shard.
func TestNoShardHasTwoOwners(t *testing.T) {
	for _, a := range []member.Assignor{member.CooperativeSticky(), member.Sticky(), member.RoundRobin()} {
		for seed := range uint64(6) {
			t.Run(fmt.Sprintf("%s/%d", a.Name(), seed), func(t *testing.T) {
				c := member.Config{
					Work: member.Shards(7), Assignors: []member.Assignor{a},
					SessionTimeout: 10 * time.Second, HeartbeatInterval: time.Second, RebalanceTimeout: 15 * time.Second,
				}
				if seed%2 == 1 { // the join deadline comes first
					c.SessionTimeout, c.RebalanceTimeout = 30*time.Second, 6*time.Second
				}
				bubble(t, func(w *world) { playChaos(w, seed, c) })
			})
		}
	}
}
