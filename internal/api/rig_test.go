package api_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/api"
	"rota/internal/broker"
	"rota/internal/catalog"
	"rota/internal/coordinator"
	"rota/internal/storage"
	"rota/internal/storage/storagetest"
	"rota/internal/wire"
)

// rig is a broker in a bubble: the real rooms from the wire down to the log,
// over a medium in memory and connections in memory. Time stands still unless
// every goroutine waits for it.
type rig struct {
	*testing.T
	flaky    *flaky
	settings map[string]string
	// hold, if there is one, keeps the coordinator from loading until it is
	// closed; start does not wait for it then.
	hold chan struct{}
	// held says which partitions hold is about. Default: all.
	held func(p int32) bool

	store  *storage.Store
	cat    *catalog.Catalog
	co     *coordinator.Coordinator
	broker *broker.Broker
	server *wire.Server
	accept pipes
}

// inBubble runs f with a broker that has the given settings, beside those that
// let groups form at once.
func inBubble(t *testing.T, settings map[string]string, f func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		all := map[string]string{"group.initial.rebalance.delay.ms": "0"}
		maps.Copy(all, settings)
		r := &rig{T: t, flaky: &flaky{Medium: storagetest.NewMemory()}, settings: all}
		r.start()
		defer r.stop()
		f(r)
	})
}

func (r *rig) start() {
	r.Helper()
	settings, err := broker.ParseSettings(r.settings)
	r.check(err)
	log := slog.New(slog.NewTextHandler(testWriter{r.T}, &slog.HandlerOptions{Level: slog.LevelWarn}))
	ctx := context.Background()
	r.store, err = storage.Open(ctx, r.flaky, storage.Config{Now: time.Now, Log: log})
	r.check(err)
	catLog, err := r.store.Create(catalog.LogPartition, storage.LogConfig{Internal: true, Compact: true})
	r.check(err)
	r.cat, err = catalog.Open(ctx, catalog.Config{Log: catLog, Epoch: r.store.Epoch(), Slog: log})
	r.check(err)
	r.broker = broker.New(broker.Config{Settings: settings, Log: log}, r.store, r.cat, nil)
	r.check(r.broker.OpenTopics(ctx))
	hold, held := r.hold, r.held
	open := func(p int32) (*storage.Log, error) {
		if hold != nil && (held == nil || held(p)) {
			<-hold
		}
		return r.broker.OffsetsLog(p)
	}
	r.co, err = coordinator.Start(coordinator.Config{
		Partitions: r.broker.OffsetsPartitions(), Group: r.broker.GroupConfig(),
		Open: open, NextEpoch: r.store.NextEpoch,
		ExpireInterval: settings.Millis("offsets.retention.check.interval.ms"), Log: log,
	})
	r.check(err)
	r.broker.Coordinator = r.co
	config := r.broker.TransactionsConfig()
	config.Log = log
	r.broker.Transactions, err = coordinator.StartTransactions(config)
	r.check(err)
	r.broker.FinishDeletes()
	r.server = wire.Start(wire.Config{API: &api.Server{Broker: r.broker, Coordinator: r.co, Log: log}, Log: log})
	r.accept = newPipes()
	go func() {
		if err := r.server.Serve(r.accept, api.Listener{Host: "broker.test", Port: 9092}); err != nil {
			r.Errorf("serve: %v", err)
		}
	}()
	if hold == nil {
		<-r.co.Loaded()
		<-r.broker.Transactions.Loaded()
	}
}

// passes lets time go by.
func (r *rig) passes(millis int64) {
	time.Sleep(time.Duration(millis) * time.Millisecond)
	synctest.Wait()
}

// stop ends the broker in the order in which a process would.
func (r *rig) stop() {
	r.Helper()
	r.check(r.server.Shutdown(context.Background(), func(ctx context.Context) {
		r.check(r.broker.Transactions.Drain(ctx))
		r.check(r.co.Drain(ctx))
	}))
	r.broker.Close()
	r.check(r.broker.Transactions.Close())
	r.check(r.co.Close())
	r.check(r.cat.Close())
	r.check(r.store.Close(context.Background()))
}

func (r *rig) restart() {
	r.Helper()
	r.stop()
	r.start()
}

