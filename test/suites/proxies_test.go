package suites

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

// proxies stand between a client and its brokers, and are told over HTTP what
// to do: as much of toxiproxy's API as sarama's suite uses.
type proxies struct {
	mu   sync.Mutex
	all  map[string]*proxy
	work sync.WaitGroup
}

// proxy passes bytes on between connections to one address and another one.
type proxy struct {
	Name     string `json:"name"`
	Listen   string `json:"listen"`
	Upstream string `json:"upstream"`
	Enabled  bool   `json:"enabled"`

	listener net.Listener
	conns    map[net.Conn]bool
	toxics   map[string]toxic
}

// toxic is something that happens to the connections of a proxy.
type toxic struct {
	Name       string         `json:"name"`
	Type       string         `json:"type"` // latency or reset_peer
	Attributes map[string]int `json:"attributes"`
}

// startProxies serves the API until the test ends and returns where.
func startProxies(t testing.TB, list ...*proxy) string {
	t.Helper()
	ps := &proxies{all: map[string]*proxy{}}
	for _, p := range list {
		p.conns, p.toxics = map[net.Conn]bool{}, map[string]toxic{}
		ps.all[p.Name] = p
		if err := ps.set(p, true); err != nil {
			t.Fatal(err)
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /proxies/{name}", ps.with(func(p *proxy, _ *http.Request) error { return nil }))
	mux.HandleFunc("POST /proxies/{name}", ps.with(func(p *proxy, r *http.Request) error {
		var want proxy
		if err := json.NewDecoder(r.Body).Decode(&want); err != nil {
			return err
		}
		return ps.set(p, want.Enabled)
	}))
	mux.HandleFunc("POST /proxies/{name}/toxics", ps.with(func(p *proxy, r *http.Request) error {
		var x toxic
		if err := json.NewDecoder(r.Body).Decode(&x); err != nil {
			return err
		}
		if x.Name == "" {
			x.Name = x.Type
		}
		p.toxics[x.Name] = x
		if x.Type == "reset_peer" {
			p.cut()
		}
		return nil
	}))
	mux.HandleFunc("POST /reset", func(w http.ResponseWriter, _ *http.Request) {
		ps.mu.Lock()
		defer ps.mu.Unlock()
		for _, p := range ps.all {
			clear(p.toxics)
			if err := ps.set(p, true); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
		}
		w.WriteHeader(http.StatusNoContent)
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	ps.work.Go(func() { _ = server.Serve(l) })
	t.Cleanup(func() {
		_ = server.Close()
		ps.mu.Lock()
		for _, p := range ps.all {
			_ = ps.set(p, false)
		}
		ps.mu.Unlock()
		ps.work.Wait()
	})
	return "http://" + l.Addr().String()
}

// with answers a request with the proxy that it names, after f.
func (ps *proxies) with(f func(*proxy, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ps.mu.Lock()
		defer ps.mu.Unlock()
		p := ps.all[r.PathValue("name")]
		if p == nil {
			http.NotFound(w, r)
			return
		}
		if err := f(p, r); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		_ = json.NewEncoder(w).Encode(p)
	}
}

// set opens or closes a proxy. The lock is held, or nobody knows the proxy yet.
func (ps *proxies) set(p *proxy, enabled bool) error {
	if p.Enabled == enabled {
		return nil
	}
	p.Enabled = enabled
	if !enabled {
		p.cut()
		return p.listener.Close()
	}
	l, err := net.Listen("tcp", p.Listen)
	if err != nil {
		return err
	}
	p.listener = l
	ps.work.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			ps.work.Go(func() { ps.serve(p, c) })
		}
	})
	return nil
}

// cut resets every connection.
func (p *proxy) cut() {
	for c := range p.conns {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = c.Close()
	}
}

// serve passes on what a connection brings.
func (ps *proxies) serve(p *proxy, c net.Conn) {
	defer c.Close()
	up, err := net.Dial("tcp", p.Upstream)
	if err != nil {
		return
	}
	defer up.Close()
	ps.mu.Lock()
	p.conns[c] = true
	ps.mu.Unlock()
	defer func() {
		ps.mu.Lock()
		delete(p.conns, c)
		ps.mu.Unlock()
	}()
	ps.work.Go(func() {
		defer c.Close()
		_ = ps.pass(p, c, up)
	})
	_ = ps.pass(p, up, c)
}

var errReset = errors.New("reset")

// pass copies, late by as much as the proxy is told.
func (ps *proxies) pass(p *proxy, to io.Writer, from io.Reader) error {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		ps.mu.Lock()
		latency := time.Duration(p.toxics["latency"].Attributes["latency"]) * time.Millisecond
		_, reset := p.toxics["reset_peer"]
		ps.mu.Unlock()
		if reset {
			return errReset
		}
		time.Sleep(latency)
		if _, werr := to.Write(buf[:n]); werr != nil {
			return werr
		}
		if err != nil {
			return err
		}
	}
}
