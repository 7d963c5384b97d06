package coordinator

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"rota/internal/group"
	"rota/internal/record"
	"rota/internal/schema"
	"rota/internal/storage"
	"rota/internal/txn"
)

// bank is a transaction coordinator of one shard, with the groups of one shard
// and two partitions of data that have part in its transactions. It outlives
// what runs on it: the logs are the disk.
type bank struct {
	t       *testing.T
	state   *fakeLog // __transaction_state-0
	offsets *fakeLog // __consumer_offsets-0
	data    map[txn.TopicPartition]*fakePartition
	config  txn.Config

	mu     sync.Mutex
	epoch  int32
	nextID int64
	exists bool
	makes  int   // calls of Create
	idErr  error // what ProducerID returns

	groups *Coordinator
	txns   *Transactions
}

// fakePartition takes markers, which are durable at once unless it holds them.
type fakePartition struct {
	mu      sync.Mutex
	durable []storage.Marker
	flying  []flyingMarker
	hold    bool
	err     error // what every marker fails with
	tries   int
}

type flyingMarker struct {
	m    storage.Marker
	done func(error)
}

func (p *fakePartition) append(m storage.Marker, done func(error)) {
	p.mu.Lock()
	p.tries++
	if err := p.err; err != nil {
		p.mu.Unlock()
		done(err)
		return
	}
	p.flying = append(p.flying, flyingMarker{m, done})
	hold := p.hold
	p.mu.Unlock()
	if !hold {
		p.land(1 << 30)
	}
}

// land makes the oldest n markers durable.
func (p *fakePartition) land(n int) {
	p.mu.Lock()
	landed := slices.Clone(p.flying[:min(n, len(p.flying))])
	p.flying = p.flying[len(landed):]
	for _, f := range landed {
		p.durable = append(p.durable, f.m)
	}
	p.mu.Unlock()
	for _, f := range landed {
		f.done(nil)
	}
}

func (p *fakePartition) set(f func(*fakePartition)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(p)
}

func (p *fakePartition) inFlight() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.flying)
}

var (
	account0 = txn.TopicPartition{Topic: "accounts", Partition: 0}
	account1 = txn.TopicPartition{Topic: "accounts", Partition: 1}
)

func newBank(t *testing.T) *bank {
	c := txn.DefaultConfig()
	c.CheckInvariants = true
	b := &bank{
		t: t, state: &fakeLog{}, offsets: &fakeLog{}, config: c, nextID: 1000, exists: true,
		data: map[txn.TopicPartition]*fakePartition{account0: {}, account1: {}},
	}
	b.start()
	t.Cleanup(b.stop)
	return b
}

func (b *bank) start() {
	b.groups = start(Config{Partitions: 1, Group: testConfig(), NextEpoch: b.nextEpoch},
		func(int32) (partitionLog, error) { return b.offsets, nil }, nil)
	b.txns = startTransactions(TransactionsConfig{
		Partitions: 1, Txn: b.config, Exists: b.exists, NextEpoch: b.nextEpoch, Mark: b.mark,
		ProducerID: func(context.Context) (int64, error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.nextID++
			return b.nextID - 1, b.idErr
		},
		Create: func(context.Context) error {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.exists = true
			b.makes++
			return nil
		},
		Log: slog.New(slog.NewTextHandler(testWriter{b.t}, nil)),
	}, func(int32) (partitionLog, error) { return b.state, nil })
}

func (b *bank) nextEpoch() (int32, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.epoch++
	return b.epoch, nil
}

func (b *bank) mark(tp txn.TopicPartition, m storage.Marker, done func(error)) {
	if tp.Topic == "__consumer_offsets" {
		b.groups.EndTransaction(tp.Partition, m, done)
		return
	}
	b.data[tp].append(m, done)
}

func (b *bank) stop() {
	if err := b.txns.Close(); err != nil {
		b.t.Error(err)
	}
	if err := b.groups.Close(); err != nil {
		b.t.Error(err)
	}
}

// crash ends everything at once: what is not durable is lost.
func (b *bank) crash() {
	b.t.Helper()
	b.stop()
	for _, l := range []*fakeLog{b.state, b.offsets} {
		l.set(func(l *fakeLog) {
			l.flying, l.end, l.writer = nil, l.hw, nil
			l.batches = slices.DeleteFunc(l.batches, func(b []byte) bool { return record.NextOffset(b) > l.hw })
		})
	}
	for _, p := range b.data {
		p.set(func(p *fakePartition) { p.flying = nil })
	}
}

