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
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// conn is a connection that speaks raw requests: one writer, one reader.
type conn struct {
	c           net.Conn
	r           *bufio.Reader
	correlation int32
	out         []byte // of the last request, to be used again
}

func dial(addr string) (*conn, error) {
	c, err := net.DialTimeout("tcp", addr, 10*time.Second)
	if err != nil {
		return nil, err
	}
	return &conn{c: c, r: bufio.NewReaderSize(c, 16<<10)}, nil
}

func (c *conn) close() { c.c.Close() }

var format = kmsg.NewRequestFormatter(kmsg.FormatterClientID("bench"))

// frame encodes a request with its header.
func frame(req kmsg.Request, correlation int32) []byte {
	return format.AppendRequest(nil, req, correlation)
}

// next reads one response body, without its header, into buf.
func (c *conn) next(req kmsg.Request, buf []byte) ([]byte, error) {
	var head [8]byte
	if _, err := io.ReadFull(c.r, head[:]); err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint32(head[:])) - 4
	if n < 0 || n > 128<<20 {
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
	c.out = format.AppendRequest(c.out[:0], req, c.correlation)
	if _, err := c.c.Write(c.out); err != nil {
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
	return ms(l.all[i])
}

func (l *latencies) fill(r row) row {
	if len(l.all) > 0 {
		r.P50, r.P99, r.P999 = l.quantile(0.5), l.quantile(0.99), l.quantile(0.999)
	}
	return r
}

// closedLoop has n connections that each send the next request when the last
// one is answered. Each gets its frame again and again; pipeline of them may be
// in the air. check sees the first answer and every thousandth.
type closedLoop struct {
	n        int
	pipeline int // default 1
	request  func(i int) kmsg.Request
	check    func(kmsg.Response) error
}

// run measures the loop; weight is how many operations an answer stands for.
func (l closedLoop) run(s *session, name, unit string, weight int64) (row, error) {
	if l.pipeline == 0 {
		l.pipeline = 1
	}
	var lat latencies
	var total atomic.Int64
	warm := time.Now().Add(s.warmUp())
	end := warm.Add(s.o.d)
	errs := make(chan error, l.n)
	var wg sync.WaitGroup
	for i := range l.n {
		wg.Go(func() {
			own, err := l.one(s.addr(), l.request(i), warm, end)
			lat.add(own)
			total.Add(int64(len(own)))
			if err != nil {
				errs <- err
			}
		})
	}
	sleep(s.ctx, time.Until(warm))
	m := s.meter()
	wg.Wait()
	if err := first(errs); err != nil {
		return row{}, err
	}
	return lat.fill(m.each(row{Name: name}, total.Load()*weight, unit)), nil
}

// heat runs the loop for the warm-up of a broker and measures nothing. A
// virtual machine compiles what it has run often: a load of one request at a
// time would leave it cold.
func (l closedLoop) heat(s *session) error {
	if l.pipeline == 0 {
		l.pipeline = 1
	}
	end := time.Now().Add(s.warmUp())
	return inParallel(l.n, func(i int) error {
		_, err := l.one(s.addr(), l.request(i), end, end)
		return err
	})
}

// first is an error that is waiting, or nil.
func first(errs chan error) error {
	select {
	case err := <-errs:
		return err
	default:
		return nil
	}
}

// one is one connection of the loop.
func (l closedLoop) one(addr string, req kmsg.Request, warm, end time.Time) ([]time.Duration, error) {
	c, err := dial(addr)
	if err != nil {
		return nil, err
	}
	defer c.close()
	bytes := frame(req, 7)
	own := make([]time.Duration, 0, 1<<14)
	sent := make([]time.Time, 0, l.pipeline)
	var buf []byte
	for count := 0; ; count++ {
		for len(sent) < l.pipeline {
			now := time.Now()
			if now.After(end) {
				break
			}
			if _, err := c.c.Write(bytes); err != nil {
				return own, err
			}
			sent = append(sent, now)
		}
		if len(sent) == 0 {
			return own, nil
		}
		if buf, err = c.next(req, buf); err != nil {
			return own, err
		}
		began := sent[0]
		sent = sent[:copy(sent, sent[1:])]
		if began.After(warm) {
			own = append(own, time.Since(began))
		}
		if count%1000 == 0 {
			resp := req.ResponseKind()
			resp.SetVersion(req.GetVersion())
			if err := resp.ReadFrom(buf); err != nil {
				return own, err
			}
			if err := l.check(resp); err != nil {
				return own, err
			}
		}
	}
}
