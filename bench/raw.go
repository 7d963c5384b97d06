package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// conn is a connection that speaks raw requests: one writer, one reader.
type conn struct {
	c           net.Conn
	r           *bufio.Reader
	correlation int32
}

func dial(addr string) (*conn, error) {
	c, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		return nil, err
	}
	return &conn{c: c, r: bufio.NewReaderSize(c, 64<<10)}, nil
}

func (c *conn) close() { c.c.Close() }

// frame encodes a request with its header.
func frame(req kmsg.Request, correlation int32) []byte {
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID("bench")).AppendRequest(nil, req, correlation)
}

// next reads one response body, without its header, into buf.
func (c *conn) next(req kmsg.Request, buf []byte) ([]byte, error) {
	var head [8]byte
	if _, err := io.ReadFull(c.r, head[:]); err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint32(head[:])) - 4
	if n < 0 || n > 64<<20 {
		return nil, fmt.Errorf("a response of %d bytes", n)
	}
	buf = slices.Grow(buf[:0], n)[:n]
	if _, err := io.ReadFull(c.r, buf); err != nil {
		return nil, err
	}
	if req.IsFlexible() && req.Key() != 18 {
		return buf[1:], nil
	}
	return buf, nil
}

// do sends one request and decodes its response.
func (c *conn) do(req kmsg.Request) (kmsg.Response, error) {
	c.correlation++
	if _, err := c.c.Write(frame(req, c.correlation)); err != nil {
		return nil, err
	}
	body, err := c.next(req, nil)
	if err != nil {
		return nil, err
	}
	resp := req.ResponseKind()
	resp.SetVersion(req.GetVersion())
	return resp, resp.ReadFrom(body)
}

// latencies collects durations of many goroutines.
type latencies struct {
	mu  sync.Mutex
	all []time.Duration
}

func (l *latencies) add(d []time.Duration) {
	l.mu.Lock()
	l.all = append(l.all, d...)
	l.mu.Unlock()
}

// quantile is in milliseconds.
func (l *latencies) quantile(q float64) float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.all) == 0 {
		return math.NaN()
	}
	slices.Sort(l.all)
	i := min(int(q*float64(len(l.all))), len(l.all)-1)
	return float64(l.all[i]) / float64(time.Millisecond)
}

func (l *latencies) fill(r *result) {
	r.P50, r.P99, r.P999 = l.quantile(0.5), l.quantile(0.99), l.quantile(0.999)
}

// closedLoop has n connections that each send the next request when the last
// one is answered, for d after a warm-up of a fifth of d.
func closedLoop(addr string, n int, d time.Duration, pid int, request func(i int) kmsg.Request, check func(kmsg.Response) error) (result, error) {
	var l latencies
	var total int64
	var mu sync.Mutex
	var firstErr error
	warm := time.Now().Add(d / 5)
	end := warm.Add(d)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			own, err := loop(addr, request(i), warm, end, check)
			l.add(own)
			mu.Lock()
			total += int64(len(own))
			if err != nil && firstErr == nil {
				firstErr = err
			}
			mu.Unlock()
		})
	}
	time.Sleep(time.Until(warm))
	before := cpu(pid)
	wg.Wait()
	used := cpu(pid) - before
	if firstErr != nil {
		return result{}, firstErr
	}
	r := result{Rate: float64(total) / d.Seconds(), Unit: "/s"}
	if total > 0 {
		r.CPU = used / float64(total) * 1e6
	}
	l.fill(&r)
	return r, nil
}

// loop is one connection of closedLoop. The same frame is sent again and
// again; the first answer is decoded and checked, the others compared to it.
func loop(addr string, req kmsg.Request, warm, end time.Time, check func(kmsg.Response) error) ([]time.Duration, error) {
	c, err := dial(addr)
	if err != nil {
		return nil, err
	}
	defer c.close()
	resp, err := c.do(req)
	if err != nil {
		return nil, err
	}
	if err := check(resp); err != nil {
		return nil, err
	}
	bytes := frame(req, 7)
	var own []time.Duration
	var buf []byte
	for count := 0; ; count++ {
		began := time.Now()
		if began.After(end) {
			return own, nil
		}
		if _, err := c.c.Write(bytes); err != nil {
			return own, err
		}
		if buf, err = c.next(req, buf); err != nil {
			return own, err
		}
		if began.After(warm) {
			own = append(own, time.Since(began))
		}
		if count%1000 == 0 {
			resp := req.ResponseKind()
			resp.SetVersion(req.GetVersion())
			if err := resp.ReadFrom(buf); err != nil {
				return own, err
			}
			if err := check(resp); err != nil {
				return own, err
			}
		}
	}
}