// hold makes appends stay in flight, or lets them go.
func (b *bank) hold(hold bool) {
	for _, l := range []*fakeLog{b.state, b.offsets} {
		l.set(func(l *fakeLog) { l.hold = hold })
	}
	for _, p := range b.data {
		p.set(func(p *fakePartition) { p.hold = hold })
	}
}

// landings are the logs with something in flight: calling one makes its oldest
// append durable.
func (b *bank) landings() []func() {
	var list []func()
	for _, l := range []*fakeLog{b.state, b.offsets} {
		if l.inFlight() > 0 {
			list = append(list, func() { l.land(1) })
		}
	}
	for _, tp := range []txn.TopicPartition{account0, account1} {
		if p := b.data[tp]; p.inFlight() > 0 {
			list = append(list, func() { p.land(1) })
		}
	}
	return list
}

// ask waits for the answer.
func (b *bank) ask(req txn.Request) txn.Response {
	b.t.Helper()
	got := make(chan txn.Response, 1)
	b.txns.Submit("transfers", req, func(r txn.Response) { got <- r })
	select {
	case r := <-got:
		return r
	case <-time.After(time.Hour):
		b.t.Fatalf("no answer to %T", req)
		return nil
	}
}

// init takes the transactional id over.
func (b *bank) init() txn.Initialized {
	b.t.Helper()
	r := b.ask(txn.InitProducerID{TimeoutMillis: 60_000, ProducerID: -1, ProducerEpoch: -1}).(txn.Initialized)
	if r.Code != 0 {
		b.t.Fatalf("init: %+v", r)
	}
	return r
}

// fetch is the offset that the group has committed in accounts-0, and whether
// it is stable.
func (b *bank) fetch() (offset int64, stable bool) {
	b.t.Helper()
	got := make(chan group.Response, 1)
	tp := group.TopicPartition{Topic: account0.Topic, Partition: account0.Partition}
	b.groups.Submit("movers", group.FetchOffsets{Partitions: []group.TopicPartition{tp}, RequireStable: true}, func(r group.Response) { got <- r })
	r := (<-got).(group.FetchedOffsets)
	if r.Code != 0 || len(r.Offsets) != 1 {
		b.t.Fatalf("fetch: %+v", r)
	}
	return r.Offsets[0].Offset, r.Offsets[0].Code == 0
}

// records are the durable records of the state log, oldest first.
func (b *bank) records() []schema.TransactionValue {
	b.t.Helper()
	var list []schema.TransactionValue
	var codec record.Codec
	for offset := int64(0); offset < b.state.Bounds().HighWatermark; {
		buf, _, err := b.state.Read(nil, offset, storage.ReadOptions{})
		if err != nil {
			b.t.Fatal(err)
		}
		for r, err := range codec.Records(buf) {
			if err != nil {
				b.t.Fatal(err)
			}
			v, err := schema.ParseTransactionValue(r.Value)
			if err != nil {
				b.t.Fatal(err)
			}
			list = append(list, v)
		}
		offset = record.NextOffset(buf)
	}
	return list
}

// markers are the outcomes of the durable markers of each partition that has
// some, __consumer_offsets among them.
func (b *bank) markers() map[string][]bool {
	b.t.Helper()
	outcomes := map[string][]bool{}
	for tp, p := range b.data {
		p.set(func(p *fakePartition) {
			name := fmt.Sprint(tp.Topic, tp.Partition)
			for _, m := range p.durable {
				outcomes[name] = append(outcomes[name], m.Commit)
			}
		})
	}
	var codec record.Codec
	for offset := int64(0); offset < b.offsets.Bounds().HighWatermark; {
		buf, _, err := b.offsets.Read(nil, offset, storage.ReadOptions{})
		if err != nil {
			b.t.Fatal(err)
		}
		h, err := record.ParseHeader(buf)
		if err != nil {
			b.t.Fatal(err)
		}
		for r := range codec.Records(buf) {
			if m, ok, err := record.ParseMarker(r.Key, r.Value); h.Attributes.Control() && ok && err == nil {
				outcomes["offsets"] = append(outcomes["offsets"], m.Type == record.ControlCommit)
			}
		}
		offset = record.NextOffset(buf)
	}
	return outcomes
}

// settle lets everything become durable that is on its way, and what follows
// from it.
func (b *bank) settle() {
	b.hold(false)
	for synctest.Wait(); len(b.landings()) > 0; synctest.Wait() {
		for _, land := range b.landings() {
			land()
		}
	}
}
