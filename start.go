package rota

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"rota/internal/api"
	"rota/internal/broker"
	"rota/internal/catalog"
	"rota/internal/coordinator"
	"rota/internal/group"
	"rota/internal/history"
	"rota/internal/hooks"
	"rota/internal/machine"
	"rota/internal/storage"
	"rota/internal/storage/disk"
	"rota/internal/vfs"
	"rota/internal/web"
	"rota/internal/wire"
)

// ErrLocked says that another broker uses the data folder.
var ErrLocked = vfs.ErrLocked

// Broker is a running broker.
type Broker struct {
	listeners []Listener
	clusterID string
	store     *storage.Store
	catalog   *catalog.Catalog
	coord     *coordinator.Coordinator
	broker    *broker.Broker
	server    *wire.Server
	events    *eventLog
	history   *history.History // nil if it is switched off

	web     *web.Server // nil if there is none
	webAddr string

	serving sync.WaitGroup
	ended   sync.Once
	err     error
}

// Start starts a broker. It has recovered its data and accepts connections when
// Start returns. Errors: a *ConfigError, ErrLocked, what the system says about
// the address or the folder, and a *storage.CorruptError if the journal is
// damaged.
func Start(ctx context.Context, c Config) (_ *Broker, err error) {
	began := time.Now()
	c = c.withDefaults()
	if err := c.validate(); err != nil {
		return nil, err
	}
	settings, err := broker.ParseSettings(c.Properties)
	if err != nil {
		return nil, err
	}
	// undo closes what has been opened, in reverse order, if Start fails.
	var undo []func()
	defer func() {
		if err != nil {
			for _, f := range slices.Backward(undo) {
				f()
			}
		}
	}()
	// Before the folder is touched: a port in use is the commonest mistake.
	listeners, page, err := c.listen(ctx)
	if err != nil {
		return nil, err
	}
	undo = append(undo, func() { closeListeners(listeners, page) })

	b := &Broker{listeners: listeners}
	h := hooks.From(ctx)
	b.store, err = openStore(ctx, c, settings, h)
	if err != nil {
		return nil, err
	}
	undo = append(undo, func() { _ = b.store.Close(context.WithoutCancel(ctx)) })
	b.catalog, err = openCatalog(ctx, c, b.store)
	if err != nil {
		return nil, err
	}
	undo = append(undo, func() { _ = b.catalog.Close() })
	b.clusterID = b.catalog.ClusterID()

	b.broker = broker.New(broker.Config{Settings: settings, LogDir: logDir(c), Log: c.Log}, b.store, b.catalog, nil)
	undo = append(undo, b.broker.Close)
	if err = b.broker.OpenTopics(ctx); err != nil {
		return nil, err
	}
	b.startEvents(c, settings)
	undo = append(undo, b.stopEvents)
	if b.coord, err = startCoordinator(c, b, h); err != nil {
		return nil, err
	}
	undo = append(undo, func() { _ = b.coord.Close() })
	b.broker.Coordinator = b.coord
	if err = startTransactions(c, b); err != nil {
		return nil, err
	}
	undo = append(undo, func() { _ = b.broker.Transactions.Close() })
	b.broker.FinishDeletes()

	b.serve(c, h)
	b.startWeb(c, page, settings, began)
	b.announce(c, settings, time.Since(began))
	if h.Started != nil {
		h.Started(hooks.Rooms{Store: b.store, Broker: b.broker, Coordinator: b.coord, Server: b.server, History: b.history})
	}
	return b, nil
}

