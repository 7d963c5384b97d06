package wire

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/api"
)

// piece is a stretch of a test. Some of its steps are lent.
type piece struct {
	all, left []byte
	failAt    int // bytes behind which it fails; 0: it does not
	steps     int
	closed    atomic.Int32
	file      *os.File // nil, or it has all from its first byte
	sent      int      // bytes that went out of the file
}

// InFile has every other piece of 100,000 bytes in the file.
func (p *piece) InFile() (fd uintptr, off int64, size int) {
	at := len(p.all) - len(p.left)
	if p.file == nil || at/100_000%2 == 1 || p.closed.Load() > 0 {
		return 0, 0, 0
	}
	return p.file.Fd(), int64(at), min(100_000-at%100_000, len(p.left))
}

func (p *piece) Passed(size int) {
	p.left = p.left[size:]
	p.sent += size
}

var errRotten = errors.New("a byte has rotted")

func (p *piece) Size() int { return len(p.all) }

func (p *piece) Next(buf []byte) (n int, lent []byte, err error) {
	if len(buf) == 0 || p.closed.Load() > 0 {
		panic("read into nothing, or behind the end")
	}
	if p.failAt > 0 && len(p.all)-len(p.left) >= p.failAt {
		return 0, nil, errRotten
	}
	b := p.left[:min(len(buf), len(p.left))]
	p.left = p.left[len(b):]
	if p.steps++; p.steps%3 == 0 {
		return 0, b, nil
	}
	return copy(buf, b), nil, nil
}

func (p *piece) Close() { p.closed.Add(1) }

// pieced is a deferred response with parts that are read later.
type pieced struct {
	kmsg.FetchResponse
	heads  [][]byte // in front of each piece, and one behind the last
	pieces []*piece
	broken bool // panics at the end
}

func (r *pieced) Estimate() int { return 100 }

func (r *pieced) AppendWithin(dst []byte, _ int, later *api.Later) []byte {
	for i, p := range r.pieces {
		dst = append(dst, r.heads[i]...)
		later.Add(len(dst), p)
	}
	if r.broken {
		panic("broken on purpose")
	}
	return append(dst, r.heads[len(r.pieces)]...)
}

func (r *pieced) body() []byte {
	var b []byte
	for i, p := range r.pieces {
		b = append(append(b, r.heads[i]...), p.all...)
	}
	return append(b, r.heads[len(r.pieces)]...)
}

func newPieced(random *rand.Rand, sizes ...int) *pieced {
	fresh := func(n int) []byte {
		b := make([]byte, n)
		_, _ = rand.NewChaCha8([32]byte{byte(random.Uint32())}).Read(b) // never fails
		return b
	}
	r := &pieced{heads: [][]byte{fresh(random.IntN(50))}}
	for _, n := range sizes {
		all := fresh(n)
		r.pieces = append(r.pieces, &piece{all: all, left: all})
		r.heads = append(r.heads, fresh(random.IntN(50)))
	}
	return r
}

// wantClosed checks that every piece was closed, once.
func (r *pieced) wantClosed(t *testing.T) {
	t.Helper()
	for i, p := range r.pieces {
		if n := p.closed.Load(); n != 1 {
			t.Errorf("piece %d of %d was closed %d times", i, len(r.pieces), n)
		}
	}
}

func serveFetches(t *testing.T, c Config, f func(r *rig, p *parked)) {
	t.Helper()
	var p parked
	c.Table = testTable(&p)
	serve(t, c, func(r *rig) { f(r, &p) })
}

