package hostile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/test/rig"
)

// peer is one connection to the broker, without the manners of a client.
type peer struct {
	*net.TCPConn
	t      testing.TB
	format *kmsg.RequestFormatter
	last   int32
}

// dial connects, from an address if one is given.
func dial(t testing.TB, b *rig.Broker, from string) *peer {
	t.Helper()
	p, err := tryDial(t, b, from)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func tryDial(t testing.TB, b *rig.Broker, from string) (*peer, error) {
	d := net.Dialer{Timeout: patience}
	if from != "" {
		d.LocalAddr = &net.TCPAddr{IP: net.ParseIP(from)}
	}
	c, err := d.DialContext(t.Context(), "tcp", b.Addr)
	if err != nil {
		return nil, err
	}
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return nil, fmt.Errorf("dial made a %T", c)
	}
	t.Cleanup(func() { tcp.Close() })
	return &peer{TCPConn: tcp, t: t, format: kmsg.NewRequestFormatter(kmsg.FormatterClientID("hostile"))}, nil
}

// patience is how long the broker may take for anything.
const patience = 30 * time.Second

func (p *peer) frame(version int16, req kmsg.Request) []byte {
	req.SetVersion(version)
	p.last++
	return p.format.AppendRequest(nil, req, p.last)
}

// ask sends a request and reads its answer.
func (p *peer) ask(version int16, req kmsg.Request) (kmsg.Response, error) {
	_ = p.SetDeadline(time.Now().Add(patience))
	if _, err := p.Write(p.frame(version, req)); err != nil {
		return nil, err
	}
	return p.answer(req)
}

func (p *peer) answer(req kmsg.Request) (kmsg.Response, error) {
	var size [4]byte
	if _, err := io.ReadFull(p, size[:]); err != nil {
		return nil, err
	}
	frame := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(p, frame); err != nil {
		return nil, err
	}
	resp := req.ResponseKind()
	body := frame[4:]
	if resp.IsFlexible() && req.Key() != kmsg.ApiVersions.Int16() {
		body = body[1:]
	}
	return resp, resp.ReadFrom(body)
}

// served fails the test unless the connection answers a simple question.
func (p *peer) served() {
	p.t.Helper()
	if _, err := p.ask(0, kmsg.NewPtrApiVersionsRequest()); err != nil {
		p.t.Fatalf("a good connection is not served: %v", err)
	}
}

// refused fails the test unless the broker closes the connection.
func (p *peer) refused() {
	p.t.Helper()
	_ = p.SetDeadline(time.Now().Add(patience))
	var b [1]byte
	if n, err := p.Read(b[:]); n > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		p.t.Fatalf("the connection is not closed: %d bytes came, %v", n, err)
	}
}

// reset ends the connection as a crash of its machine would.
func (p *peer) reset() {
	_ = p.SetLinger(0)
	_ = p.Close()
}

// resident is how much memory the broker's process has, in bytes.
func resident(t testing.TB, b *rig.Broker) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", b.PID()))
	if err != nil {
		t.Skip("the memory of a process is not known here: ", err)
	}
	for line := range strings.Lines(string(status)) {
		if kib, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			n, err := strconv.Atoi(strings.Fields(kib)[0])
			if err != nil {
				t.Fatal(err)
			}
			return n << 10
		}
	}
	t.Fatal("no VmRSS in the status of the process")
	return 0
}

// openFiles counts the open files of the broker's process.
func openFiles(t testing.TB, b *rig.Broker) int {
	t.Helper()
	list, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(b.PID()), "fd"))
	if err != nil {
		t.Skip("the open files of a process are not known here: ", err)
	}
	return len(list)
}

// gone waits until the broker has as many files open as before, give or take
// its own.
func gone(t testing.TB, b *rig.Broker, before int) {
	t.Helper()
	const own = 10
	limit := time.Now().Add(patience)
	for openFiles(t, b) > before+own {
		if time.Now().After(limit) {
			t.Fatalf("%d files are open, and %d were before", openFiles(t, b), before)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// most is how many of n connections this process, and so the broker, may have.
func most(t testing.TB, n int) int {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	const spare = 500
	if room := int(limit.Cur) - spare; room < n {
		t.Logf("only %d of %d connections: the limit of open files is %d", room, n, limit.Cur)
		return room
	}
	return n
}

func mib(bytes int) float64 { return float64(bytes) / (1 << 20) }
