package coordinator

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"

	"rota/internal/record"
	"rota/internal/schema"
	"rota/internal/storage"
)

// panicLimit is how many panics of one group bring its shard down. At the last
// of them the group is quarantined.
const panicLimit = 2

// strayLimit is how many panics outside any group a shard is loaded again
// after. A further one leaves it out of service.
const strayLimit = 2

// panicked is a panic that was caught.
type panicked struct {
	value any
	stack []byte
}

// protect calls f and catches its panic. It is the only recover of the package.
func protect(f func()) (p *panicked) {
	defer func() {
		if v := recover(); v != nil {
			p = &panicked{v, debug.Stack()}
		}
	}()
	f()
	return nil
}

// trouble counts the panics of a runner's shards.
type trouble struct {
	panics map[string]int // by group
	stray  int            // outside any group
	files  int            // reports written
	// quarantined is never changed, only replaced: a load may be reading it.
	quarantined map[string]bool
}

// guard calls f; a panic ends the shard.
func (r *runner) guard(f func(*runner)) {
	p := protect(func() { f(r) })
	if p == nil {
		return
	}
	if r.shard == nil {
		r.c.config.Log.Error("panic outside a shard", "partition", r.p, "err", fmt.Sprint(p.value), "stack", string(p.stack))
		return
	}
	r.troubled(r.shard, p)
	// Ending the shard calls the other groups, any of which may be no better.
	// Each try passes over one more of them, so this comes to an end.
	for protect(r.shard.Crashed) != nil {
	}
}

// troubled notes a panic of a shard, reports it, and quarantines a group that
// has had one too many.
func (r *runner) troubled(s *Shard, p *panicked) {
	c := s.Running()
	r.c.config.Log.Error("panic in a group", "partition", r.p, "group", c.Group, "call", c.What,
		"err", fmt.Sprint(p.value), "stack", string(p.stack))
	t := &r.trouble
	if !c.InGroup {
		t.stray++
		return
	}
	if t.panics == nil {
		t.panics = make(map[string]int)
	}
	t.panics[c.Group]++
	if t.panics[c.Group] >= panicLimit {
		q := maps.Clone(t.quarantined)
		if q == nil {
			q = make(map[string]bool)
		}
		q[c.Group] = true
		t.quarantined = q
		r.c.config.Log.Error("group is answered with errors until the broker restarts", "partition", r.p, "group", c.Group)
	}
	r.report(&c, p)
}

// report writes the file of a panic: at once what is in memory, which may be
// changed afterwards, and on a goroutine what is in the log.
func (r *runner) report(c *Crash, p *panicked) {
	if r.c.config.CrashDir == "" {
		return
	}
	r.trouble.files++
	name := fmt.Sprintf("crash-%d-%d-%d.scenario", r.now.Wall, r.p, r.trouble.files)
	path := filepath.Join(r.c.config.CrashDir, name)
	var state []byte
	if c.Machine != nil {
		broken := protect(func() { state, _ = c.Machine.MarshalText() })
		if broken != nil {
			state = fmt.Appendf(nil, "unreadable: %v", broken.value)
		}
	}
	head := crashHead(c, p, state)
	tail := crashTail(c)
	r.c.background(func(ctx context.Context) {
		text := append(append(head, r.crashLog(ctx, c.Group)...), tail...)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			r.c.config.Log.Error("report of a panic cannot be written", "file", path, "err", err)
			return
		}
		r.c.config.Log.Error("report of a panic", "file", path)
	})
}

// crashLog reads what the log holds of a group: for each key the last record.
func (r *runner) crashLog(ctx context.Context, id string) []byte {
	log, err := r.c.open(r.p)
	if err != nil {
		return nil
	}
	var lines crashRecords
	var codec record.Codec
	var buf []byte
	for offset := log.Bounds().Start; ctx.Err() == nil; {
		buf, _, err = log.Read(buf[:0], offset, storage.ReadOptions{MaxBytes: loadStep, Whole: true})
		if err != nil || len(buf) == 0 {
			break
		}
		for batch, err := range record.Batches(buf) {
			if err != nil {
				return lines.text()
			}
			for rec, err := range codec.Records(batch) {
				if err != nil {
					break
				}
				if key, err := schema.ParseKey(rec.Key); err == nil {
					if g, ok := schema.GroupOf(key); ok && g == id {
						lines.add(rec.Key, rec.Value)
					}
				}
			}
			offset = record.NextOffset(batch)
		}
	}
	return lines.text()
}
