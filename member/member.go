package member

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"rota/internal/client"
)

// Member is a member of a group from Start to its end. One goroutine drives
// its machine; requests and callbacks run in others and report back to it.
type Member struct {
	c       Config
	kgo     *kgo.Client
	dialect dialect
	began   time.Time
	owned   ownerships

	inputs chan func() // run by the loop
	over   chan struct{}
	err    error // read after over is closed

	// What follows belongs to the loop.

	machine  *client.Machine
	lease    client.Lease
	aliveAt  time.Duration // the last call of Alive
	node     int32         // the coordinator
	sending  context.Context
	stopSend context.CancelFunc // ends the requests to the coordinator
	ctx      context.Context    // ends with the member
	cancel   context.CancelFunc

	prepared  bool           // OnJoinPrepare has been called and OnJoinComplete has not
	announced map[Shard]bool // what the program knows that it owns
	removed   []Shard        // from the program, since the last OnJoinComplete
	plan      []byte         // the assignment as it was sent
	// watched are the topics that this member, as the leader, has planned for,
	// to be looked at again at watchAt.
	watched map[string]int32
	watchAt time.Duration
	failure error // why the member ends
	forced  bool  // it ends at once
}

// Start begins to join and returns at once. The options are those of
// franz-go's client: SeedBrokers, Dialer, TLS, SASL, ClientID and so on. Close
// ends the member. Errors: of the configuration.
func Start(c Config, opts ...kgo.Opt) (*Member, error) {
	c = c.withDefaults()
	if err := c.validate(); err != nil {
		return nil, err
	}
	cl, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, err
	}
	m := &Member{
		c: c, kgo: cl, dialect: c.Work.speak(&c), began: time.Now(),
		inputs: make(chan func()), over: make(chan struct{}), announced: map[Shard]bool{},
		lease: client.Lease{Session: c.SessionTimeout, Rebalance: c.RebalanceTimeout},
	}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	m.sending, m.stopSend = context.WithCancel(m.ctx)
	conf := client.Config{
		Dialect: m.dialect, SessionTimeout: c.SessionTimeout, HeartbeatInterval: c.HeartbeatInterval,
		RebalanceTimeout: c.RebalanceTimeout, EveryCall: true, LeaveReason: "member is closed",
	}
	if c.InstanceID != "" {
		conf.InstanceID = &c.InstanceID
	}
	if c.MaxPollInterval > 0 {
		// The loop polls the machine while the program is alive; the machine
		// is to notice soon when it does not any more.
		conf.PollInterval = max(c.MaxPollInterval/8, 1)
	}
	m.machine = client.New(conf, 0)
	go m.loop()
	return m, nil
}

// Run is Start, and Close when ctx ends. It returns nil then, or why the member
// has ended before.
func Run(ctx context.Context, c Config, opts ...kgo.Opt) error {
	m, err := Start(c, opts...)
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return m.Close(context.WithoutCancel(ctx))
	case <-m.over:
		return m.err
	}
}

// Done is closed when the member has ended; Err says why.
func (m *Member) Done() <-chan struct{} { return m.over }

// Err is why the member has ended: nil if it was closed, or has not ended.
// Kafka's error codes are kerr errors: FENCED_INSTANCE_ID and
// GROUP_AUTHORIZATION_FAILED, say.
func (m *Member) Err() error {
	select {
	case <-m.over:
		return m.err
	default:
		return nil
	}
}

// Close gives up what the member owns, waits for Run, leaves the group unless
// the member is static, and returns why the member had ended if it had. If ctx
// ends first the member ends without leaving.
func (m *Member) Close(ctx context.Context) error {
	m.do(func() { m.machine.Close(m.now(), client.LeaveDefault, leaveTimeout) })
	select {
	case <-m.over:
		return m.err
	case <-ctx.Done():
		m.do(func() {
			m.forced = true
			m.fail(ctx.Err())
			m.cancel()
		})
		<-m.over
		return ctx.Err()
	}
}

