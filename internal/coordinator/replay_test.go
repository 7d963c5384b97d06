package coordinator

import (
	"errors"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"rota/internal/group"
	"rota/internal/record"
	"rota/internal/schema"
	"rota/internal/storage"
)

func header(t *testing.T, batch []byte) record.Header {
	t.Helper()
	h, err := record.ParseHeader(batch)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// offsetRecord is a committed offset of t-0; a negative one is a tombstone.
func offsetRecord(id string, offset int64) group.Record {
	r := group.Record{Key: schema.AppendOffsetKey(nil, schema.OffsetKey{Group: id, Topic: "t"})}
	if offset >= 0 {
		r.Value = schema.AppendOffsetValue(nil, schema.OffsetValue{Offset: offset, LeaderEpoch: -1, ExpireTimestamp: -1})
	}
	return r
}

func batchOf(records ...group.Record) []byte { return producerBatch(-1, records...) }

// producerBatch is a transactional batch, unless the producer is -1.
func producerBatch(producer int64, records ...group.Record) []byte {
	var b record.Builder
	b.Reset(nil)
	for _, r := range records {
		b.Append(1_700_000_000_000, r.Key, r.Value)
	}
	if producer >= 0 {
		b.SetProducer(producer, 0, 0)
		b.SetTransactional()
	}
	return b.Finish()
}

func marker(producer int64, kind record.ControlType) []byte {
	var b record.Builder
	b.Reset(nil)
	b.SetProducer(producer, 0, record.None)
	b.AppendMarker(1_700_000_000_000, record.Marker{Type: kind})
	return b.Finish()
}

func TestReplay(t *testing.T) {
	groupKey := schema.AppendGroupKey(nil, schema.GroupKey{Group: "g"})
	for _, test := range []struct {
		name string
		log  [][]byte
		want string // of an OffsetFetch, "" if the load fails
	}{
		{"P3: the last value wins", [][]byte{
			batchOf(offsetRecord("g", 1), offsetRecord("g", 2)), batchOf(offsetRecord("g", -1), offsetRecord("g", 3)),
		}, "at 3"},
		{"tombstone", [][]byte{batchOf(offsetRecord("g", 1)), batchOf(offsetRecord("g", -1))}, "at -1"},
		{"P4: a transaction without its marker", [][]byte{
			batchOf(offsetRecord("g", 1)), producerBatch(7, offsetRecord("g", 2)),
		}, "at 1"},
		{"P4: a transaction that commits", [][]byte{
			batchOf(offsetRecord("g", 1)), producerBatch(7, offsetRecord("g", 2)), marker(7, record.ControlCommit),
		}, "at 2"},
		{"a transaction that aborts", [][]byte{
			batchOf(offsetRecord("g", 1)), producerBatch(7, offsetRecord("g", 2)), marker(7, record.ControlAbort),
		}, "at 1"},
		{"the marker of another producer", [][]byte{
			batchOf(offsetRecord("g", 1)), producerBatch(7, offsetRecord("g", 2)), marker(8, record.ControlCommit),
		}, "at 1"},
		{"P5: a later commit stays", [][]byte{
			producerBatch(7, offsetRecord("g", 1)), batchOf(offsetRecord("g", 2)), marker(7, record.ControlCommit),
		}, "at 2"},
		{"P8: tombstone of an unknown group", [][]byte{
			batchOf(group.Record{Key: groupKey}), batchOf(offsetRecord("g", 4)),
		}, "at 4"},
		{"P9: unknown type", [][]byte{
			batchOf(group.Record{Key: []byte{0, 99, 1}, Value: []byte("?")}, offsetRecord("g", 5)),
		}, "at 5"},
		{"P10: truncated value", [][]byte{
			batchOf(offsetRecord("g", 5)), batchOf(group.Record{Key: groupKey, Value: []byte{0, 3, 0}}),
		}, ""},
		{"truncated key", [][]byte{batchOf(group.Record{Key: []byte{0, 1, 0}, Value: []byte{0}})}, ""},
		{"a log that begins late and holds nothing", nil, "at -1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				log := &fakeLog{end: 100, start: 50, hw: 100}
				for _, b := range test.log {
					log.write(3, b)
				}
				r := serving(t, func(c *rigConfig) { c.log = log })
				want := "16"
				if test.want != "" {
					want = test.want
				}
				if got := outcome(r.ask("g", fetch())); got != want {
					t.Errorf("fetch answers %s, want %s", got, want)
				}
				if list, code, err := r.c.List(t.Context()); code != 0 || err != nil || test.want == "" && len(list) > 0 {
					t.Errorf("list: %v, %d, %v", list, code, err)
				}
			})
		})
	}
}

