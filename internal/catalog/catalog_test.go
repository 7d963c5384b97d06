package catalog

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"rota/internal/record"
	"rota/internal/schema"
	"rota/internal/storage"
	"rota/internal/storage/storagetest"
)

// house is a store with a catalog in it, which can be restarted.
type house struct {
	t   testing.TB
	m   storage.Medium
	s   *storage.Store
	log *storage.Log
	*Catalog
}

func newHouse(t testing.TB, m storage.Medium) *house {
	h := &house{t: t, m: m}
	h.start()
	t.Cleanup(h.stop)
	return h
}

func (h *house) start() {
	h.t.Helper()
	h.openStore()
	c, err := h.openCatalog(slog.New(slog.DiscardHandler))
	if err != nil {
		h.t.Fatal(err)
	}
	h.Catalog = c
}

func (h *house) openStore() {
	h.t.Helper()
	s, err := storage.Open(h.t.Context(), h.m, storage.Config{Reserve: -1, InternalReserve: -1})
	if err != nil {
		h.t.Fatal(err)
	}
	h.s = s
	if h.log, err = s.Create(LogPartition, LogConfig()); err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) openCatalog(l *slog.Logger) (*Catalog, error) {
	return Open(context.Background(), Config{Log: h.log, Epoch: h.s.Epoch(), Slog: l})
}

func (h *house) stop() {
	h.t.Helper()
	if h.Catalog != nil {
		if err := h.Catalog.Close(); err != nil {
			h.t.Error(err)
		}
	}
	if err := h.s.Close(context.Background()); err != nil {
		h.t.Error(err)
	}
}

func (h *house) restart() {
	h.t.Helper()
	h.stop()
	h.start()
}

func (h *house) create(name string, partitions int32, config map[string]string) *Topic {
	h.t.Helper()
	topic, err := h.Create(h.t.Context(), name, partitions, config, false)
	if err != nil {
		h.t.Fatalf("create %s: %v", name, err)
	}
	return topic
}

// facts is all that a catalog says about itself.
type facts struct {
	Topics, Deleting []Topic
	Broker           map[string]string
	ClusterID        string
}

func (h *house) facts() facts {
	f := facts{Broker: maps.Clone(h.View().Broker()), ClusterID: h.ClusterID()}
	for _, t := range h.View().Topics() {
		f.Topics = append(f.Topics, *t)
	}
	for _, t := range h.Deleting() {
		f.Deleting = append(f.Deleting, *t)
	}
	return f
}

func TestClusterIDIsMadeOnce(t *testing.T) {
	h := newHouse(t, storagetest.NewMemory())
	id := h.ClusterID()
	raw, err := base64.RawURLEncoding.DecodeString(id)
	if err != nil || len(raw) != 16 || len(id) != 22 {
		t.Errorf("cluster id %q is %d bytes, %v", id, len(raw), err)
	}
	h.restart()
	if h.ClusterID() != id {
		t.Errorf("after a restart the cluster id is %q, was %q", h.ClusterID(), id)
	}
	if other := newHouse(t, storagetest.NewMemory()).ClusterID(); other == id {
		t.Errorf("two clusters have the id %s", id)
	}
}

func TestTopicsSurviveRestart(t *testing.T) {
	ctx := t.Context()
	h := newHouse(t, storagetest.NewMemory())
	orders := h.create("orders", 3, map[string]string{"retention.ms": "1000", "cleanup.policy": "delete"})
	audit := h.create("audit", 1, nil)
	if orders.ID == audit.ID || orders.ID == (storage.TopicID{}) {
		t.Errorf("ids %x and %x", orders.ID, audit.ID)
	}
	if _, err := h.Create(ctx, "internal", 2, nil, true); err != nil {
		t.Fatal(err)
	}
	grown, err := h.Grow(ctx, audit.ID, 5)
	if err != nil || grown.Partitions != 5 || audit.Partitions != 1 {
		t.Errorf("grown to %+v from %+v, %v", grown, audit, err)
	}
	changed, err := h.Configure(ctx, orders.ID, map[string]*string{"retention.ms": new("2000"), "segment.bytes": new("100"), "cleanup.policy": nil, "flush.ms": nil})
	want := map[string]string{"retention.ms": "2000", "segment.bytes": "100"}
	if diff := cmp.Diff(want, changed.Config); diff != "" || err != nil {
		t.Errorf("config, %v (-want +got):\n%s", err, diff)
	}
	if orders.Config["retention.ms"] != "1000" {
		t.Error("an old Topic changed")
	}
	err = h.ConfigureBroker(ctx, map[string]*string{"group.max.size": new("5"), "log.retention.ms": new("7"), "unset": nil})
	if err != nil {
		t.Fatal(err)
	}
	err = h.ConfigureBroker(ctx, map[string]*string{"group.max.size": nil, "message.max.bytes": new("9")})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"log.retention.ms": "7", "message.max.bytes": "9"}, h.View().Broker()); diff != "" {
		t.Errorf("broker settings (-want +got):\n%s", diff)
	}

	before := h.facts()
	if names := []string{before.Topics[0].Name, before.Topics[1].Name, before.Topics[2].Name}; !cmp.Equal(names, []string{"audit", "internal", "orders"}) {
		t.Errorf("topics are listed as %v", names)
	}
	h.restart()
	if diff := cmp.Diff(before, h.facts()); diff != "" {
		t.Errorf("after a restart (-before +after):\n%s", diff)
	}
	found, ok := h.View().Topic("orders")
	if byID, ok2 := h.View().TopicByID(orders.ID); !ok || !ok2 || found != byID {
		t.Errorf("orders is %v by name and %v by id", found, byID)
	}
}