// Parts of all sizes arrive in their places, between other replies, however
// little memory there is for them.
func TestLaterParts(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for name, budget := range map[string]int64{"plenty": 0, "scarce": 1} {
		t.Run(name, func(t *testing.T) {
			serveFetches(t, Config{ReplyBudget: budget}, func(r *rig, p *parked) {
				c := r.dial()
				var want []*pieced
				for _, sizes := range [][]int{{1}, {stepSize}, {stepSize - 1, 1, stepSize + 1}, {3 << 20}, {700_000, 5, 900_000, 1 << 20}, {20_000, 20_000}} {
					want = append(want, newPieced(random, sizes...))
				}
				for range want {
					c.send(c.frame(4, &kmsg.FetchRequest{}), c.frame(0, &kmsg.HeartbeatRequest{}))
				}
				synctest.Wait()
				for _, resp := range want {
					p.take(t).Answer.Reply(resp)
				}
				for i, resp := range want {
					if _, body := c.next(); !bytes.Equal(body, resp.body()) {
						t.Errorf("reply %d has %d bytes that are not the %d that were to come", i, len(body), len(resp.body()))
					}
					c.expect(int32(2*i + 2))
				}
				synctest.Wait()
				for _, resp := range want {
					resp.wantClosed(t)
				}
				if st := r.Stats(); st.ReplyBytes != 0 || st.ReplyPeak > max(budget, 1<<20) {
					t.Errorf("%d bytes are held, %d were", st.ReplyBytes, st.ReplyPeak)
				}
			})
		})
	}
}

// However a reply ends, each part is closed, once, and what was taken for it is
// given back (serve checks that).
func TestEveryPartIsClosedOnce(t *testing.T) {
	for name, fate := range map[string]func(r *rig, c *peer, resp *pieced){
		"peer gone before":        func(_ *rig, c *peer, _ *pieced) { c.Close() },
		"peer gone in the middle": func(_ *rig, c *peer, _ *pieced) { _, _ = c.Read(make([]byte, 200_000)); c.Close() },
		"server closed":           func(r *rig, _ *peer, _ *pieced) { r.Close() },
		"peer reads nothing":      func(r *rig, _ *peer, _ *pieced) { time.Sleep(time.Hour) },
		"damage": func(r *rig, c *peer, resp *pieced) {
			c.closed()
			if !strings.Contains(r.log.String(), errRotten.Error()) {
				r.Errorf("nobody hears of the damage: %s", r.log)
			}
		},
		"encoder breaks": func(_ *rig, c *peer, _ *pieced) { c.closed() },
	} {
		t.Run(name, func(t *testing.T) {
			serveFetches(t, Config{}, func(r *rig, p *parked) {
				c := r.dial()
				c.send(c.frame(4, &kmsg.FetchRequest{}))
				synctest.Wait()
				resp := newPieced(rand.New(rand.NewPCG(3, 4)), 300_000, 300_000, 300_000)
				resp.broken = name == "encoder breaks"
				if name == "damage" {
					resp.pieces[1].failAt = 150_000
				}
				p.take(t).Answer.Reply(resp)
				synctest.Wait()
				fate(r, c, resp)
				synctest.Wait()
				resp.wantClosed(t)
			})
		})
	}
}

// A peer that reads slowly gets all of it, and keeps one step in memory.
func TestASlowPeerKeepsOneStep(t *testing.T) {
	serveFetches(t, Config{StallTimeout: time.Second, IdleTimeout: time.Minute}, func(r *rig, p *parked) {
		c := r.dial()
		c.send(c.frame(4, &kmsg.FetchRequest{}))
		synctest.Wait()
		resp := newPieced(rand.New(rand.NewPCG(5, 6)), 4<<20)
		p.take(t).Answer.Reply(resp)
		var got []byte
		want := resp.body()
		buf := make([]byte, 60_000)
		for len(got) < 8+len(want) {
			time.Sleep(5 * time.Second)
			if st := r.Stats(); st.ReplyBytes > stepSize+1024 || st.BufferBytes > stepSize+16<<10 {
				t.Fatalf("%d bytes of replies and %d of buffers are held", st.ReplyBytes, st.BufferBytes)
			}
			n, err := c.Read(buf)
			if err != nil {
				t.Fatalf("after %d bytes: %v", len(got), err)
			}
			got = append(got, buf[:n]...)
		}
		if !bytes.Equal(got[8:], want) {
			t.Error("other bytes came")
		}
		synctest.Wait()
		resp.wantClosed(t)
	})
}
