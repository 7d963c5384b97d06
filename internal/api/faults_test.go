package api_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/storage"
)

// flaky is a medium whose n-th flush from now fails, once, and that may be slow.
type flaky struct {
	storage.Medium
	mu     sync.Mutex
	slow   time.Duration // each flush takes this much longer
	left   int           // flushes until one fails; 0: none will
	broken bool
	failed int
	lends  atomic.Int64 // times that something was to be lent
}

func (m *flaky) failIn(flushes int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.left = flushes
}

// delay makes flushes slower.
func (m *flaky) delay(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.slow = d
}

var errFlaky = errors.New("the disk did not like it")

func (m *flaky) Flush(f storage.Flush, written func(), done func(error)) {
	m.mu.Lock()
	if m.left > 0 {
		if m.left--; m.left == 0 {
			m.broken = true
			m.failed++
		}
	}
	broken, slow := m.broken, m.slow
	m.mu.Unlock()
	if broken {
		done(errFlaky)
		return
	}
	if slow > 0 {
		time.AfterFunc(slow, func() { m.Medium.Flush(f, written, done) })
		return
	}
	m.Medium.Flush(f, written, done)
}

func (m *flaky) Reopen(next uint64) error {
	m.mu.Lock()
	m.broken = false
	m.mu.Unlock()
	return m.Medium.Reopen(next)
}

// Whatever of a deletion cannot be written, tombstones, the end of a log, the
// end of the whole, holds it up and does not end it.
func TestDeletionSurvivesAFailedFlush(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		for flush := 2; flush <= 4; flush++ { // the first one says in the catalog that it began
			topic := r.topic("t", 1)
			c := r.client("c")
			c.must(8, commitRequest("g", commit{topic: "t", offset: 100}))
			r.flaky.failIn(flush)
			if got := c.deleteTopic(6, "t"); got != 0 {
				t.Fatalf("flush %d failed: error %d", flush, got)
			}
			if r.flaky.failed != flush-1 {
				t.Errorf("%d flushes have failed, want %d: the test has lost its point", r.flaky.failed, flush-1)
			}
			if _, ok := r.store.Log(storage.Partition{Topic: topic.ID}); ok {
				t.Errorf("flush %d failed: the log is still there", flush)
			}
			if got := c.offset("g", "t", 0); got != -1 {
				t.Errorf("flush %d failed: the offset is %d, want -1", flush, got)
			}
			r.restart()
		}
		r.client("d").created(newTopic("t", 1, 1))
	})
}

// A deletion whose shards do not serve any more goes on after the next start.
func TestDeletionOutlastsTheBroker(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.topic("t", 1)
		c := r.client("c")
		c.must(8, commitRequest("g", commit{topic: "t", offset: 100}))
		r.check(r.co.Drain(context.Background()))
		req := kmsg.NewPtrDeleteTopicsRequest()
		req.TopicNames, req.TimeoutMillis = []string{"t"}, 2500
		if got := ask[*kmsg.DeleteTopicsResponse](c, 5, req).Topics[0].ErrorCode; got != 7 {
			t.Errorf("delete: error %d, want 7", got)
		}
		r.restart()
		synctest.Wait()
		c = r.client("c")
		c.created(newTopic("t", 1, 1))
		if got := c.offset("g", "t", 0); got != -1 {
			t.Errorf("the offset is %d, want -1", got)
		}
	})
}

// A client that waits for a deletion does not hold the broker's stop up.
func TestStopAnswersADeletionThatWaits(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.topic("t", 1)
		c := r.client("c")
		r.check(r.co.Drain(context.Background()))
		req := kmsg.NewPtrDeleteTopicsRequest()
		req.TopicNames, req.TimeoutMillis = []string{"t"}, 3_600_000
		c.send(5, req)
		c.parked()
		began := time.Now()
		r.restart()
		if got := received[*kmsg.DeleteTopicsResponse](c).Topics[0].ErrorCode; got != 7 {
			t.Errorf("delete: error %d, want 7", got)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("the stop took %v", took)
		}
		synctest.Wait()
		r.client("d").created(newTopic("t", 1, 1))
	})
}

// A change that cannot be written is refused and leaves nothing behind.
func TestChangesThatCannotBeWritten(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		c := r.client("c")
		r.topic("t", 1)
		// The journal is opened anew after a failed flush; until it is, changes
		// are refused as well.
		fail := func() {
			synctest.Wait()
			r.flaky.failIn(1)
		}
		fail()
		resp := ask[*kmsg.CreateTopicsResponse](c, 7, createRequest(newTopic("n", 1, 1))).Topics[0]
		if resp.ErrorCode == 0 || resp.ErrorMessage == nil {
			t.Errorf("create: %+v, want an error", resp)
		}
		if _, ok := r.cat.View().Topic("n"); ok {
			t.Error("the topic was made")
		}
		fail()
		if got := alter(c, 1, alterRequest(onTopic, "t", set("retention.ms", "5"))); got == 0 {
			t.Error("alter: no error")
		}
		checkTopic(r, "t", nil)
		fail()
		if got := c.deleteTopic(6, "t"); got == 0 {
			t.Error("delete: no error")
		}
		if _, ok := r.cat.View().Topic("t"); !ok {
			t.Error("the topic has gone")
		}
		synctest.Wait()
		c.created(newTopic("n", 1, 1))
		mustAlter(c, onTopic, "t", set("retention.ms", "5"))
		r.restart()
		checkTopic(r, "t", map[string]string{"retention.ms": "5"})
		checkTopic(r, "n", nil)
	})
}

// Lend is the medium's.
func (m *flaky) Lend(p storage.Partition, s storage.Segment, offset int64, limit int, visible int64) (storage.Stretch, int64, error) {
	lender, ok := m.Medium.(storage.Lender)
	if !ok {
		return nil, 0, nil
	}
	m.lends.Add(1)
	return lender.Lend(p, s, offset, limit, visible)
}