func TestRefusedChangesWriteNothing(t *testing.T) {
	ctx := t.Context()
	h := newHouse(t, storagetest.NewMemory())
	topic := h.create("t", 2, map[string]string{"retention.ms": "1"})
	end := h.log.Bounds().End
	before := h.facts()
	unknown := storage.TopicID{9}
	for _, tt := range []struct {
		name string
		want error
		f    func() error
	}{
		{"create again", ErrTopicExists, func() error { _, err := h.Create(ctx, "t", 1, nil, false); return err }},
		{"create with no partitions", ErrInvalidPartitions, func() error { _, err := h.Create(ctx, "u", 0, nil, false); return err }},
		{"grow to the same", ErrInvalidPartitions, func() error { _, err := h.Grow(ctx, topic.ID, 2); return err }},
		{"shrink", ErrInvalidPartitions, func() error { _, err := h.Grow(ctx, topic.ID, 1); return err }},
		{"grow unknown", ErrUnknownTopic, func() error { _, err := h.Grow(ctx, unknown, 9); return err }},
		{"configure unknown", ErrUnknownTopic, func() error { _, err := h.Configure(ctx, unknown, nil); return err }},
		{"delete unknown", ErrUnknownTopic, func() error { _, err := h.BeginDelete(ctx, unknown); return err }},
		{"end a deletion that did not begin", ErrUnknownTopic, func() error { return h.EndDelete(ctx, topic.ID) }},
		{"configure to the same", nil, func() error {
			_, err := h.Configure(ctx, topic.ID, map[string]*string{"retention.ms": new("1"), "x": nil})
			return err
		}},
		{"configure the broker to the same", nil, func() error { return h.ConfigureBroker(ctx, map[string]*string{"x": nil}) }},
	} {
		if err := tt.f(); !errors.Is(err, tt.want) {
			t.Errorf("%s: error %v, want %v", tt.name, err, tt.want)
		}
	}
	if diff := cmp.Diff(before, h.facts()); diff != "" {
		t.Errorf("the catalog changed (-before +after):\n%s", diff)
	}
	if got := h.log.Bounds().End; got != end {
		t.Errorf("%d records were written", got-end)
	}
}

func TestDeletionSurvivesRestart(t *testing.T) {
	ctx := t.Context()
	h := newHouse(t, storagetest.NewMemory())
	keep := h.create("keep", 1, nil)
	gone := h.create("gone", 4, map[string]string{"retention.ms": "1"})
	if topic, err := h.BeginDelete(ctx, gone.ID); err != nil || topic.Partitions != 4 {
		t.Fatalf("BeginDelete: %+v, %v", topic, err)
	}
	check := func() {
		t.Helper()
		if _, ok := h.View().Topic("gone"); ok {
			t.Error("a topic that is being deleted is found by name")
		}
		if _, ok := h.View().TopicByID(gone.ID); ok {
			t.Error("a topic that is being deleted is found by id")
		}
		if got := h.View().Topics(); len(got) != 1 || got[0].ID != keep.ID {
			t.Errorf("topics are %v", got)
		}
		if got := h.Deleting(); len(got) != 1 || !cmp.Equal(*got[0], *gone) {
			t.Errorf("deleting %v, want %v", got, gone)
		}
		if _, err := h.Create(ctx, "gone", 1, nil, false); !errors.Is(err, ErrTopicExists) {
			t.Errorf("create under a name that is being deleted: %v", err)
		}
		if _, err := h.BeginDelete(ctx, gone.ID); !errors.Is(err, ErrUnknownTopic) {
			t.Errorf("delete twice: %v", err)
		}
	}
	check()
	h.restart()
	check()
	if err := h.EndDelete(ctx, gone.ID); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got := h.Deleting(); len(got) != 0 {
			t.Errorf("still deleting %v", got)
		}
		h.restart()
	}
	if again := h.create("gone", 1, nil); again.ID == gone.ID {
		t.Error("a topic has the id of its predecessor")
	}
}