// openStore opens the data folder, or one in memory.
func openStore(ctx context.Context, c Config, s *broker.Settings, h *hooks.Hooks) (*storage.Store, error) {
	fs, dir := vfs.OS(), c.DataDir
	if dir == "" {
		fs, dir = h.FS, "/data"
		if fs == nil {
			fs = vfs.NewMem()
		}
	}
	durability, err := disk.ParseDurability(s.String("durability"))
	if err != nil {
		return nil, err
	}
	medium, err := disk.Open(disk.Config{
		FS: fs, Dir: dir, Durability: durability, Interval: s.Millis("durability.interval.ms"), Log: c.Log,
	})
	if err != nil {
		return nil, fmt.Errorf("data folder %s: %w", dir, err)
	}
	store, err := storage.Open(ctx, medium, storage.Config{
		Now: c.Now, Log: c.Log,
		TailLimit:         s.Int("tail.max.bytes"),
		JournalLimit:      s.Int("journal.max.bytes"),
		Reserve:           s.Int("disk.reserve.bytes"),
		InternalReserve:   s.Int("disk.reserve.internal.bytes"),
		RetentionInterval: s.Millis("log.retention.check.interval.ms"),
		ProducerExpiry:    s.Millis("producer.id.expiration.ms"),
		CleanInterval:     cleanInterval(s),
		CleanMemory:       int(s.Int("log.cleaner.dedupe.buffer.size")),
		CleanRate:         cleanRate(s),
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("data folder %s: %w", dir, err), medium.Close())
	}
	return store, nil
}

// cleanInterval is the pause between looks for logs to compact, negative if
// there are to be none.
func cleanInterval(s *broker.Settings) time.Duration {
	if !s.Bool("log.cleaner.enable") {
		return -1
	}
	return s.Millis("log.cleaner.backoff.ms")
}

// cleanRate bounds what compaction reads and writes a second, 0 for no bound.
func cleanRate(s *broker.Settings) int64 {
	if rate := s.Int("log.cleaner.io.max.bytes.per.second"); rate < math.MaxInt64 {
		return rate
	}
	return 0
}

// logDir is how clients are told where the data lies.
func logDir(c Config) string {
	if c.DataDir == "" {
		return "" // in memory
	}
	if dir, err := filepath.Abs(c.DataDir); err == nil {
		return dir
	}
	return c.DataDir
}

// openCatalog opens the log of topics and configurations.
func openCatalog(ctx context.Context, c Config, s *storage.Store) (*catalog.Catalog, error) {
	log, err := s.Create(catalog.LogPartition, catalog.LogConfig())
	if err != nil {
		return nil, err
	}
	return catalog.Open(ctx, catalog.Config{Log: log, Epoch: s.Epoch(), Now: c.Now, Slog: c.Log})
}

// startCoordinator starts to load the groups.
func startCoordinator(c Config, b *Broker, h *hooks.Hooks) (*coordinator.Coordinator, error) {
	settings := b.broker.Settings()
	origin := time.Now()
	wall := c.Now
	return coordinator.Start(coordinator.Config{
		Partitions:     b.broker.OffsetsPartitions(),
		Group:          b.broker.GroupConfig(),
		Open:           b.broker.OffsetsLog,
		NextEpoch:      b.store.NextEpoch,
		Now:            func() group.Now { return group.Now{Mono: time.Since(origin), Wall: wall().UnixMilli()} },
		ExpireInterval: settings.Millis("offsets.retention.check.interval.ms"),
		Events:         h.TellEvents(b.takeEvents),
		CrashDir:       c.DataDir,
		Log:            c.Log,
	})
}

// startEvents begins to take what happens to groups: for the log and for the
// history.
func (b *Broker) startEvents(c Config, s *broker.Settings) {
	b.events = startEventLog(c.Log)
	if s.Bool("rota.history.enable") {
		b.history = history.Start(history.Config{
			Existing: b.broker.EventsLog, Open: b.broker.OpenEventsLog, MaxBytes: int(s.Int("rota.history.memory.bytes")), Now: c.Now, Log: c.Log,
		})
	}
}

// stopEvents deals with what has been taken. takeEvents must not be called any
// more.
func (b *Broker) stopEvents() {
	b.events.close()
	if b.history != nil {
		b.history.Close()
	}
}

// takeEvents is coordinator.Config.Events.
func (b *Broker) takeEvents(id string, events []group.Event) {
	b.events.take(id, events)
	if b.history != nil {
		b.history.Take(id, events)
	}
}

