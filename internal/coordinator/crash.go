package coordinator

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"

	"rota/internal/machine"
	"rota/internal/record"
	"rota/internal/storage"
)

// panicLimit is how many panics of one machine bring its shard down. At the last
// of them the machine is quarantined.
const panicLimit = 2

// strayLimit is how many panics outside any machine a shard is loaded again
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
	panics map[string]int // by machine
	stray  int            // outside any machine
	files  int            // reports written
	// quarantined is never changed, only replaced: a load may be reading it.
	quarantined map[string]bool
}

// guard calls f; a panic ends the shard.
func (r *runner[Q, R, E]) guard(f func(*runner[Q, R, E])) {
	p := protect(func() { f(r) })
	if p == nil {
		return
	}
	if r.shard == nil {
		r.c.config.Log.Error("panic outside a shard", "partition", r.p, "err", fmt.Sprint(p.value), "stack", string(p.stack))
		return
	}
	r.troubled(r.shard, p)
	// Ending the shard calls the other machines, any of which may be no better.
	// Each try passes over one more of them, so this comes to an end.
	for protect(r.shard.Crashed) != nil {
	}
}

// troubled notes a panic of a shard, reports it, and quarantines a machine that
// has had one too many.
func (r *runner[Q, R, E]) troubled(s *Shard[Q, R, E], p *panicked) {
	c := s.Running()
	r.c.config.Log.Error("panic in a state machine", "partition", r.p, r.c.idName, c.ID, "call", c.What,
		"err", fmt.Sprint(p.value), "stack", string(p.stack))
	t := &r.trouble
	if !c.InMachine {
		t.stray++
		return
	}
	if t.panics == nil {
		t.panics = make(map[string]int)
	}
	t.panics[c.ID]++
	if t.panics[c.ID] >= panicLimit {
		q := maps.Clone(t.quarantined)
		if q == nil {
			q = make(map[string]bool)
		}
		q[c.ID] = true
		t.quarantined = q
		r.c.config.Log.Error("state machine is answered with errors until the broker restarts", "partition", r.p, r.c.idName, c.ID)
	}
	r.report(&c, p)
}

// report writes the file of a panic: at once what is in memory, which may be
// changed afterwards, and on a goroutine what is in the log.
func (r *runner[Q, R, E]) report(c *Crash[Q, R, E], p *panicked) {
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
	head, tail := r.c.crashText(c, p, state)
	r.c.background(func(ctx context.Context) {
		text := append(append(head, r.crashLog(ctx, c.ID)...), tail...)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			r.c.config.Log.Error("report of a panic cannot be written", "file", path, "err", err)
			return
		}
		r.c.config.Log.Error("report of a panic", "file", path)
	})
}

// crashLog reads what the log holds of a machine: for each key the last record.
func (r *runner[Q, R, E]) crashLog(ctx context.Context, id string) []byte {
	log, err := r.c.open(r.p)
	if err != nil {
		return nil
	}
	var lines crashRecords
	kind := r.c.newKind()
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
				if owner, unknown, err := kind.Owner(&machine.Entry{Key: rec.Key}); err == nil && unknown == nil && owner == id {
					lines.add(rec.Key, rec.Value)
				}
			}
			offset = record.NextOffset(batch)
		}
	}
	return lines.text()
}
