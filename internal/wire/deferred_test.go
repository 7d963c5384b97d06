package wire

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/api"
)

// bulk is a deferred response that wants to be large and needs to be small.
type bulk struct {
	kmsg.FetchResponse
	want, need int
	granted    *[]int
}

func (b *bulk) Estimate() int { return b.want }

func (b *bulk) AppendWithin(dst []byte, limit int, _ *api.Later) []byte {
	*b.granted = append(*b.granted, limit)
	return append(dst, make([]byte, max(min(b.want, limit), b.need))...)
}

func TestDeferredRepliesShareABudget(t *testing.T) {
	var granted []int
	table := testTable(&parked{})
	table[1].Handle = func(_ *api.Server, c *api.Call) {
		c.Answer.Reply(&bulk{want: 400 << 10, need: 1 << 10, granted: &granted})
	}
	serve(t, Config{Table: table, ReplyBudget: 1 << 20, StallTimeout: time.Hour}, func(r *rig) {
		var peers []*peer
		for range 6 { // none of them reads
			c := r.dial()
			c.send(c.frame(4, &kmsg.FetchRequest{}))
			synctest.Wait()
			peers = append(peers, c)
		}
		const full = 400 << 10
		if granted[0] != full || granted[1] != full || granted[2] >= full || granted[3] != 0 || granted[5] != 0 {
			t.Errorf("granted: %v", granted)
		}
		if st := r.Stats(); st.ReplyPeak > 1<<20+6*(2<<10) {
			t.Errorf("%d bytes of replies were held", st.ReplyPeak)
		}
		for _, c := range peers {
			c.expect(1)
		}
		synctest.Wait()
		if st := r.Stats(); st.ReplyBytes != 0 {
			t.Errorf("%d bytes are held for replies that have left", st.ReplyBytes)
		}
	})
}

func TestADeferredReplyIsMadeWhenItsTurnHasCome(t *testing.T) {
	var granted []int
	var p parked
	table := testTable(&p)
	serve(t, Config{Table: table}, func(r *rig) {
		c := r.dial()
		c.send(c.frame(9, &kmsg.JoinGroupRequest{}), c.frame(4, &kmsg.FetchRequest{}))
		synctest.Wait()
		join, fetch := p.take(t), p.take(t)
		fetch.Answer.Reply(&bulk{want: 10, granted: &granted})
		synctest.Wait()
		if len(granted) != 0 {
			t.Error("the reply was made while another one stood before it")
		}
		answer(join)
		c.expect(1, 2)
	})
}

func TestUnreadRepliesEndTheConnectionWhenMemoryIsScarce(t *testing.T) {
	var granted []int
	table := testTable(&parked{})
	table[1].Handle = func(_ *api.Server, c *api.Call) {
		c.Answer.Reply(&bulk{want: 1 << 20, granted: &granted})
	}
	serve(t, Config{Table: table, ReplyBudget: 1 << 20, StallTimeout: 10 * time.Second, IdleTimeout: time.Hour}, func(r *rig) {
		c := r.dial()
		c.send(c.frame(4, &kmsg.FetchRequest{}))
		start := time.Now()
		time.Sleep(5 * time.Second)
		if n := r.Stats().Connections; n != 1 {
			t.Fatal("closed too soon")
		}
		time.Sleep(15 * time.Second)
		synctest.Wait()
		if n := r.Stats().Connections; n != 0 {
			t.Errorf("open after %v", time.Since(start))
		}
	})
}
