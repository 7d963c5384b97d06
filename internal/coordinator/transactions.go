package coordinator

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"rota/internal/machine"
	"rota/internal/schema"
	"rota/internal/storage"
	"rota/internal/txn"
)

// TransactionsConfig says what Transactions run on.
type TransactionsConfig struct {
	Partitions int32      // of __transaction_state; 50
	Txn        txn.Config // default txn.DefaultConfig
	// Exists says that __transaction_state is there already, so that its shards
	// are loaded at once. Otherwise the first producer has it made.
	Exists bool
	// Create makes __transaction_state, if it is not there.
	Create func(context.Context) error
	// Open returns the log of partition p of __transaction_state.
	Open func(p int32) (*storage.Log, error)
	// NextEpoch takes the next number of the durable leader epoch counter.
	NextEpoch func() (int32, error)
	// ProducerID returns a producer id that was never given before.
	ProducerID func(context.Context) (int64, error)
	// Mark appends a marker to a partition. done is called once, from any
	// goroutine: with nil when the marker is durable or the partition is no more,
	// with an error if it is to be tried again. storage.ErrCoordinatorFenced and
	// storage.ErrInvalidProducerEpoch say that the partition knows better.
	Mark func(tp txn.TopicPartition, m storage.Marker, done func(error))
	// Now is the present. Default: the process's monotonic and wall clocks.
	Now func() machine.Now
	// ExpireInterval is transaction.remove.expired.transaction.cleanup.interval.ms, 1 h.
	ExpireInterval time.Duration
	// CrashDir receives the file of a panic; empty: none is written.
	CrashDir string
	// Log receives what an operator must know. Default: discarded.
	Log *slog.Logger
}