// A shard that could not be loaded stays out of service until it is told to
// load again; what must reach every shard fails meanwhile.
func TestFailedLoadIsTriedAgainByMove(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log := &fakeLog{}
		log.write(1, batchOf(offsetRecord("g", 1)))
		log.write(1, batchOf(group.Record{Key: []byte{0}, Value: []byte{1}}))
		r := serving(t, func(c *rigConfig) { c.log = log })
		r.submit("fetch", "g", fetch())
		r.submit("beat", "g", group.Heartbeat{})
		r.expect("fetch 16", "beat 16")
		forgotten := make(chan error, 1)
		r.c.ForgetTopic("t", [16]byte{}, func(err error) { forgotten <- err })
		if err := <-forgotten; !errors.Is(err, ErrNotServing) {
			t.Errorf("forget: %v", err)
		}
		if err := r.c.Move(0); !errors.Is(err, ErrNotServing) {
			t.Errorf("move: %v", err)
		}
		log.set(func(l *fakeLog) { l.batches, l.end, l.hw = l.batches[:1], 1, 1 })
		if err := r.c.Move(0); err != nil {
			t.Errorf("move: %v", err)
		}
		r.submit("fetch", "g", fetch())
		r.expect("g group-loaded", "fetch at 1")
	})
}

// What the system refuses for a while (too many open files, a disk that does
// not answer) is no reason to stay out of service. Damage is: it does not go
// away, and somebody has to look at it.
func TestFailedLoadIsTriedAgainByItself(t *testing.T) {
	for _, test := range []struct {
		name string
		err  error
		want string // once it can be read
	}{
		{"system", syscall.EMFILE, "fetch at 1"},
		{"damage", &storage.CorruptError{File: "f", Reason: "it is missing"}, "fetch 16"},
	} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				log := &fakeLog{unread: test.err}
				log.write(1, batchOf(offsetRecord("g", 1)))
				r := serving(t, func(c *rigConfig) { c.log = log })
				for range 3 {
					r.submit("fetch", "g", fetch())
					r.expect("fetch 16")
					time.Sleep(time.Minute)
				}
				log.set(func(l *fakeLog) {
					if n := len(l.epochs); n > 20 {
						t.Errorf("%d attempts in three minutes", n)
					}
					l.unread = nil
				})
				time.Sleep(loadPauseMax)
				r.clear()
				r.submit("fetch", "g", fetch())
				r.expect(test.want)
			})
		})
	}
}

// Whatever order comes while a load is to be tried again, that try is off.
func TestOrdersOvertakeTheNextLoad(t *testing.T) {
	for name, test := range map[string]struct {
		order func(t *testing.T, r *rig, log *fakeLog)
		loads int // that get as far as the log, in all
		want  string
	}{
		"move": {func(t *testing.T, r *rig, log *fakeLog) {
			t.Helper()
			log.set(func(l *fakeLog) { l.unread = nil })
			if err := r.c.Move(0); err != nil {
				t.Error(err)
			}
		}, 2, "fetch at 1"},
		"move that fails": {func(t *testing.T, r *rig, log *fakeLog) {
			t.Helper()
			if err := r.c.Move(0); !errors.Is(err, ErrNotServing) {
				t.Errorf("move: %v", err)
			}
			log.set(func(l *fakeLog) { l.unread = nil })
		}, 3, "fetch at 1"},
		"drain": {func(t *testing.T, r *rig, _ *fakeLog) {
			t.Helper()
			if err := r.c.Drain(t.Context()); err != nil {
				t.Error(err)
			}
		}, 1, "fetch 16"},
		"close": {func(t *testing.T, r *rig, _ *fakeLog) {
			t.Helper()
			if err := r.c.Close(); err != nil {
				t.Error(err)
			}
		}, 1, "fetch 15"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				log := &fakeLog{unread: syscall.EMFILE}
				log.write(1, batchOf(offsetRecord("g", 1)))
				r := serving(t, func(c *rigConfig) { c.log = log })
				test.order(t, r, log)
				time.Sleep(2 * loadPauseMax)
				log.set(func(l *fakeLog) {
					if len(l.epochs) != test.loads {
						t.Errorf("%d loads, want %d", len(l.epochs), test.loads)
					}
				})
				r.clear()
				r.submit("fetch", "g", fetch())
				r.expect(test.want)
			})
		})
	}
}

