package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/segmentio/kafka-go"

	"rota/test/rig"
)

// kafkaGoTopic creates a topic the way kafka-go does: at the controller.
func kafkaGoTopic(t *testing.T, addr, topic string, partitions int) {
	t.Helper()
	c, err := kafka.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	controller, err := c.Controller()
	if err != nil {
		t.Fatal(err)
	}
	cc, err := kafka.Dial("tcp", net.JoinHostPort(controller.Host, strconv.Itoa(controller.Port)))
	if err != nil {
		t.Fatal(err)
	}
	defer cc.Close()
	if err := cc.CreateTopics(kafka.TopicConfig{Topic: topic, NumPartitions: partitions, ReplicationFactor: 1}); err != nil {
		t.Fatal(err)
	}
}

func TestKafkaGoEveryCodecRoundTrips(t *testing.T) {
	b := rig.Start(t)
	ctx := withTimeout(t, time.Minute)
	for name, codec := range map[string]kafka.Compression{
		"none": 0, "gzip": kafka.Gzip, "snappy": kafka.Snappy, "lz4": kafka.Lz4, "zstd": kafka.Zstd,
	} {
		t.Run(name, func(t *testing.T) {
			topic := "codec-" + name
			kafkaGoTopic(t, b.Addr, topic, 1)
			w := &kafka.Writer{
				Addr: kafka.TCP(b.Addr), Topic: topic, Compression: codec, RequiredAcks: kafka.RequireAll, BatchTimeout: time.Millisecond,
				// A transport of its own: the shared one answers from metadata
				// that is older than the topic.
				Transport: &kafka.Transport{},
			}
			defer w.Close()
			var want []kafka.Message
			for i := range 300 {
				m := kafka.Message{
					Key: fmt.Appendf(nil, "key-%d", i), Value: bytes.Repeat([]byte{byte(i), 0xff, 0}, i+1),
					Headers: []kafka.Header{{Key: "h", Value: []byte{0, 1, byte(i)}}},
				}
				if i%7 == 0 {
					m.Key = nil
				}
				want = append(want, m)
			}
			if err := w.WriteMessages(ctx, want...); err != nil {
				t.Fatal(err)
			}
			r := kafka.NewReader(kafka.ReaderConfig{Brokers: []string{b.Addr}, Topic: topic, MaxWait: 100 * time.Millisecond})
			defer r.Close()
			for i := range want {
				got, err := r.ReadMessage(ctx)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(recordOf(want[i]), recordOf(got)); diff != "" {
					t.Fatalf("record %d (-produced +consumed):\n%s", i, diff)
				}
			}
		})
	}
}

func recordOf(m kafka.Message) any {
	return struct {
		Key, Value []byte
		Headers    []kafka.Header
	}{m.Key, m.Value, m.Headers}
}

// kafkaGoMember is a member of a kafka-go consumer group. Its connections can
// be cut, as when its process is killed.
type kafkaGoMember struct {
	group *kafka.ConsumerGroup
	seen  func(kafka.Message)
	stop  func()

	mu    sync.Mutex
	own   []int32
	conns []net.Conn
	dead  bool
}

func startKafkaGo(t *testing.T, addr string, seen func(kafka.Message)) *kafkaGoMember {
	t.Helper()
	m := &kafkaGoMember{seen: seen}
	var err error
	m.group, err = kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{
		ID: "g", Brokers: []string{addr}, Topics: []string{"t"}, StartOffset: kafka.FirstOffset,
		Dialer:            &kafka.Dialer{DialFunc: m.dial, Timeout: 5 * time.Second},
		HeartbeatInterval: 100 * time.Millisecond, SessionTimeout: 2 * time.Second, RebalanceTimeout: 10 * time.Second,
		JoinGroupBackoff: 100 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			g, err := m.group.Next(ctx)
			switch {
			case errors.Is(err, kafka.ErrGroupClosed) || ctx.Err() != nil:
				return
			case err == nil:
				m.generation(addr, g)
			}
		}
	}()
	m.stop = sync.OnceFunc(func() { cancel(); m.group.Close(); <-done })
	t.Cleanup(m.stop)
	return m
}

// generation reads what the member was assigned until the next generation, and
// commits as it goes.
func (m *kafkaGoMember) generation(addr string, g *kafka.Generation) {
	var own []int32
	for _, a := range g.Assignments["t"] {
		own = append(own, int32(a.ID))
		g.Start(func(ctx context.Context) {
			r := kafka.NewReader(kafka.ReaderConfig{
				Brokers: []string{addr}, Topic: "t", Partition: a.ID, MaxWait: 100 * time.Millisecond,
				Dialer: &kafka.Dialer{DialFunc: m.dial, Timeout: 5 * time.Second},
			})
			defer r.Close()
			if err := r.SetOffset(a.Offset); err != nil {
				return
			}
			for {
				msg, err := r.ReadMessage(ctx)
				if err != nil {
					return
				}
				m.seen(msg)
				_ = g.CommitOffsets(map[string]map[int]int64{"t": {a.ID: msg.Offset + 1}}) // lost with the broker or the generation
			}
		})
	}
	m.set(own)
	g.Start(func(ctx context.Context) { <-ctx.Done(); m.set(nil) })
}