func TestProducerIDsAreNeverGivenTwice(t *testing.T) {
	ctx := t.Context()
	h := newHouse(t, storagetest.NewMemory())
	seen := map[int64]bool{}
	for range 3 {
		var mu sync.Mutex
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				for range 125 { // more than a block in all
					id, err := h.ProducerID(ctx)
					mu.Lock()
					if err != nil || id < 0 || seen[id] {
						t.Errorf("producer id %d, seen before: %v, %v", id, seen[id], err)
					}
					seen[id] = true
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		h.restart()
	}
	if len(seen) != 3*1250 {
		t.Errorf("%d ids", len(seen))
	}
	for id := range seen {
		if id >= 3*2*producerBlock {
			t.Errorf("id %d: more blocks were reserved than needed", id)
		}
	}
}

func TestUnknownRecordsAreSkippedAndDamagedOnesRefused(t *testing.T) {
	h := newHouse(t, storagetest.NewMemory())
	h.create("t", 1, nil)
	before := h.facts()
	h.appendRaw([]byte{0, 99, 1, 2}, []byte("from a later version"))
	h.stop()
	h.openStore()
	var text bytes.Buffer
	c, err := h.openCatalog(slog.New(slog.NewTextHandler(&text, nil)))
	if err != nil {
		t.Fatal(err)
	}
	h.Catalog = c
	if diff := cmp.Diff(before, h.facts()); diff != "" {
		t.Errorf("after an unknown record (-before +after):\n%s", diff)
	}
	if !strings.Contains(text.String(), "type=99") {
		t.Errorf("log says %q", text.String())
	}

	h.appendRaw(schema.AppendCatalogKey(nil, schema.TopicKey{}), []byte{0, 0, 1})
	h.stop()
	h.openStore()
	h.Catalog = nil
	if _, err := h.openCatalog(slog.New(slog.DiscardHandler)); !errors.Is(err, schema.ErrMalformed) {
		t.Errorf("open with a damaged record: %v", err)
	}
}

// appendRaw appends a record behind the catalog's back.
func (h *house) appendRaw(key, value []byte) {
	h.t.Helper()
	var b record.Builder
	b.Reset(nil)
	b.Append(0, key, value)
	done := make(chan error, 1)
	w := h.log.Writer(h.s.Epoch())
	if _, err := w.Append(b.Finish(), func(err error) { done <- err }); err != nil {
		h.t.Fatal(err)
	}
	if err := <-done; err != nil {
		h.t.Fatal(err)
	}
}

func TestClosedCatalogRefusesChanges(t *testing.T) {
	h := newHouse(t, storagetest.NewMemory())
	h.create("t", 1, nil)
	if err := h.Catalog.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Create(t.Context(), "u", 1, nil, false); !errors.Is(err, storage.ErrClosed) {
		t.Errorf("create: %v", err)
	}
	if _, err := h.ProducerID(t.Context()); !errors.Is(err, storage.ErrClosed) {
		t.Errorf("producer id: %v", err)
	}
	if _, ok := h.View().Topic("t"); !ok {
		t.Error("the view is gone")
	}
}

// flaky is a medium whose flushes fail, or wait, while told to.
type flaky struct {
	storage.Medium
	broken atomic.Bool
	gate   chan struct{} // nil: flushes do not wait
}

func (f *flaky) Flush(fl storage.Flush, written func(), done func(error)) {
	if f.broken.Load() {
		written()
		done(errors.New("disk is on fire"))
		return
	}
	if f.gate != nil {
		<-f.gate
	}
	f.Medium.Flush(fl, written, done)
}

func TestFailedFlushChangesNothingAndServiceGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		m := &flaky{Medium: storagetest.NewMemory()}
		h := newHouse(t, m)
		topic := h.create("t", 1, nil)
		before := h.facts()
		epoch := h.log.Bounds().Epoch

		m.broken.Store(true)
		if _, err := h.Create(ctx, "u", 1, nil, false); !errors.Is(err, storage.ErrFlushFailed) {
			t.Errorf("create while flushes fail: %v", err)
		}
		for _, f := range []func() error{
			func() error { _, err := h.Create(ctx, "u", 1, nil, false); return err },
			func() error { _, err := h.Grow(ctx, topic.ID, 2); return err },
			func() error { _, err := h.BeginDelete(ctx, topic.ID); return err },
			func() error { _, err := h.ProducerID(ctx); return err },
			func() error { return h.ConfigureBroker(ctx, map[string]*string{"a": new("b")}) },
		} {
			if f() == nil {
				t.Error("a change succeeded while flushes fail")
			}
		}
		if diff := cmp.Diff(before, h.facts()); diff != "" {
			t.Errorf("the catalog changed (-before +after):\n%s", diff)
		}

		m.broken.Store(false)
		for h.log.Bounds().Epoch == epoch { // fake time passes until the journal is reopened
			time.Sleep(time.Second)
		}
		h.create("u", 1, nil)
		if id, err := h.ProducerID(ctx); id != 0 || err != nil {
			t.Errorf("first producer id is %d, %v", id, err)
		}
		before = h.facts()
		h.restart()
		if diff := cmp.Diff(before, h.facts()); diff != "" {
			t.Errorf("after a restart (-before +after):\n%s", diff)
		}
	})
}