// leaveTimeout is how long a member waits for the answer when it leaves.
const leaveTimeout = 5 * time.Second

// Rejoin has the group rebalance, if this member leads it or has new Metadata.
// The reason is told to the coordinator (KIP-800).
func (m *Member) Rejoin(reason string) { m.do(func() { m.machine.Rejoin(m.now(), reason) }) }

// Update replaces Config.Metadata and joins again, so that the leader learns
// of it.
func (m *Member) Update(metadata []byte, reason string) {
	m.do(func() {
		m.dialect.update(metadata)
		m.machine.Rejoin(m.now(), reason)
	})
}

// Alive says that the program is well; see Config.MaxPollInterval.
func (m *Member) Alive() { m.do(func() { m.aliveAt = m.now() }) }

// do has the loop run f, unless the member has ended.
func (m *Member) do(f func()) {
	select {
	case m.inputs <- f:
	case <-m.over:
	}
}

func (m *Member) now() time.Duration { return time.Since(m.began) }

// loop drives the machine: it runs what comes in, and does what comes out.
func (m *Member) loop() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		m.step()
		if m.machine.Closed() || m.ctx.Err() != nil {
			m.end()
			return
		}
		timer.Reset(m.deadline() - m.now())
		select {
		case f := <-m.inputs:
			f()
		case <-timer.C:
		}
	}
}

// end ends what is left after the last step.
func (m *Member) end() {
	m.owned.endAll(ErrClosed)
	m.cancel()
	if !m.forced {
		m.owned.running.Wait()
	}
	m.kgo.Close()
	m.err = m.failure
	close(m.over)
}

// step takes the machine as far as it goes.
func (m *Member) step() {
	for {
		now := m.now()
		m.checkLease(now)
		if m.c.MaxPollInterval == 0 || now-m.aliveAt <= m.c.MaxPollInterval {
			m.machine.Poll(now)
		}
		m.machine.Tick(now)
		if m.machine.Idle() {
			return
		}
		m.act(m.machine.Take())
	}
}

// deadline is when there is something to do without an input.
func (m *Member) deadline() time.Duration {
	at, ok := m.machine.Deadline()
	if !ok {
		at = math.MaxInt64
	}
	if !m.owned.none() {
		at = min(at, m.lease.Until())
	}
	if m.watched != nil {
		at = min(at, m.watchAt)
	}
	return at
}

// checkLease ends ownership when the coordinator may have given up on this
// member, and looks at topics when that is due.
func (m *Member) checkLease(now time.Duration) {
	if !m.owned.none() && now >= m.lease.Until() {
		m.c.Log.Warn("the coordinator has not been heard for too long: what this member owned is lost", "group", m.c.Group)
		m.owned.endAll(ErrLost)
		m.machine.Lose(now, "coordinator was out of reach")
	}
	if m.watched != nil && now >= m.watchAt {
		m.watch(now)
	}
}

// act does what the machine says, in its order.
func (m *Member) act(out client.Outputs) {
	if out.Drop {
		m.drop()
	}
	for _, n := range out.Notices {
		if n == client.NoticeReset {
			// Whoever has the shards next may begin at once.
			m.owned.endAll(ErrLost)
			m.watched = nil
		}
	}
	for _, s := range out.Sends {
		m.send(s)
	}
	if out.Call != nil {
		m.call(out.Call)
	}
	if out.Throw != nil {
		m.fail(out.Throw)
		m.machine.Close(m.now(), client.LeaveDefault, leaveTimeout)
	}
}

// fail notes why the member ends.
func (m *Member) fail(err error) {
	if m.failure != nil {
		return
	}
	if code, ok := errors.AsType[*client.CodeError](err); ok {
		err = fmt.Errorf("member: %s: %w", code.API, kafkaError(code.Code))
	}
	m.failure = err
	m.c.Log.Error("member ends", "group", m.c.Group, "err", err)
}

// drop ends the requests that are on their way to the coordinator.
func (m *Member) drop() {
	m.stopSend()
	m.sending, m.stopSend = context.WithCancel(m.ctx)
}