func (m *kafkaGoMember) set(own []int32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.own = own
}

func (m *kafkaGoMember) owned() []int32 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.own)
}

func (m *kafkaGoMember) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		c.Close()
		return nil, io.ErrClosedPipe
	}
	m.conns = append(m.conns, c)
	return c, nil
}

// kill cuts the connections of the member, and it opens no new ones.
func (m *kafkaGoMember) kill() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dead, m.own = true, nil
	for _, c := range m.conns {
		c.Close()
	}
}

func kafkaGoShare(members ...*kafkaGoMember) func() bool {
	return func() bool {
		var all []int32
		for _, m := range members {
			own := m.owned()
			if len(own) == 0 {
				return false
			}
			all = append(all, own...)
		}
		slices.Sort(all)
		return len(all) == 6 && len(slices.Compact(all)) == 6
	}
}

func TestKafkaGoGroup(t *testing.T) {
	b := rig.Start(t, "group.min.session.timeout.ms=1000")
	ctx := withTimeout(t, time.Minute)
	kafkaGoTopic(t, b.Addr, "t", 6)
	var mu sync.Mutex
	seen := map[string]int{}
	see := func(m kafka.Message) { mu.Lock(); defer mu.Unlock(); seen[string(m.Value)]++ }
	all := func(n int) func() bool {
		return func() bool { mu.Lock(); defer mu.Unlock(); return len(seen) == n }
	}
	w := &kafka.Writer{
		Addr: kafka.TCP(b.Addr), Topic: "t", RequiredAcks: kafka.RequireAll, BatchTimeout: time.Millisecond,
		Balancer: &kafka.RoundRobin{}, MaxAttempts: 100,
	}
	defer w.Close()
	send := func(from, n int) {
		t.Helper()
		for i := range n {
			if err := w.WriteMessages(ctx, kafka.Message{Value: []byte(strconv.Itoa(from + i))}); err != nil {
				t.Fatal(err)
			}
		}
	}
	m1 := startKafkaGo(t, b.Addr, see)
	m2 := startKafkaGo(t, b.Addr, see)
	eventually(ctx, t, "two members share", kafkaGoShare(m1, m2))
	m3 := startKafkaGo(t, b.Addr, see)
	eventually(ctx, t, "three members share after a join", kafkaGoShare(m1, m2, m3))
	send(0, 60)
	eventually(ctx, t, "60 records are seen", all(60))
	m3.stop()
	eventually(ctx, t, "two members share after a leave", kafkaGoShare(m1, m2))
	m2.kill()
	eventually(ctx, t, "the survivor owns everything", kafkaGoShare(m1))
	b.Restart()
	send(60, 60)
	eventually(ctx, t, "120 records are seen", all(120))
}

// The group reader of kafka-go goes on where another one committed before the
// broker was killed.
func TestKafkaGoResumesFromCommit(t *testing.T) {
	b := rig.Start(t)
	ctx := withTimeout(t, time.Minute)
	kafkaGoTopic(t, b.Addr, "t", 1)
	w := &kafka.Writer{Addr: kafka.TCP(b.Addr), Topic: "t", RequiredAcks: kafka.RequireAll, BatchTimeout: time.Millisecond, MaxAttempts: 100}
	defer w.Close()
	send := func(from, n int) {
		t.Helper()
		for i := range n {
			if err := w.WriteMessages(ctx, kafka.Message{Value: []byte(strconv.Itoa(from + i))}); err != nil {
				t.Fatal(err)
			}
		}
	}
	read := func(n int) []string {
		t.Helper()
		r := kafka.NewReader(kafka.ReaderConfig{
			Brokers: []string{b.Addr}, GroupID: "g", Topic: "t", StartOffset: kafka.FirstOffset, MaxWait: 100 * time.Millisecond,
		})
		defer r.Close()
		var got []string
		for range n {
			m, err := r.ReadMessage(ctx)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(m.Value))
		}
		return got
	}
	send(0, 10)
	if diff := cmp.Diff([]string{"0", "1", "2", "3", "4", "5"}, read(6)); diff != "" {
		t.Errorf("first reader:\n%s", diff)
	}
	b.Restart()
	send(10, 2)
	if diff := cmp.Diff([]string{"6", "7", "8", "9", "10", "11"}, read(6)); diff != "" {
		t.Errorf("second reader, after kill -9 and restart:\n%s", diff)
	}
}