// P13: the session counts from the end of the load.
func TestSessionsBeginWithTheLoad(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log := &fakeLog{}
		first := serving(t, func(c *rigConfig) { c.log = log })
		member, generation := first.form("g", 10*time.Second)
		if err := first.c.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		hold := make(chan struct{})
		r := newRig(t, func(c *rigConfig) {
			c.log = log
			c.NextEpoch = func() (int32, error) { <-hold; return 9, nil }
		})
		time.Sleep(time.Minute)
		r.submit("beat", "g", group.Heartbeat{MemberID: member, Generation: generation}) // P21
		r.expect("beat 0")
		close(hold)
		<-r.c.Loaded()
		time.Sleep(10*time.Second - time.Millisecond)
		if got := r.state("g"); got != "Stable" {
			t.Errorf("group is %s before the session is over", got)
		}
		time.Sleep(time.Millisecond)
		if got := r.state("g"); got != "Empty" {
			t.Errorf("group is %s after the session is over", got)
		}
	})
}

func TestLoadOfManyGroups(t *testing.T) {
	const groups = 100_000
	s := NewGroupShard(GroupShardConfig{Group: testConfig(), ExpireInterval: time.Hour, Epoch: 2})
	var codec record.Codec
	records := make([]group.Record, 0, 1000)
	for i := range groups {
		records = append(records, offsetRecord("group-"+string(rune('a'+i%26))+time.Duration(i).String(), int64(i)))
		if len(records) == cap(records) {
			b := batchOf(records...)
			record.SetBaseOffset(b, int64(i+1-len(records)))
			if err := s.Replay(b, &codec); err != nil {
				t.Fatal(err)
			}
			records = records[:0]
		}
	}
	now := group.Now{Mono: time.Hour, Wall: 1_700_000_000_000}
	s.Begin(now, false)
	s.Activate(groups)
	s.Finish()
	s.Take()
	if len(s.order) != groups || s.flight.next != groups {
		t.Fatalf("%d groups, next offset %d", len(s.order), s.flight.next)
	}
	// Groups without members cost nothing while nothing happens to them.
	allocs := testing.AllocsPerRun(1000, func() {
		now.Mono += time.Microsecond
		s.Begin(now, false)
		s.Finish()
		s.Take()
		if at, ok := s.Deadline(); !ok || at != 2*time.Hour {
			t.Fatalf("next deadline %v, %v", at, ok)
		}
	})
	if allocs != 0 || len(s.due.entries) != 0 {
		t.Errorf("an idle turn allocates %v times, %d groups have deadlines", allocs, len(s.due.entries))
	}
	// A pass visits all of them, a few in each turn.
	turns := 0
	for now.Mono = 2 * time.Hour; ; turns++ {
		s.Begin(now, false)
		s.Finish()
		s.Take()
		if at, _ := s.Deadline(); at > now.Mono {
			break
		}
	}
	if want := groups / passStep; turns < want || turns > want+2 {
		t.Errorf("the pass took %d turns, want about %d", turns, want)
	}
}

func TestLoadWaitsForTheEndOfTheLog(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log := &fakeLog{hold: true}
		w := log.Writer(1)
		if _, err := w.Append(batchOf(offsetRecord("g", 8)), func(error) {}); err != nil {
			t.Fatal(err)
		}
		r := newRig(t, func(c *rigConfig) { c.log = log })
		synctest.Wait()
		r.submit("fetch", "g", fetch())
		r.expect("fetch 14")
		log.land(1)
		r.expect("g group-loaded")
		r.submit("fetch", "g", fetch())
		r.expect("fetch at 8")
	})
}

// FuzzReplay feeds damaged logs to a shard: whatever they hold, a load ends
// with groups or with an error.
func FuzzReplay(f *testing.F) {
	f.Add(batchOf(offsetRecord("g", 1), offsetRecord("g", -1)))
	f.Add(producerBatch(3, offsetRecord("g", 1)))
	f.Add(marker(3, record.ControlCommit))
	f.Add(batchOf(group.Record{Key: schema.AppendGroupKey(nil, schema.GroupKey{Group: "g"}), Value: schema.AppendGroupValue(nil,
		schema.GroupValue{ProtocolType: "consumer", Generation: 4, StateTimestamp: 1, Members: []schema.MemberValue{
			{ID: "m", ClientID: "c", SessionTimeout: 10000, RebalanceTimeout: 10000, Subscription: []byte{}, Assignment: []byte{1}},
		}})}))
	f.Fuzz(func(t *testing.T, log []byte) {
		s := NewGroupShard(GroupShardConfig{Group: testConfig(), ExpireInterval: time.Hour, Epoch: 2})
		var codec record.Codec
		next := group.Offset(0)
		for batch, err := range record.Batches(log) {
			if err != nil || s.Replay(batch, &codec) != nil {
				return
			}
			if _, err := record.Verify(batch, record.Rules{}, &codec); err != nil {
				return // no log holds such a batch
			}
			next = record.NextOffset(batch)
		}
		s.Begin(group.Now{Mono: time.Hour, Wall: 1_700_000_000_000}, false)
		s.Activate(next)
		s.Submit("g", fetch(), func(group.Response) {})
		s.Finish()
		s.Unload()
		s.Take()
	})
}
