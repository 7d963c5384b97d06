package coordinator

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rota/internal/group"
	"rota/internal/scenario"
)

// trapped is a group that panics where a test says.
type trapped struct {
	*group.Group
	spring func(what string, req group.Request)
}

func (m trapped) Step(now group.Now, at group.Offset, t group.Ticket, req group.Request) group.Effects {
	m.spring("step", req)
	return m.Group.Step(now, at, t, req)
}

func (m trapped) Tick(now group.Now, at group.Offset) group.Effects {
	m.spring("tick", nil)
	return m.Group.Tick(now, at)
}

func (m trapped) Apply(e group.Entry) error {
	m.spring("apply", nil)
	return m.Group.Apply(e)
}

func (m trapped) Unload(now group.Now) group.Effects {
	m.spring("unload", nil)
	return m.Group.Unload(now)
}

// trap makes calls of the given kind on the group "bad" panic; a step only
// for a commit of the offset 666.
func trap(what string) func(*rigConfig) {
	return func(c *rigConfig) {
		c.newMachine = func(id string, conf *group.Config) GroupMachine {
			return trapped{group.New(id, conf), func(call string, req group.Request) {
				commits, _ := req.(group.Commit)
				evil := len(commits.Offsets) > 0 && commits.Offsets[0].Offset == 666
				if id == "bad" && call == what && (call != "step" || evil) {
					panic("the trap is sprung")
				}
			}}
		}
	}
}

func TestPanicInAStep(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := serving(t, trap("step"))
		r.submit("good", "good", commit(1))
		r.submit("bad", "bad", commit(1))
		r.expect("good 0", "good group-created", "bad 0", "bad group-created")
		r.log.set(func(l *fakeLog) { l.hold = true })
		r.submit("waits", "good", commit(2))
		r.submit("evil", "bad", commit(666))
		r.log.set(func(l *fakeLog) { l.hold = false })
		r.log.land(1)
		// Only the request that panicked gets the error; all is loaded again.
		r.expect("evil -1", "waits 16", "good group-unloaded", "good group-loaded", "bad group-loaded")
		r.submit("fetch", "bad", fetch())
		r.submit("other", "good", fetch())
		r.expect("fetch at 1", "other at 2")

		// The second time the group is put aside.
		r.submit("evil", "bad", commit(666))
		r.expect("evil -1", "good group-unloaded", "good group-loaded")
		r.submit("fetch", "bad", fetch())
		r.submit("commit", "bad", commit(2))
		r.submit("other", "good", commit(3))
		r.expect("fetch -1", "commit -1", "other 0")
		if err := r.c.Move(0); err != nil {
			t.Fatal(err)
		}
		r.expect("good group-unloaded", "good group-loaded")
		r.submit("fetch", "bad", fetch())
		r.expect("fetch -1")

		// Its records are kept: a restart serves it.
		if err := r.c.Close(); err != nil {
			t.Fatal(err)
		}
		again := serving(t, func(c *rigConfig) { c.log = r.log })
		again.submit("fetch", "bad", fetch())
		again.submit("other", "good", fetch())
		again.expect("fetch at 1", "other at 3")
	})
}

func TestPanicInATick(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := serving(t, nil)
		member, generation := r.form("bad", 10*time.Second)
		if err := r.c.Close(); err != nil {
			t.Fatal(err)
		}
		r = serving(t, func(c *rigConfig) {
			trap("tick")(c)
			c.log = r.log
		})
		time.Sleep(10 * time.Second) // the session is over
		r.expect("bad group-loaded")
		time.Sleep(time.Second)
		r.submit("beat", "bad", group.Heartbeat{MemberID: member, Generation: generation})
		r.expect("beat 0")
		time.Sleep(11 * time.Second)
		r.submit("beat", "bad", group.Heartbeat{MemberID: member, Generation: generation})
		r.expect("beat -1")
		r.submit("other", "good", commit(1))
		r.expect("other 0", "good group-created")
		time.Sleep(time.Hour)
		r.expect()
	})
}

func TestPanicInTheLoad(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log := &fakeLog{}
		log.write(1, batchOf(offsetRecord("good", 1), offsetRecord("bad", 2)))
		r := serving(t, func(c *rigConfig) {
			trap("apply")(c)
			c.log = log
		})
		if len(log.epochs) != 3 {
			t.Errorf("loaded under the epochs %v, want two attempts and a success", log.epochs)
		}
		r.submit("fetch", "good", fetch())
		r.submit("bad", "bad", fetch())
		r.expect("fetch at 1", "bad -1")
	})
}

func TestPanicInTheUnload(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := serving(t, trap("unload"))
		for _, id := range []string{"a", "bad", "z"} {
			r.submit(id, id, commit(1))
		}
		second := join("", 10*time.Second)
		second.Version = 3
		r.form("z", 10*time.Second)
		r.submit("join", "z", second)
		r.clear()
		if err := r.c.Move(0); err != nil {
			t.Fatal(err)
		}
		r.expect("join 16", "a group-unloaded", "z group-unloaded", "a group-loaded", "bad group-loaded", "z group-loaded")
	})
}

// Panics outside of any group do not make the shard load for ever.
func TestStrayPanicsEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := serving(t, nil)
		run := r.c.runners[0]
		for range strayLimit + 1 {
			run.put(input[group.Request, group.Response, group.Event]{control: func(*groupRunner) { panic("stray") }})
			synctest.Wait()
		}
		r.submit("commit", "g", commit(1))
		r.expect("commit 16")
		if err := r.c.Move(0); err != nil {
			t.Fatal(err)
		}
		r.submit("commit", "g", commit(1))
		r.expect("commit 0", "g group-created")
	})
}

// The file of a panic is a scenario that plays.
func TestCrashFileReplays(t *testing.T) {
	dir := t.TempDir()
	bubble(t, func(t *testing.T) {
		r := serving(t, func(c *rigConfig) {
			trap("step")(c)
			c.CrashDir = dir
		})
		member, generation := r.form("bad", 10*time.Second)
		time.Sleep(1500 * time.Millisecond)
		instance := "i 1"
		r.submit("", "bad", group.Heartbeat{MemberID: member, Generation: generation})
		for i, req := range []group.Request{
			group.FetchOffsets{All: true, RequireStable: true},
			group.DeleteOffsets{Partitions: []group.TopicPartition{{Topic: "a-b", Partition: 3}}},
			group.Describe{Version: 5},
			group.Leave{Version: 3, Members: []group.LeavingMember{{MemberID: "nobody"}, {InstanceID: &instance}}},
			group.Delete{},
		} {
			r.submit(fmt.Sprint(i), "bad", req)
		}
		c := commit(666)
		c.MemberID, c.Generation = member, generation
		c.Offsets[0].Metadata, c.Offsets[0].LeaderEpoch = "m", 4
		r.submit("evil", "bad", c)
		synctest.Wait()
	})
	files, err := filepath.Glob(filepath.Join(dir, "crash-*.scenario"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files %v, %v", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"panic: the trap is sprung", "assignment-installed", "log = raw", "t-0=666@4:0x6d"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the file does not say %q", want)
		}
	}
	f, err := scenario.Parse(files[0], text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	played, err := scenario.Run(f, func(id string, conf *group.Config) scenario.Machine {
		return trapped{group.New(id, conf), func(call string, req group.Request) {
			if c, ok := req.(group.Commit); ok && c.Offsets[0].Offset == 666 {
				panic("the trap is sprung")
			}
		}}
	})
	if err == nil || !strings.Contains(err.Error(), "the trap is sprung") {
		t.Errorf("the panic did not come again: %v\n%s", err, played.Bytes())
	}
}
