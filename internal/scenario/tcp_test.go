package scenario_test

import (
	"bytes"
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rota"
	"rota/internal/scenario"
)

// TestPlayAgainstABroker plays every file that can be played from outside
// against a whole broker, over connections in memory and in a bubble: the
// hours of the files take no time, and a millisecond is a millisecond.
func TestPlayAgainstABroker(t *testing.T) {
	paths, err := filepath.Glob("../group/testdata/*/*.scenario")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(filepath.Dir(path))+"/"+filepath.Base(path), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			file, err := scenario.Parse(path, text)
			if err != nil {
				t.Fatal(err)
			}
			dir := "" // in memory
			if bytes.Contains(text, []byte("\nrestart\n")) {
				dir = t.TempDir()
			}
			synctest.Test(t, func(t *testing.T) { playInBubble(t, file, dir) })
		})
	}
}

func playInBubble(t *testing.T, file *scenario.File, dir string) {
	rig := &rig{t: t, file: file, dir: dir}
	options := scenario.Options{
		Early: time.Millisecond, Settle: time.Microsecond, Slack: 10 * time.Millisecond,
		Dial: rig.dial, Restart: rig.restart,
	}
	if reason := scenario.Unplayable(file, options); reason != "" {
		t.Skip(reason)
	}
	ctx := t.Context()
	addr, err := rig.start(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer rig.stop()
	happened, err := scenario.Play(ctx, addr, file, options)
	if err != nil {
		t.Error(err)
	}
	if happened != nil {
		if diff := scenario.Diff(file, happened); diff != "" {
			t.Errorf("not as written (-) but so (+):\n%s", diff)
		}
	}
}

// rig is a broker with a listener in memory.
type rig struct {
	t        *testing.T
	file     *scenario.File
	dir      string
	listener *memListener
	broker   *rota.Broker
}

func (r *rig) start(ctx context.Context) (string, error) {
	r.listener = &memListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	var err error
	r.broker, err = rota.Start(ctx, rota.Config{
		Listener: r.listener, DataDir: r.dir, Properties: r.file.Settings(1),
	})
	return memAddr.String(), err
}

func (r *rig) stop() {
	if err := r.broker.Close(); err != nil {
		r.t.Errorf("close: %v", err)
	}
}

func (r *rig) restart(ctx context.Context) (string, error) {
	r.stop()
	return r.start(ctx)
}

func (r *rig) dial(context.Context, string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case r.listener.conns <- memConn{there}:
		return memConn{here}, nil
	case <-r.listener.closed:
		return nil, net.ErrClosed
	}
}

var memAddr = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9092}

// memListener accepts connections that were made in this process.
type memListener struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (l *memListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *memListener) Close() error {
	select {
	case <-l.closed:
	default:
		close(l.closed)
	}
	return nil
}

func (l *memListener) Addr() net.Addr { return memAddr }

// memConn is a pipe that looks like a connection over the loopback interface.
type memConn struct{ net.Conn }

func (memConn) LocalAddr() net.Addr  { return memAddr }
func (memConn) RemoteAddr() net.Addr { return memAddr }

// TestPlayShowsTheDifference plays files that are wrong in one place each, and
// expects the play to say so.
func TestPlayShowsTheDifference(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"wrong reply", "A -> join\nA <- join UNKNOWN_MEMBER_ID\n", "+ A <- join MEMBER_ID_REQUIRED member=a-"},
		{"no reply", "A -> join v=3\nA <- join generation=1\n", "- A <- join generation=1"},
		{"reply that nobody expects", "A -> join\n", "+ A <- join MEMBER_ID_REQUIRED member=a-"},
		{"wrong state", "A -> join v=3\n= Empty generation=0\n", "+ = PreparingRebalance members=a-"},
		{
			"too early", "A -> join v=3\n+5s\n@ 3001ms\nA <- join generation=1 protocol=range leader=a1 member=a1 members=a1\n",
			"+ A <- join generation=1 protocol=range leader=a1 member=a1 members=a1 too-early=1ms",
		},
		{
			"too late", "A -> join v=3\n+5s\n@ 2980ms\nA <- join generation=1 protocol=range leader=a1 member=a1 members=a1\n",
			"- A <- join generation=1 protocol=range leader=a1 member=a1 members=a1",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			file, err := scenario.Parse(tc.name, []byte("group g\n"+tc.text))
			if err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				rig := &rig{t: t, file: file}
				addr, err := rig.start(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer rig.stop()
				happened, err := scenario.Play(t.Context(), addr, file, scenario.Options{
					Early: time.Microsecond, Settle: time.Microsecond, Slack: 10 * time.Millisecond, Dial: rig.dial,
				})
				if err != nil {
					t.Fatal(err)
				}
				if diff := scenario.Diff(file, happened); !strings.Contains(diff, tc.want) {
					t.Errorf("the difference is\n%s\nand should have %q", diff, tc.want)
				}
			})
		})
	}
}
