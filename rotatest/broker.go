package rotatest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"rota"
	"rota/internal/hooks"
	"rota/internal/vfs"
)

// Broker is a broker that ends with its test. Its methods may be called from
// any goroutine, those that can fail the test from the test's own only.
type Broker struct {
	t       testing.TB
	options options
	network *network // nil: TCP
	addr    string
	ahead   atomic.Int64 // how far the clocks have been moved, in nanoseconds
	faults  faults
	story   *story

	// changing is held while the broker is stopped and started, and while its
	// clocks move.
	changing sync.Mutex
	disk     *vfs.Mem
	running  *rota.Broker
	rooms    atomic.Pointer[hooks.Rooms]
}

// options are what was asked for.
type options struct {
	topics     []topic
	properties map[string]string
	inMemory   bool
	patience   time.Duration
	log        *slog.Logger
}

type topic struct {
	name       string
	partitions int32
	config     map[string]string
}

// Option says how the broker shall be.
type Option func(*options)

// Topic makes a topic. Its configuration is given as key=value.
func Topic(name string, partitions int, config ...string) Option {
	return func(o *options) { o.topics = append(o.topics, topic{name, int32(partitions), pairs(config)}) }
}

// Properties sets broker settings, given as key=value, by Kafka's names.
// Unlike in rota.Config, group.initial.rebalance.delay.ms is 0 unless it is set.
func Properties(settings ...string) Option {
	return func(o *options) { maps.Copy(o.properties, pairs(settings)) }
}

// InMemory has the broker listen on a network in memory, which Dial connects
// to, instead of a port of the loopback interface.
func InMemory() Option { return func(o *options) { o.inMemory = true } }

// Patience is how long Wait functions wait before they fail the test. Default
// 10 s.
func Patience(d time.Duration) Option { return func(o *options) { o.patience = d } }

// Log receives what the broker logs. Default: discarded.
func Log(l *slog.Logger) Option { return func(o *options) { o.log = l } }

func pairs(list []string) map[string]string {
	m := make(map[string]string, len(list))
	for _, s := range list {
		key, value, _ := strings.Cut(s, "=")
		m[key] = value
	}
	return m
}

// Start starts a broker that ends with the test. It serves, with its topics,
// when Start returns.
func Start(t testing.TB, opts ...Option) *Broker {
	t.Helper()
	o := options{
		properties: map[string]string{"group.initial.rebalance.delay.ms": "0"},
		patience:   10 * time.Second,
	}
	for _, opt := range opts {
		opt(&o)
	}
	b := &Broker{t: t, options: o, disk: vfs.NewMem()}
	b.story = newStory(b.Now)
	if o.inMemory {
		b.network = newNetwork()
		b.addr = b.network.addr
	}
	if err := b.run(); err != nil {
		t.Fatalf("rotatest: %v", err)
	}
	t.Cleanup(b.end)
	for _, topic := range o.topics {
		b.createTopic(topic)
	}
	return b
}

// run starts the broker on the disk as it is.
func (b *Broker) run() error {
	l, err := b.listen()
	if err != nil {
		return err
	}
	h := &hooks.Hooks{
		FS: b.disk, Table: b.faults.table, Events: b.story.take,
		Started: func(r hooks.Rooms) { b.rooms.Store(&r) },
	}
	b.running, err = rota.Start(hooks.With(context.Background(), h), rota.Config{
		Listener: l, Properties: b.options.properties, Now: b.Now, Log: b.options.log,
	})
	if err != nil {
		return errors.Join(err, l.Close())
	}
	b.addr = b.running.Addr()
	<-b.rooms.Load().Coordinator.Loaded()
	return nil
}

func (b *Broker) listen() (net.Listener, error) {
	if b.network != nil {
		return b.network.listen(), nil
	}
	addr := b.addr
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	return new(net.ListenConfig).Listen(context.Background(), "tcp", addr)
}

// end is the end of the test.
func (b *Broker) end() {
	if b.t.Failed() {
		if told := b.story.String(); told != "" {
			b.t.Logf("what happened to the groups:\n%s", told)
		}
	}
	if err := b.stop(); err != nil {
		b.t.Errorf("rotatest: the broker ended badly: %v", err)
	}
}

func (b *Broker) stop() error {
	b.changing.Lock()
	defer b.changing.Unlock()
	err := b.running.Close()
	b.faults.wait()
	return err
}

// Addr is the address of the broker, host:port, for clients' seed brokers. It
// stays the same through Crash and Restart.
func (b *Broker) Addr() string { return b.addr }

// Dial connects to the broker. It fits kgo.Dialer, and net.Dialer's DialContext.
func (b *Broker) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if b.network == nil {
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
	return b.network.dial(ctx, addr)
}

// CreateTopic makes a topic. Its configuration is given as key=value.
func (b *Broker) CreateTopic(name string, partitions int, config ...string) {
	b.t.Helper()
	b.createTopic(topic{name, int32(partitions), pairs(config)})
}

func (b *Broker) createTopic(t topic) {
	b.t.Helper()
	_, err := b.rooms.Load().Broker.CreateTopic(context.Background(), t.name, t.partitions, t.config, false)
	if err != nil {
		b.t.Fatalf("rotatest: create topic %s: %v", t.name, err)
	}
}

// MoveCoordinator has the coordinator of the group move, as if another broker
// had taken over: its members are told NOT_COORDINATOR, and then find it here
// again, under a new leader epoch. It returns when the group is served again.
func (b *Broker) MoveCoordinator(group string) {
	b.t.Helper()
	c := b.rooms.Load().Coordinator
	if err := c.Move(c.PartitionOf(group)); err != nil {
		b.t.Fatalf("rotatest: move the coordinator of %s: %v", group, err)
	}
}

func (b *Broker) String() string { return fmt.Sprintf("broker at %s", b.addr) }
