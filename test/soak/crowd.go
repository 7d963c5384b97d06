package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	// partitions is how many each group's topic has.
	partitions = 12
	// produceEvery is the pause between two records, for all topics in turn.
	produceEvery = 2 * time.Millisecond
)

// crowd is the clients: those that are there, and what happened to all.
type crowd struct {
	o      options
	random *rand.Rand
	// here are the members of each group, oldest first.
	here [][]*consumer
	// short is the group that lacks a member, -1 if none does: groups keep
	// their size, so that what is measured does not depend on luck.
	short int

	joined, left, died, produced int
	consumed                     atomic.Int64
	ending                       sync.WaitGroup
}

// runClients keeps the crowd going until the input ends.
func runClients(ctx context.Context, o options, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, in) // whatever ends it, it has ended
		cancel()
	}()
	c := &crowd{o: o, random: rand.New(rand.NewPCG(1, 2)), here: make([][]*consumer, o.groups), short: -1}
	if err := c.createTopics(ctx); err != nil {
		return err
	}
	for i := range o.clients {
		if err := c.join(i % o.groups); err != nil {
			return err
		}
	}
	err := c.change(ctx)
	for g := range c.here {
		for len(c.here[g]) > 0 {
			c.remove(g, 0).die(&c.ending)
		}
	}
	c.ending.Wait()
	fmt.Fprintf(out, "clients: %d joined, %d left, %d died; %d records were produced and %d consumed\n",
		c.joined, c.left, c.died, c.produced, c.consumed.Load())
	if c.consumed.Load() < int64(c.produced)/2 {
		err = errors.Join(err, errors.New("less than half of the records were consumed"))
	}
	return err
}

func topicOf(group int) string { return fmt.Sprint("topic-", group) }

func (c *crowd) createTopics(ctx context.Context) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.o.broker))
	if err != nil {
		return err
	}
	defer cl.Close()
	names := make([]string, c.o.groups)
	for g := range names {
		names[g] = topicOf(g)
	}
	_, err = kadm.NewClient(cl).CreateTopics(ctx, partitions, 1, nil, names...)
	return err
}

// change lets one member join, leave or die every second, and produces.
func (c *crowd) change(ctx context.Context) error {
	p, err := kgo.NewClient(kgo.SeedBrokers(c.o.broker), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()), kgo.ProducerLinger(0))
	if err != nil {
		return err
	}
	defer p.Close()
	second, tick := time.NewTicker(time.Second), time.NewTicker(produceEvery)
	defer second.Stop()
	defer tick.Stop()
	value := make([]byte, 256)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			c.produced++
			p.Produce(ctx, &kgo.Record{Topic: topicOf(c.produced % c.o.groups), Value: value}, nil)
		case <-second.C:
			if err := c.changeOne(); err != nil {
				return err
			}
		}
	}
}

// changeOne takes one away, or puts another one in its place.
func (c *crowd) changeOne() error {
	if g := c.short; g >= 0 {
		c.short = -1
		return c.join(g)
	}
	g := c.random.IntN(c.o.groups)
	c.short = g
	m := c.remove(g, c.random.IntN(len(c.here[g])))
	if c.random.IntN(2) == 0 {
		c.left++
		m.leave(&c.ending)
		return nil
	}
	c.died++
	m.die(&c.ending)
	return nil
}

func (c *crowd) join(group int) error {
	m, err := newConsumer(c.o.broker, group, &c.consumed)
	if err != nil {
		return err
	}
	c.here[group] = append(c.here[group], m)
	c.joined++
	return nil
}

func (c *crowd) remove(group, i int) *consumer {
	m := c.here[group][i]
	c.here[group] = append(c.here[group][:i:i], c.here[group][i+1:]...)
	return m
}

// consumer is one member of a group, with connections of its own.
type consumer struct {
	cl     *kgo.Client
	cancel context.CancelFunc

	mu    sync.Mutex
	dead  bool
	conns []net.Conn
}

func newConsumer(broker string, group int, consumed *atomic.Int64) (*consumer, error) {
	m := &consumer{}
	cl, err := kgo.NewClient(
		kgo.SeedBrokers(broker), kgo.Dialer(m.dial),
		kgo.ConsumeTopics(topicOf(group)), kgo.ConsumerGroup(fmt.Sprint("group-", group)),
		kgo.SessionTimeout(5*time.Second), kgo.HeartbeatInterval(time.Second), kgo.AutoCommitInterval(time.Second),
		kgo.FetchMaxWait(2*time.Second), kgo.RetryTimeout(2*time.Second),
		kgo.ConnIdleTimeout(15*time.Minute), // as many connections at any time
	)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	m.cl, m.cancel = cl, cancel
	go func() {
		for ctx.Err() == nil {
			consumed.Add(int64(cl.PollFetches(ctx).NumRecords()))
		}
	}()
	return m, nil
}

var errDead = errors.New("this client is dead")

func (m *consumer) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		_ = c.Close()
		return nil, errDead
	}
	m.conns = append(m.conns, c)
	return c, nil
}

// leave ends the client as a good one ends.
func (m *consumer) leave(ending *sync.WaitGroup) {
	ending.Go(func() {
		m.cancel()
		m.cl.CloseAllowingRebalance()
	})
}

// die cuts the client's connections, so that the broker hears no more of it.
func (m *consumer) die(ending *sync.WaitGroup) {
	m.mu.Lock()
	m.dead = true
	for _, c := range m.conns {
		_ = c.Close()
	}
	m.mu.Unlock()
	m.leave(ending)
}