func TestChangesAreSeenOnlyWhenDurable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &flaky{Medium: storagetest.NewMemory()}
		h := newHouse(t, m)
		gate := make(chan struct{})
		m.gate = gate
		created := make(chan error, 1)
		go func() {
			_, err := h.Create(context.Background(), "t", 1, nil, false)
			created <- err
		}()
		synctest.Wait()
		if _, ok := h.View().Topic("t"); ok {
			t.Error("the topic is seen before it is durable")
		}
		ctx, cancel := context.WithCancel(t.Context())
		second := make(chan error, 1)
		go func() {
			_, err := h.Create(ctx, "u", 1, nil, false)
			second <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-second; !errors.Is(err, context.Canceled) {
			t.Errorf("a change that gave up waiting for its turn: %v", err)
		}
		close(gate)
		if err := <-created; err != nil {
			t.Fatal(err)
		}
		if _, ok := h.View().Topic("t"); !ok {
			t.Error("the topic is durable and not seen")
		}
	})
}

// A long run of random changes agrees with a plain model, before and after a
// restart, and old views stay as they were.
func TestRandomChangesAgreeWithModel(t *testing.T) {
	ctx := t.Context()
	rng := rand.New(rand.NewPCG(1, 2))
	h := newHouse(t, storagetest.NewMemory())
	live, deleting := map[string]int32{}, map[string]storage.TopicID{}
	type snapshot struct {
		view  *View
		names map[string]int32
	}
	var old []snapshot
	check := func(v *View, want map[string]int32) {
		t.Helper()
		got := map[string]int32{}
		last := ""
		for _, topic := range v.Topics() {
			got[topic.Name] = topic.Partitions
			byName, ok := v.Topic(topic.Name)
			byID, ok2 := v.TopicByID(topic.ID)
			if !ok || !ok2 || byName != topic || byID != topic || topic.Name <= last {
				t.Fatalf("%s is %v by name, %v by id, after %s", topic.Name, byName, byID, last)
			}
			last = topic.Name
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("topics (-want +got):\n%s", diff)
		}
	}
	for i := range 3000 {
		name := fmt.Sprintf("t%d", rng.IntN(400))
		topic, ok := h.View().Topic(name)
		switch op := rng.IntN(10); {
		case deleting[name] != storage.TopicID{}:
			if err := h.EndDelete(ctx, deleting[name]); err != nil {
				t.Fatal(err)
			}
			delete(deleting, name)
		case !ok:
			h.create(name, 1, nil)
			live[name] = 1
		case op < 5:
			if _, err := h.Grow(ctx, topic.ID, topic.Partitions+1); err != nil {
				t.Fatal(err)
			}
			live[name]++
		default:
			if _, err := h.BeginDelete(ctx, topic.ID); err != nil {
				t.Fatal(err)
			}
			delete(live, name)
			deleting[name] = topic.ID
		}
		if i%500 == 0 {
			old = append(old, snapshot{h.View(), maps.Clone(live)})
		}
	}
	check(h.View(), live)
	for _, s := range old {
		check(s.view, s.names)
	}
	h.restart()
	check(h.View(), live)
	if len(h.Deleting()) != len(deleting) {
		t.Errorf("%d topics are being deleted, want %d", len(h.Deleting()), len(deleting))
	}
}

// 5,000 topics of two partitions.
func BenchmarkCreate5000(b *testing.B) {
	for b.Loop() {
		h := newHouse(b, storagetest.NewMemory())
		for i := range 5000 {
			h.create(fmt.Sprintf("topic-%d", i), 2, nil)
		}
		if n := len(h.View().Topics()); n != 5000 {
			b.Fatalf("%d topics", n)
		}
	}
}
