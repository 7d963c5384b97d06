package main

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// idleCheck is the pause between two looks at how busy the process is.
	idleCheck = time.Second
	// idleBytes is what an idle broker allocates in that time at most.
	idleBytes = 1 << 20
	// worthwhile is how much memory must lie about to be worth a collection.
	worthwhile = 24 << 20
)

// giveBackMemory returns memory to the system once after each busy time. The
// runtime keeps about as much again as a busy broker uses, and would keep it
// for long when the broker is idle.
func giveBackMemory(ctx context.Context) {
	tick := time.NewTicker(idleCheck)
	defer tick.Stop()
	var u usage
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if u.idleAgain() && u.spare() > worthwhile {
				debug.FreeOSMemory()
			}
		}
	}
}

// usage follows what the process allocates.
type usage struct {
	samples   [4]metrics.Sample
	allocated uint64
	busy      bool // since memory was last given back
}

// idleAgain is true once when the process has become idle.
func (u *usage) idleAgain() bool {
	for i, name := range []string{"/gc/heap/allocs:bytes", "/memory/classes/total:bytes", "/memory/classes/heap/released:bytes", "/gc/heap/live:bytes"} {
		u.samples[i].Name = name
	}
	metrics.Read(u.samples[:])
	before := u.allocated
	u.allocated = u.samples[0].Value.Uint64()
	if u.allocated-before > idleBytes {
		u.busy = true
		return false
	}
	again := u.busy
	u.busy = false
	return again
}

// spare is how much the process holds beyond what is in use.
func (u *usage) spare() uint64 {
	total, released, live := u.samples[1].Value.Uint64(), u.samples[2].Value.Uint64(), u.samples[3].Value.Uint64()
	if held := total - released; held > live {
		return held - live
	}
	return 0
}
