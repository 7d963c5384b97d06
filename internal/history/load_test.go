package history

import (
	"context"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"rota/internal/group"
	"rota/internal/storage"
	"rota/internal/story"
)

// interrupted is a medium that has something happen before each read.
type interrupted struct {
	storage.Medium
	before func() error
}

func (m *interrupted) Read(p storage.Partition, s storage.Segment, offset int64, limit int, dst []byte) ([]byte, error) {
	if m.before != nil {
		if err := m.before(); err != nil {
			return dst, err
		}
	}
	return m.Medium.Read(p, s, offset, limit, dst)
}

// restarted is a rig whose topic has five events of an earlier run, each in a
// segment of its own.
func restarted(t *testing.T) (*rig, *interrupted) {
	r := newRig(t)
	conf := storage.LogConfig{Compression: -1, SegmentBytes: 1, RetentionAge: -1, RetentionBytes: -1}
	h := r.start()
	for i := range int64(5) {
		h.Take("g", []group.Event{started(i, group.CauseMemberLeft)})
		time.Sleep(2 * linger)
		synctest.Wait()
	}
	h.Close()
	r.log.SetConfig(conf)
	r.close()
	var err error
	m := &interrupted{Medium: r.medium}
	if r.store, err = storage.Open(context.Background(), m, storage.Config{}); err != nil {
		t.Fatal(err)
	}
	if r.log, err = r.store.Create(part, conf); err != nil {
		t.Fatal(err)
	}
	return r, m
}

// causes tells the rebalances that are known of the group: l for those of the
// earlier run, j for the one of this run.
func causes(h *History) (s string) {
	for _, b := range h.Rebalances("g") {
		s += map[story.Cause]string{story.CauseMemberLeft: "l", story.CauseMemberJoined: "j"}[b.Cause]
	}
	return s
}

// What the system refuses for a while is read when it does not any more. If that
// takes too long, what can be read has to do.
func TestLoadIsTriedAgain(t *testing.T) {
	for _, test := range []struct {
		name    string
		refused int    // loads that come to nothing
		bad     int    // the read, of each of those, that fails
		first   string // what is known meanwhile
		want    string
	}{
		{"at once", 1, 1, "j", "lllllj"},
		{"midway", loadTries - 1, 4, "j", "lllllj"},
		{"for ever", loadTries, 4, "j", "llj"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, m := restarted(t)
				defer r.close()
				loads, reads := 0, 0
				m.before = func() error {
					if reads++; loads < test.refused && reads >= test.bad {
						return syscall.EMFILE
					}
					return nil
				}
				h := r.start()
				defer h.Close()
				h.Take("g", []group.Event{started(10, group.CauseMemberJoined)})
				time.Sleep(2 * linger)
				synctest.Wait()
				for ; loads < test.refused; loads++ {
					want := test.first
					if loads == loadTries-1 {
						want = test.want
					}
					for range 2 { // the second comes too early to try
						reads = 0
						if got := causes(h); got != want {
							t.Errorf("after %d loads that were refused: %s", loads, got)
						}
					}
					if reads > 0 {
						t.Errorf("%d reads of a load that comes too early", reads)
					}
					time.Sleep(retryAfter)
				}
				for range 2 {
					if got := causes(h); got != test.want {
						t.Errorf("in the end: %s", got)
					}
				}
			})
		})
	}
}

// Retention deletes what is being read. What is left is read all the same.
func TestLoadBesideRetention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, m := restarted(t)
		defer r.close()
		reads := 0
		m.before = func() error {
			if reads++; reads != 3 {
				return nil
			}
			done := make(chan error, 1)
			r.log.DeleteRecords(4, func(_ int64, err error) { done <- err })
			if err := <-done; err != nil {
				t.Error(err)
			}
			if err := r.store.Retain(); err != nil {
				t.Error(err)
			}
			return nil
		}
		h := r.start()
		defer h.Close()
		got := causes(h)
		if start := r.log.Bounds().Start; start != 4 || reads < 4 {
			t.Fatalf("the topic begins at %d after %d reads", start, reads)
		}
		if got != "ll" {
			t.Errorf("known: %s", got)
		}
	})
}
