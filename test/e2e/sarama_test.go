package e2e

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/google/go-cmp/cmp"

	"rota/test/rig"
)

func saramaConfig(v sarama.KafkaVersion) *sarama.Config {
	c := sarama.NewConfig()
	c.Version = v
	c.Producer.Return.Successes = true
	c.Producer.RequiredAcks = sarama.WaitForAll
	c.Consumer.Offsets.Initial = sarama.OffsetOldest
	c.Consumer.Offsets.AutoCommit.Interval = 100 * time.Millisecond
	c.Consumer.Group.Session.Timeout = 6 * time.Second
	c.Consumer.Group.Heartbeat.Interval = 100 * time.Millisecond
	return c
}

func TestSaramaEveryCodecRoundTrips(t *testing.T) {
	b := rig.Start(t)
	for _, codec := range []sarama.CompressionCodec{
		sarama.CompressionNone, sarama.CompressionGZIP, sarama.CompressionSnappy, sarama.CompressionLZ4, sarama.CompressionZSTD,
	} {
		t.Run(codec.String(), func(t *testing.T) {
			topic := "codec-" + codec.String()
			config := saramaConfig(sarama.V2_8_0_0)
			config.Producer.Compression = codec
			p, err := sarama.NewSyncProducer([]string{b.Addr}, config)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			var want []string
			for i := range 200 {
				value := bytes.Repeat([]byte{byte(i)}, i)
				want = append(want, string(value))
				if _, _, err := p.SendMessage(&sarama.ProducerMessage{
					Topic: topic, Key: sarama.StringEncoder(fmt.Sprint(i)), Value: sarama.ByteEncoder(value),
					Headers: []sarama.RecordHeader{{Key: []byte("h"), Value: []byte{byte(i)}}},
				}); err != nil {
					t.Fatal(err)
				}
			}
			c, err := sarama.NewConsumer([]string{b.Addr}, config)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			pc, err := c.ConsumePartition(topic, 0, sarama.OffsetOldest)
			if err != nil {
				t.Fatal(err)
			}
			defer pc.Close()
			var got []string
			for i := range want {
				select {
				case m := <-pc.Messages():
					got = append(got, string(m.Value))
					if string(m.Key) != fmt.Sprint(i) || len(m.Headers) != 1 || !bytes.Equal(m.Headers[0].Value, []byte{byte(i)}) {
						t.Fatalf("record %d has key %q and headers %v", i, m.Key, m.Headers)
					}
				case err := <-pc.Errors():
					t.Fatal(err)
				case <-time.After(20 * time.Second):
					t.Fatalf("record %d does not come", i)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// saramaMember is a sarama group member that tells what it owns.
type saramaMember struct {
	mu   sync.Mutex
	own  []int32
	seen func(*sarama.ConsumerMessage)
	stop func()
}

func (m *saramaMember) Setup(s sarama.ConsumerGroupSession) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.own = slices.Clone(s.Claims()["t"])
	return nil
}

func (m *saramaMember) Cleanup(sarama.ConsumerGroupSession) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.own = nil
	return nil
}

func (m *saramaMember) ConsumeClaim(s sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for msg := range claim.Messages() {
		m.seen(msg)
		s.MarkMessage(msg, "")
	}
	return nil
}

func (m *saramaMember) owned() []int32 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.own)
}

func startSarama(t *testing.T, addr string, config *sarama.Config, seen func(*sarama.ConsumerMessage)) *saramaMember {
	t.Helper()
	g, err := sarama.NewConsumerGroup([]string{addr}, "g", config)
	if err != nil {
		t.Fatal(err)
	}
	m := &saramaMember{seen: seen}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if err := g.Consume(ctx, []string{"t"}, m); err != nil && ctx.Err() == nil {
				t.Log("consume:", err)
			}
		}
	}()
	m.stop = sync.OnceFunc(func() { cancel(); <-done; g.Close() })
	t.Cleanup(m.stop)
	return m
}

func TestSaramaGroup(t *testing.T) {
	for _, v := range []sarama.KafkaVersion{sarama.V1_0_0_0, sarama.V2_8_0_0, sarama.V4_1_0_0} {
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel()
			b := rig.Start(t)
			ctx := withTimeout(t, time.Minute)
			createTopic(ctx, t, b.Addr, "t", 6)
			var mu sync.Mutex
			seen := map[string]int{}
			see := func(m *sarama.ConsumerMessage) { mu.Lock(); seen[string(m.Value)]++; mu.Unlock() }
			config := saramaConfig(v)
			m1 := startSarama(t, b.Addr, config, see)
			m2 := startSarama(t, b.Addr, config, see)
			m3 := startSarama(t, b.Addr, config, see)
			eventually(ctx, t, "three members share", saramaShare(m1, m2, m3))
			p, err := sarama.NewSyncProducer([]string{b.Addr}, config)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			send := func(from, n int) {
				t.Helper()
				for i := range n {
					if _, _, err := p.SendMessage(&sarama.ProducerMessage{Topic: "t", Value: sarama.StringEncoder(fmt.Sprint(from + i))}); err != nil {
						t.Fatal(err)
					}
				}
			}
			all := func(n int) func() bool {
				return func() bool { mu.Lock(); defer mu.Unlock(); return len(seen) == n }
			}
			send(0, 60)
			eventually(ctx, t, "60 records are seen", all(60))
			m3.stop()
			eventually(ctx, t, "two members share after a leave", saramaShare(m1, m2))
			b.Restart()
			send(60, 60)
			eventually(ctx, t, "120 records are seen", all(120))
		})
	}
}

func saramaShare(members ...*saramaMember) func() bool {
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
