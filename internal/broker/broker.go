package broker

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"rota/internal/catalog"
	"rota/internal/coordinator"
	"rota/internal/storage"
)

// Config says how a Broker behaves. Fields carry Kafka's broker settings; the
// zero value of a field means what Settings says.
type Config struct {
	// NodeID is the id under which clients know this broker. Default 1.
	NodeID int32
	// DisableAutoCreate turns auto.create.topics.enable off.
	DisableAutoCreate bool
	// NumPartitions is num.partitions: the partition count of topics that are
	// created without one. Default 1.
	NumPartitions int32
	// FetchMaxBytes is fetch.max.bytes: the largest answer to a Fetch.
	// Default 55 MiB.
	FetchMaxBytes int
	// FetchSessionSlots is max.incremental.fetch.session.cache.slots.
	// Default 1000; negative: no sessions.
	FetchSessionSlots int
	// Settings holds what the operator set at the start, by Kafka's names
	// (--set). Default: ParseSettings of nothing.
	Settings *Settings
	// LogDir names the folder that holds the data, for DescribeLogDirs. Default
	// "memory".
	LogDir string
	// Log receives what an operator must know. Default: discarded.
	Log *slog.Logger
}

// Broker maps requests to partitions. Its methods may be called from any
// goroutine.
type Broker struct {
	Store       *storage.Store
	Catalog     *catalog.Catalog
	Coordinator *coordinator.Coordinator
	// Transactions is set after New, before anything is served.
	Transactions *coordinator.Transactions
	Config       Config

	// settings is what holds now; admin is taken by whoever changes topics or
	// configuration.
	settings atomic.Pointer[Settings]
	admin    chan struct{}

	// background is the work that goes on until Close closes stopped.
	background sync.WaitGroup
	stopped    chan struct{}
	stopOnce   sync.Once

	sessions  *fetchSessions
	verifying verifications
}

// New returns a Broker over a store, its catalog and its coordinator.
func New(c Config, s *storage.Store, cat *catalog.Catalog, co *coordinator.Coordinator) *Broker {
	b := &Broker{
		Store: s, Catalog: cat, Coordinator: co, Config: c.withDefaults(),
		admin: make(chan struct{}, 1), stopped: make(chan struct{}),
	}
	b.sessions = newFetchSessions(b.Config.FetchSessionSlots, time.Now, uint64(time.Now().UnixNano()))
	b.settings.Store(b.Config.Settings)
	return b
}

// withDefaults fills in what was left out from the settings.
func (c Config) withDefaults() Config {
	if c.Settings == nil {
		c.Settings = defaultSettings()
	}
	if c.NodeID == 0 {
		c.NodeID = int32(c.Settings.Int("node.id"))
	}
	if !c.Settings.Bool("auto.create.topics.enable") {
		c.DisableAutoCreate = true
	}
	if c.NumPartitions == 0 {
		c.NumPartitions = int32(c.Settings.Int("num.partitions"))
	}
	if c.FetchMaxBytes == 0 {
		c.FetchMaxBytes = int(c.Settings.Int("fetch.max.bytes"))
	}
	if c.FetchSessionSlots == 0 {
		c.FetchSessionSlots = int(c.Settings.Int("max.incremental.fetch.session.cache.slots"))
		if c.FetchSessionSlots == 0 {
			c.FetchSessionSlots = -1
		}
	}
	if c.LogDir == "" {
		c.LogDir = "memory"
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}