func (c TransactionsConfig) withDefaults() TransactionsConfig {
	if c.Partitions == 0 {
		c.Partitions = 50
	}
	if c.Txn == (txn.Config{}) {
		c.Txn = txn.DefaultConfig()
	}
	if c.Now == nil {
		c.Now = processClock()
	}
	if c.ExpireInterval == 0 {
		c.ExpireInterval = time.Hour
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// txnShell is the shell of transactional ids.
type txnShell = shell[txn.Request, txn.Response, txn.Event]

// txnSettings are what may change while transactions run.
type txnSettings struct {
	txn            txn.Config
	expireInterval time.Duration
}

// Transactions run the transactional ids of one broker over the partitions of
// __transaction_state, as a Coordinator runs groups. Until the first producer
// comes there is no such topic and nothing runs.
type Transactions struct {
	config   TransactionsConfig
	open     func(p int32) (partitionLog, error)
	settings atomic.Pointer[txnSettings]
	shell    atomic.Pointer[txnShell] // nil until the topic is there
	making   chan struct{}            // holds a token while the topic is made
	markers  worker

	ctx     context.Context
	cancel  context.CancelFunc
	mu      sync.Mutex
	closing bool // guarded by mu
	work    sync.WaitGroup
}

// StartTransactions begins to load the shards if there is something to load,
// and returns.
func StartTransactions(c TransactionsConfig) (*Transactions, error) {
	if c.Create == nil || c.Open == nil || c.NextEpoch == nil || c.ProducerID == nil || c.Mark == nil {
		return nil, errors.New("coordinator: Create, Open, NextEpoch, ProducerID and Mark are needed")
	}
	return startTransactions(c, func(p int32) (partitionLog, error) {
		l, err := c.Open(p)
		if err != nil {
			return nil, err
		}
		return storedLog{l}, nil
	}), nil
}

func startTransactions(c TransactionsConfig, open func(int32) (partitionLog, error)) *Transactions {
	t := &Transactions{config: c.withDefaults(), open: open, making: make(chan struct{}, 1)}
	t.settings.Store(&txnSettings{t.config.Txn, t.config.ExpireInterval})
	t.ctx, t.cancel = context.WithCancel(context.Background())
	if t.config.Exists {
		t.startShell()
	}
	return t
}

func (t *Transactions) startShell() *txnShell {
	c := &t.config
	s := &txnShell{
		config: shellConfig{c.Partitions, c.NextEpoch, c.Now, c.CrashDir, c.Log.With("topic", "__transaction_state")},
		idName: "transactional_id", open: t.open, publish: t.publish, refuse: txn.Refuse, crashText: txnCrash,
		newKind: func() Kind[txn.Request, txn.Response, txn.Event] { return &txnKind{} },
		configure: func(s *Shard[txn.Request, txn.Response, txn.Event]) {
			set := t.settings.Load()
			if k, ok := s.kind.(*txnKind); ok {
				k.config = set.txn
			}
			s.SetInterval(set.expireInterval)
		},
	}
	s.prepare()
	t.shell.Store(s) // before anything is loaded: what a load asks for comes back through Submit
	s.start()
	return s
}

// Ensure makes __transaction_state if it is not there yet, and waits until its
// shards have loaded. Errors: those of Config.Create, ErrNotServing while the
// broker stops, the context's.
func (t *Transactions) Ensure(ctx context.Context) error {
	s := t.shell.Load()
	if s == nil {
		var err error
		if s, err = t.make(ctx); err != nil {
			return err
		}
	}
	select {
	case <-s.Loaded():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t *Transactions) make(ctx context.Context) (*txnShell, error) {
	select {
	case t.making <- struct{}{}:
		defer func() { <-t.making }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if s := t.shell.Load(); s != nil {
		return s, nil
	}
	if err := t.config.Create(ctx); err != nil {
		return nil, err
	}
	t.mu.Lock()
	closing := t.closing
	t.mu.Unlock()
	if closing {
		return nil, ErrNotServing
	}
	return t.startShell(), nil
}

// Submit runs one request on the transactional id. done is called exactly once,
// from a goroutine that must not be held up, when the answer may leave: when
// records are durable, or when markers are that the request waits for. The order
// of Submit calls of one goroutine for one id is the order of their effects,
// but for an InitProducerID, which may come later. NewProducerID is filled in here.
func (t *Transactions) Submit(transactionalID string, req txn.Request, done func(txn.Response)) {
	if transactionalID == "" || len(transactionalID) > schema.MaxString {
		done(txn.Refuse(req, codeInvalidRequest))
		return
	}
	switch r := req.(type) {
	case txn.InitProducerID:
		t.supply(transactionalID, req, done, func(id int64) txn.Request { r.NewProducerID = id; return r })
		return
	case txn.End:
		r.NewProducerID = noProducerID
		req = r
		if txn.IsExhausted(r.ProducerEpoch) {
			t.supply(transactionalID, req, done, func(id int64) txn.Request { r.NewProducerID = id; return r })
			return
		}
	}
	t.submit(transactionalID, req, done)
}

// noProducerID stands for no producer id.
const noProducerID = -1

// submit runs a request that has all it needs.
func (t *Transactions) submit(transactionalID string, req txn.Request, done func(txn.Response)) {
	s := t.shell.Load()
	switch {
	case s == nil: // there is no transactional id at all
		conf := t.settings.Load().txn
		effects := txn.New(transactionalID, &conf).Step(t.config.Now(), 0, 0, req)
		done(effects.Replies[0].Body)
	case s.closing.Load():
		done(txn.Refuse(req, codeCoordinatorNotAvailable))
	default:
		s.submit(t.PartitionOf(transactionalID), transactionalID, req, done)
	}
}

// supply runs a request that may need a producer id, on a goroutine: an id may
// have to be reserved, and the first one has the topic made.
func (t *Transactions) supply(transactionalID string, req txn.Request, done func(txn.Response), with func(id int64) txn.Request) {
	started := t.background(func(ctx context.Context) {
		err := t.Ensure(ctx)
		var id int64
		if err == nil {
			id, err = t.config.ProducerID(ctx)
		}
		if err != nil {
			t.config.Log.Warn("no producer id for a transactional id", "transactional_id", transactionalID, "err", err)
			done(txn.Refuse(req, codeCoordinatorNotAvailable))
			return
		}
		t.submit(transactionalID, with(id), done)
	})
	if !started {
		done(txn.Refuse(req, codeCoordinatorNotAvailable))
	}
}

// background runs f on a goroutine that Close waits for. It reports false if
// nothing is begun any more.
func (t *Transactions) background(f func(context.Context)) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closing {
		return false
	}
	t.work.Go(func() { f(t.ctx) })
	return true
}

// PartitionOf is the partition of __transaction_state that keeps the
// transactional id.
func (t *Transactions) PartitionOf(transactionalID string) int32 {
	return schema.PartitionOf(transactionalID, t.config.Partitions)
}

// List returns the transactional ids of every shard, by id. The code is
// COORDINATOR_LOAD_IN_PROGRESS, without ids, if one of them is still loading;
// shards that are not served here are left out.
func (t *Transactions) List(ctx context.Context) ([]txn.Summary, txn.Code, error) {
	s := t.shell.Load()
	if s == nil {
		return nil, 0, nil
	}
	parts := make([][]txn.Summary, t.config.Partitions)
	code, err := s.list(ctx, func(p int32, s *Shard[txn.Request, txn.Response, txn.Event]) { parts[p] = txnSummaries(s) })
	if code != 0 || err != nil {
		return nil, code, err
	}
	all := slices.Concat(parts...)
	slices.SortFunc(all, func(a, b txn.Summary) int { return cmp.Compare(a.TransactionalID, b.TransactionalID) })
	return all, 0, nil
}

// SetConfig replaces the settings (dynamic broker configuration).
func (t *Transactions) SetConfig(c txn.Config, expireInterval time.Duration) {
	t.settings.Store(&txnSettings{c, expireInterval})
	if s := t.shell.Load(); s != nil {
		s.reconfigure()
	}
}

// Loaded is closed when every shard has loaded, or failed to. It is closed as
// well while there is nothing to load.
func (t *Transactions) Loaded() <-chan struct{} {
	if s := t.shell.Load(); s != nil {
		return s.Loaded()
	}
	nothing := make(chan struct{})
	close(nothing)
	return nothing
}

// Move unloads the shard of partition p and loads it again under a new leader
// epoch, as if another broker had taken over. It returns when the shard has
// loaded. Errors: ErrNotServing if it has not.
func (t *Transactions) Move(p int32) error {
	s := t.shell.Load()
	if s == nil {
		return ErrNotServing
	}
	return s.Move(p)
}

// Advance moves the clock of every shard ahead, as Coordinator.Advance does.
func (t *Transactions) Advance(d time.Duration) {
	if s := t.shell.Load(); s != nil {
		s.Advance(d)
	}
}

// Drain refuses new requests with NOT_COORDINATOR and returns when appends in
// flight have ended, or ctx ends. Markers that are missing then are written
// after the next start.
func (t *Transactions) Drain(ctx context.Context) error {
	if s := t.shell.Load(); s != nil {
		return s.Drain(ctx)
	}
	return nil
}

// Close stops every shard and waits for it. Requests that wait, or whose
// records are not durable yet, get NOT_COORDINATOR.
func (t *Transactions) Close() error {
	t.mu.Lock()
	t.closing = true
	t.mu.Unlock()
	t.cancel()
	t.work.Wait() // what it has begun may start the shell
	if s := t.shell.Load(); s != nil {
		return s.Close()
	}
	return nil
}
