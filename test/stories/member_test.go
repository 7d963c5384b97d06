package stories

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// member is a consumer in the group.
type member struct {
	w    *world
	name string
	cl   *kgo.Client
	line line

	mu      sync.Mutex
	beats   int
	joins   int
	parked  bool          // its JoinGroup or SyncGroup waits, as far as one can see
	changed chan struct{} // closed when one of these changes
	busy    chan struct{} // while it is not closed, partitions are not given up
}

// line is a member's network, which can be cut.
type line struct {
	mu    sync.Mutex
	conns []net.Conn
	cut   bool
}

var errCut = errors.New("the process is dead")

func (l *line) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	l.mu.Lock()
	cut := l.cut
	l.mu.Unlock()
	if cut {
		return nil, errCut
	}
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut {
		conn.Close()
		return nil, errCut
	}
	l.conns = append(l.conns, conn)
	return conn, nil
}

func (l *line) kill() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = true
	for _, c := range l.conns {
		c.Close()
	}
}

// join starts a member. Options come on top of those that all have.
func (w *world) join(name string, options ...kgo.Opt) *member {
	w.Helper()
	m := &member{w: w, name: name, changed: make(chan struct{}), busy: make(chan struct{})}
	close(m.busy)
	m.observe(kmsg.Heartbeat, false)
	m.observe(kmsg.JoinGroup, true)
	m.observe(kmsg.SyncGroup, true)
	cl, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(w.b.Addr()), kgo.ClientID(name), kgo.Dialer(m.line.dial),
		kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.Balancers(kgo.RangeBalancer()),
		kgo.HeartbeatInterval(30 * time.Millisecond), kgo.SessionTimeout(45 * time.Second), kgo.RebalanceTimeout(time.Minute),
		kgo.MetadataMinAge(10 * time.Millisecond), kgo.MetadataMaxAge(100 * time.Millisecond), kgo.FetchMaxWait(100 * time.Millisecond),
		kgo.RetryTimeout(time.Second), kgo.RequestRetries(100), kgo.RetryBackoffFn(func(int) time.Duration { return 10 * time.Millisecond }),
		kgo.OnPartitionsRevoked(func(context.Context, *kgo.Client, map[string][]int32) {
			m.mu.Lock()
			busy := m.busy
			m.mu.Unlock()
			<-busy
		}),
	}, options...)...)
	if err != nil {
		w.Fatal(err)
	}
	m.cl = cl
	w.Cleanup(func() {
		m.work(false)
		m.line.kill()
		m.close()
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.alive = append(w.alive, m)
	return m
}

// observe sees requests of the member without touching them.
func (m *member) observe(key kmsg.Key, parks bool) {
	m.w.b.On(key).From(m.name).Times(-1).If(func(kmsg.Request) bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.parked = parks
		if parks {
			m.joins++
		} else {
			m.beats++
		}
		close(m.changed)
		m.changed = make(chan struct{})
		return false
	}).Drop()
}

// heard waits until the member has said something after the call, unless its
// last request waits for its answer, which it may as long as the group is not
// stable.
func (m *member) heard(stable bool) {
	m.w.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	m.mu.Lock()
	beats, joins := m.beats, m.joins
	for m.beats < beats+2 && m.joins == joins && (stable || !m.parked) { // one heartbeat may have been on its way
		changed := m.changed
		m.mu.Unlock()
		select {
		case <-changed:
		case <-limit.C:
			m.w.Fatalf("%s is not heard of", m.name)
		}
		m.mu.Lock()
	}
	m.mu.Unlock()
}

// work has the member be busy with what it has read, or not: a busy one does
// not give up its partitions, and so does not join again.
func (m *member) work(busy bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case <-m.busy:
		if busy {
			m.busy = make(chan struct{})
		}
	default:
		if !busy {
			close(m.busy)
		}
	}
}

// gone says that no heartbeat is to be expected of it any more.
func (m *member) gone() {
	m.w.mu.Lock()
	defer m.w.mu.Unlock()
	for i, o := range m.w.alive {
		if o == m {
			m.w.alive = append(m.w.alive[:i:i], m.w.alive[i+1:]...)
			return
		}
	}
}

// leave ends the member as a program that is told to stop.
func (m *member) leave() {
	m.gone()
	m.cl.Close()
}

// kill ends it as kill -9 does: its connections break and nobody is told.
func (m *member) kill() {
	m.gone()
	m.line.kill()
}

// close ends the client whatever state its network is in.
func (m *member) close() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = m.cl.LeaveGroupContext(ctx)
	m.cl.Close()
}

// id is its member id, "" while it has none.
func (m *member) id() string {
	id, _ := m.cl.GroupMetadata()
	return id
}

// patience is how long something may take that happens at once, on a machine
// that does other things as well.
const patience = 60 * time.Second
