package wire

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/api"
)

// inFile puts what the pieces have into files.
func (r *pieced) inFile(t *testing.T) {
	t.Helper()
	for _, p := range r.pieces {
		name := filepath.Join(t.TempDir(), "piece")
		if err := os.WriteFile(name, p.all, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		p.file = f
	}
}

// overTCP has a server answer one fetch with resp, over a real connection.
func overTCP(t *testing.T, resp *pieced, wrap func(net.Listener) net.Listener, dial func(addr string) (net.Conn, error)) (body []byte, err error) {
	t.Helper()
	s := Start(Config{Table: []api.API{
		{Key: kmsg.Fetch, Min: 4, Max: 18, Class: api.OverlapsData, Handle: func(_ *api.Server, c *api.Call) { c.Answer.Reply(resp) }},
	}})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(wrap(l), api.Listener{Host: "localhost", Port: 9092}) }()
	defer func() {
		s.Close()
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
		resp.wantClosed(t)
		if st := s.Stats(); st.ReplyBytes != 0 {
			t.Errorf("%d bytes are held", st.ReplyBytes)
		}
	}()
	c, err := dial(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	req := &kmsg.FetchRequest{Version: 11}
	if _, err := c.Write(kmsg.NewRequestFormatter().AppendRequest(nil, req, 1)); err != nil {
		t.Fatal(err)
	}
	var head [8]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return nil, err
	}
	body = make([]byte, int(head[0])<<24|int(head[1])<<16|int(head[2])<<8|int(head[3])-4)
	n, err := io.ReadFull(c, body)
	return body[:n], err
}

func bare(l net.Listener) net.Listener { return l }

func dialTCP(addr string) (net.Conn, error) { return net.Dial("tcp", addr) }

// What lies in files arrives in its place, between what is read, through large
// and small replies, and to a peer whose buffers are full most of the time.
func TestPartsInFiles(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, sizes := range [][]int{{1}, {99_999}, {300_001}, {5 << 20}, {700_000, 5, 900_000, 1 << 20}, {20_000, 20_000}} {
		resp := newPieced(random, sizes...)
		resp.inFile(t)
		body, err := overTCP(t, resp, bare, dialTCP)
		if err != nil || !bytes.Equal(body, resp.body()) {
			t.Errorf("%v: %d bytes that are not the %d that were to come, %v", sizes, len(body), len(resp.body()), err)
		}
		if first := resp.pieces[0]; len(first.all) >= leastFile && first.sent == 0 {
			t.Errorf("%v: nothing was sent out of a file", sizes)
		}
	}
}

// With TLS all bytes are read.
func TestPartsInFilesAreReadForTLS(t *testing.T) {
	web := httptest.NewTLSServer(nil) // it has a certificate
	defer web.Close()
	resp := newPieced(rand.New(rand.NewPCG(5, 6)), 300_000)
	resp.inFile(t)
	body, err := overTCP(t, resp,
		func(l net.Listener) net.Listener {
			return tls.NewListener(l, &tls.Config{Certificates: web.TLS.Certificates})
		},
		func(addr string) (net.Conn, error) {
			return tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true})
		})
	if err != nil || !bytes.Equal(body, resp.body()) {
		t.Errorf("%d bytes that are not the %d that were to come, %v", len(body), len(resp.body()), err)
	}
	if n := resp.pieces[0].sent; n != 0 {
		t.Errorf("%d bytes went past TLS", n)
	}
}

// What the system does not send out of its file is read.
func TestPartsInFilesThatAreNotSent(t *testing.T) {
	resp := newPieced(rand.New(rand.NewPCG(9, 10)), 300_000, 5, 200_000)
	folder, err := os.Open(t.TempDir()) // sendfile fails on it with EINVAL
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	for _, p := range resp.pieces {
		p.file = folder
	}
	body, err := overTCP(t, resp, bare, dialTCP)
	if err != nil || !bytes.Equal(body, resp.body()) {
		t.Errorf("%d bytes that are not the %d that were to come, %v", len(body), len(resp.body()), err)
	}
	if n := resp.pieces[0].sent; n != 0 {
		t.Errorf("%d bytes came out of a folder", n)
	}
}

// A file that has become too short ends the connection.
func TestPartOfAFileThatIsTooShort(t *testing.T) {
	resp := newPieced(rand.New(rand.NewPCG(7, 8)), 300_000)
	resp.inFile(t)
	if err := resp.pieces[0].file.Truncate(50_000); err != nil {
		if err := os.Truncate(resp.pieces[0].file.Name(), 50_000); err != nil {
			t.Fatal(err)
		}
	}
	body, err := overTCP(t, resp, bare, dialTCP)
	if len(body) >= 300_000 || !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("%d bytes, %v", len(body), err)
	}
}
