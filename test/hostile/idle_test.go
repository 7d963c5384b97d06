// Package hostile meets the broker, in a process of its own and over TCP, with
// peers that mean no good or have gone: what they cost is bounded and reported,
// and good clients are served all the time.
package hostile

import (
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/test/rig"
)

// Ten thousand connections that say hello and then nothing, or nothing at all.
func TestIdleConnections(t *testing.T) {
	const wanted, perConnection = 10_000, 16 << 10
	b := rig.Start(t)
	good := dial(t, b, "")
	good.served()
	before, files := resident(t, b), openFiles(t, b)
	n := most(t, wanted)
	peers := make([]*peer, n)
	var dialing sync.WaitGroup
	for part := range 8 {
		dialing.Go(func() {
			for i := part; i < n; i += 8 {
				p, err := tryDial(t, b, "")
				if err != nil {
					t.Errorf("connection %d: %v", i, err)
					return
				}
				peers[i] = p
				if i%2 == 0 {
					if _, err := p.ask(3, hello()); err != nil {
						t.Errorf("connection %d: %v", i, err)
						return
					}
				}
			}
		})
	}
	dialing.Wait()
	if t.Failed() {
		return
	}
	good.served()
	used := resident(t, b) - before
	t.Logf("%d idle connections take %.1f MiB on top of %.1f MiB: %d bytes each", n, mib(used), mib(before), used/n)
	if used > n*perConnection {
		t.Errorf("an idle connection takes %d bytes, more than %d", used/n, perConnection)
	}
	for _, p := range peers {
		p.reset()
	}
	gone(t, b, files)
	good.served()
}

func hello() *kmsg.ApiVersionsRequest {
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName, req.ClientSoftwareVersion = "hostile", "1"
	return req
}

func TestConnectionLimits(t *testing.T) {
	for name, setting := range map[string]string{"in all": "max.connections=20", "per address": "max.connections.per.ip=20"} {
		t.Run(name, func(t *testing.T) {
			b := rig.Start(t, setting)
			files := openFiles(t, b)
			peers := make([]*peer, 20)
			for i := range peers {
				peers[i] = dial(t, b, "")
				peers[i].served()
			}
			for range 50 {
				dial(t, b, "").refused()
			}
			other, err := tryDial(t, b, "127.0.0.2")
			switch {
			case err != nil:
				t.Log("there is no second address here: ", err)
			case name == "in all":
				other.refused()
			default:
				other.served()
				other.reset()
			}
			for _, p := range peers {
				p.served()
			}
			// Room that becomes free is given to the next one.
			for _, p := range peers[:10] {
				p.reset()
			}
			gone(t, b, files)
			for range 10 {
				dial(t, b, "").served()
			}
		})
	}
}