func (r *rig) check(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// topic makes a topic.
func (r *rig) topic(name string, partitions int32) *catalog.Topic {
	r.Helper()
	t, err := r.broker.CreateTopic(context.Background(), name, partitions, nil, false)
	r.check(err)
	return t
}

// client is one connection to the broker, and the requests that are open on it.
type client struct {
	*rig
	nc     net.Conn
	format *kmsg.RequestFormatter
	sent   []kmsg.Request
	frames chan []byte // closed when the connection has ended
}

// client opens a connection under a client id.
func (r *rig) client(id string) *client {
	c := &client{rig: r, nc: r.accept.dial(), frames: make(chan []byte, 100)}
	c.format = kmsg.NewRequestFormatter(kmsg.FormatterClientID(id))
	go func() {
		defer close(c.frames)
		for {
			frame, err := readFrame(c.nc)
			if err != nil {
				return
			}
			c.frames <- frame
		}
	}()
	return c
}

func readFrame(from io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(from, size[:]); err != nil {
		return nil, err
	}
	frame := make([]byte, binary.BigEndian.Uint32(size[:]))
	_, err := io.ReadFull(from, frame)
	return frame, err
}

// send sends a request without waiting for its answer.
func (c *client) send(version int16, req kmsg.Request) {
	c.Helper()
	req.SetVersion(version)
	c.sent = append(c.sent, req)
	if _, err := c.nc.Write(c.format.AppendRequest(nil, req, int32(len(c.sent)))); err != nil {
		c.Fatalf("send %s v%d: %v", kmsg.NameForKey(req.Key()), version, err)
	}
}

// receive reads the answer to the oldest open request.
func (c *client) receive() kmsg.Response {
	c.Helper()
	frame, ok := <-c.frames
	if !ok {
		c.Fatal("the broker closed the connection")
	}
	return c.decode(frame)
}

func (c *client) decode(frame []byte) kmsg.Response {
	c.Helper()
	correlation := int(binary.BigEndian.Uint32(frame))
	if correlation < 1 || correlation > len(c.sent) {
		c.Fatalf("answer with correlation id %d", correlation)
	}
	resp := c.sent[correlation-1].ResponseKind()
	body := frame[4:]
	if resp.IsFlexible() {
		body = body[1:]
	}
	if err := resp.ReadFrom(body); err != nil {
		c.Fatalf("decode %T v%d: %v", resp, resp.GetVersion(), err)
	}
	return resp
}

// parked checks that the oldest open request is not answered, as far as that
// does not take time.
func (c *client) parked() {
	c.Helper()
	synctest.Wait()
	select {
	case frame, ok := <-c.frames:
		if !ok {
			c.Fatal("the broker closed the connection")
		}
		c.Fatalf("answered, and not parked: %+v", c.decode(frame))
	default:
	}
}

// closed checks that the broker closes the connection without an answer.
func (c *client) closed() {
	c.Helper()
	if frame, ok := <-c.frames; ok {
		c.Fatalf("an answer came: %+v", c.decode(frame))
	}
}

// ask sends a request and returns its answer.
func ask[T kmsg.Response](c *client, version int16, req kmsg.Request) T {
	c.Helper()
	c.send(version, req)
	return received[T](c)
}

// received returns the answer to the oldest open request.
func received[T kmsg.Response](c *client) T {
	c.Helper()
	resp, ok := c.receive().(T)
	if !ok {
		c.Fatal("the answer is one to another API")
	}
	return resp
}

// equal compares two responses as far as their version carries them.
func equal(t testing.TB, got, want kmsg.Response) {
	t.Helper()
	want.SetVersion(got.GetVersion())
	carried := kmsg.ResponseForKey(want.Key())
	carried.SetVersion(got.GetVersion())
	if err := carried.ReadFrom(want.AppendTo(nil)); err != nil {
		t.Fatalf("the wanted response cannot be carried: %v", err)
	}
	if diff := cmp.Diff(carried, got, equateEmpty, ignoreTags); diff != "" {
		t.Errorf("%s v%d (-want +got):\n%s", kmsg.NameForKey(got.Key()), got.GetVersion(), diff)
	}
}

var (
	equateEmpty = cmpopts.EquateEmpty()
	ignoreTags  = cmpopts.IgnoreUnexported(kmsg.Tags{})
)

// eachVersion runs f as a subtest with every version of an API that is served.
func eachVersion(r *rig, key kmsg.Key, f func(version int16)) {
	r.Helper()
	for _, row := range api.Table() {
		if row.Key != key {
			continue
		}
		for v := row.Min; v <= row.Max; v++ {
			f(v)
		}
		return
	}
	r.Fatalf("%s is not served", key.Name())
}

// pipes is a listener for connections in memory.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
}

func newPipes() pipes { return pipes{make(chan net.Conn), make(chan struct{})} }

// dial connects to the listener.
func (p pipes) dial() net.Conn {
	near, far := net.Pipe()
	p.conns <- fromLoopback{far}
	return near
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p pipes) Close() error {
	select {
	case <-p.done:
		return errors.New("closed twice")
	default:
		close(p.done)
		return nil
	}
}

func (p pipes) Addr() net.Addr { return loopback }

// fromLoopback is a connection that says it comes from this machine.
type fromLoopback struct{ net.Conn }

func (fromLoopback) RemoteAddr() net.Addr { return loopback }

var loopback = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 50000}

// testWriter writes to the log of a test.
type testWriter struct{ t *testing.T }

func (w testWriter) Write(b []byte) (int, error) {
	w.t.Log(string(b))
	return len(b), nil
}