// startTransactions starts to load the transactional ids, if there are any.
func startTransactions(c Config, b *Broker) (err error) {
	origin, wall := time.Now(), c.Now
	config := b.broker.TransactionsConfig()
	config.Now = func() machine.Now { return machine.Now{Mono: time.Since(origin), Wall: wall().UnixMilli()} }
	config.CrashDir, config.Log = c.DataDir, c.Log
	b.broker.Transactions, err = coordinator.StartTransactions(config)
	return err
}

// serve accepts connections.
func (b *Broker) serve(c Config, h *hooks.Hooks) {
	settings := b.broker.Settings()
	b.server = wire.Start(wire.Config{
		API:                      &api.Server{Broker: b.broker, Coordinator: b.coord, Log: c.Log},
		Table:                    h.APIs(),
		Pressed:                  b.store.Pressed,
		MaxRequestBytes:          int(settings.Int("socket.request.max.bytes")),
		MaxConnections:           int(settings.Int("max.connections")),
		MaxConnectionsPerAddress: int(settings.Int("max.connections.per.ip")),
		IdleTimeout:              settings.Millis("connections.max.idle.ms"),
		Log:                      c.Log,
	})
	for i := range b.listeners {
		l := &b.listeners[i]
		b.serving.Go(func() {
			if err := b.server.Serve(l.Listener, l.advertised()); err != nil {
				c.Log.Error("no more connections are accepted", slog.String("listen", l.Listen), slog.Any("err", err))
			}
		})
	}
}

// announce says what was started, in one line.
func (b *Broker) announce(c Config, s *broker.Settings, took time.Duration) {
	folder := c.DataDir
	if folder == "" {
		folder = "in memory"
	}
	report := b.store.Report()
	c.Log.Info("rota serves", "listen", b.addresses(), "web", b.webAddr, "data", folder, "durability", s.String("durability"),
		"cluster_id", b.clusterID, "node_id", s.Int("node.id"), "took", took.Round(10*time.Microsecond).String())
	if report.TornBytes > 0 {
		c.Log.Warn("the journal ended in the middle of a write: the tail, which was never acknowledged, was cut",
			"file", report.TornFile, "bytes", report.TornBytes)
	}
	for p, err := range report.Corrupt {
		c.Log.Error("a partition is damaged and not served", "topic_id", fmt.Sprintf("%x", p.Topic), "partition", p.Index, "err", err)
	}
}

// ClusterID is made at the first start on a folder and never changes.
func (b *Broker) ClusterID() string { return b.clusterID }

// MoveCoordinator moves the coordinator of a group, with all groups that share
// its partition of __consumer_offsets, as if another broker had taken over:
// they are unloaded and loaded again under a new leader epoch. Requests that
// are parked in them get NOT_COORDINATOR, and members go on with the
// generation and the assignment that they have. Clients do the same with
// ElectLeaders on that partition.
//
// It returns when the groups have been loaded again, or with the context's
// error while the move goes on. Other errors say why the groups are not served
// now.
func (b *Broker) MoveCoordinator(ctx context.Context, group string) error {
	return b.broker.MoveCoordinator(ctx, b.coord.PartitionOf(group))
}

// Failed is closed when the broker can no longer serve: the disk failed in a
// way that acknowledged records may not survive. Err says why.
func (b *Broker) Failed() <-chan struct{} { return b.store.Failed() }

// Err is why the broker failed, nil if it did not.
func (b *Broker) Err() error { return b.store.Err() }

// Shutdown ends the broker in order: no new connections or requests, parked
// requests are answered, everything appended is made durable. When ctx ends first,
// connections are closed as they are.
func (b *Broker) Shutdown(ctx context.Context) error {
	b.ended.Do(func() { b.err = b.shutdown(ctx) })
	return b.err
}

// Close is Shutdown without waiting for clients: connections are closed at
// once. What was acknowledged is durable. It may be called more than once.
func (b *Broker) Close() error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return b.Shutdown(ctx)
}
