package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"rota"
)

// runStart measures starts: of a process on a fresh folder up to the first
// acknowledged durable record, and of a broker in this process; and what an
// idle broker holds.
func runStart(ctx context.Context, o *options, _ target) ([]result, error) {
	const n = 11
	var process []time.Duration
	var anonymous, resident float64
	for range n {
		took, anon, rss, err := firstAck(o)
		if err != nil {
			return nil, err
		}
		process = append(process, took)
		anonymous, resident = anon, rss
	}
	var inside []time.Duration
	for range n {
		began := time.Now()
		b, err := rota.Start(ctx, rota.Config{})
		if err != nil {
			return nil, err
		}
		inside = append(inside, time.Since(began))
		if err := b.Close(); err != nil {
			return nil, err
		}
	}
	return []result{
		{Name: "process start to first ack", P50: median(process), Detail: fmt.Sprintf("median of %d, max %.1f ms", n, ms(slices.Max(process)))},
		{Name: "in-process start", P50: median(inside), Detail: fmt.Sprintf("median of %d, max %.1f ms", n, ms(slices.Max(inside)))},
		{Name: "idle memory", Detail: fmt.Sprintf("anonymous %.1f MiB, resident %.1f MiB", anonymous, resident)},
	}, nil
}

// firstAck starts a process and produces one record as soon as it can.
func firstAck(o *options) (took time.Duration, anonymous, resident float64, err error) {
	began := time.Now()
	b, err := startBroker(o)
	if err != nil {
		return 0, 0, 0, err
	}
	defer b.stop()
	if err := createTopic(b.addr, "first", 1); err != nil {
		return 0, 0, 0, err
	}
	c, err := dial(b.addr)
	if err != nil {
		return 0, 0, 0, err
	}
	defer c.close()
	resp, err := c.do(produceRequest("first", 0, batch(100)))
	if err != nil {
		return 0, 0, 0, err
	}
	took = time.Since(began)
	if err := kerr.ErrorForCode(resp.(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode); err != nil {
		return 0, 0, 0, err
	}
	time.Sleep(300 * time.Millisecond) // idle
	anonymous, resident = memory(b.cmd.Process.Pid)
	return took, anonymous, resident, nil
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func median(d []time.Duration) float64 {
	d = slices.Clone(d)
	slices.Sort(d)
	return ms(d[len(d)/2])
}
