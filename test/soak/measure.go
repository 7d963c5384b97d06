package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"runtime/pprof"
	"slices"
	"time"

	"rota/internal/hooks"
)

// measurement is what the broker keeps. Members come and go and long polls end
// and begin, so that each number is a median of many samples. The heap is the
// smallest: what is allocated while a collection runs, which takes long on a busy
// machine, counts as live, and what is never given back is in all of them.
type measurement struct {
	Heap        int // bytes, after a collection, without the cached records
	Cached      int // bytes of records that lie in memory
	Goroutines  int
	Parked      int // requests without answer
	Files       int // open files, connections among them
	Connections int
}

func (m measurement) String() string {
	return fmt.Sprintf("heap %.1f MiB and %.1f MiB of records, %d goroutines, %d parked requests, %d open files, %d connections",
		float64(m.Heap)/(1<<20), float64(m.Cached)/(1<<20), m.Goroutines, m.Parked, m.Files, m.Connections)
}

const (
	samples     = 300
	samplePause = 100 * time.Millisecond
	collections = 15 // of the heap, among the samples
)

// measure takes samples that end at the given time.
func measure(ctx context.Context, rooms *hooks.Rooms, end time.Time) (measurement, error) {
	if err := sleep(ctx, time.Until(end)-samples*samplePause); err != nil {
		return measurement{}, err
	}
	var heap, cached, goroutines, parked, files, connections []int
	for i := range samples {
		if i%(samples/collections) == 0 {
			// What is said of flushes that no segment has yet grows for minutes, up to a
			// MiB, and is given back with the next round of settling.
			if err := rooms.Store.Settle(ctx); err != nil {
				return measurement{}, err
			}
			live := liveHeap()
			records := int(rooms.Store.Cached())
			heap = append(heap, live-records)
			cached = append(cached, records)
		}
		st := rooms.Server.Stats()
		goroutines = append(goroutines, runtime.NumGoroutine())
		parked = append(parked, st.Unanswered)
		connections = append(connections, st.Connections)
		open, err := openFiles()
		if err != nil {
			return measurement{}, err
		}
		files = append(files, open)
		if err := sleep(ctx, samplePause); err != nil {
			return measurement{}, err
		}
	}
	return measurement{slices.Min(heap), median(cached), median(goroutines), median(parked), median(files), median(connections)}, nil
}

// liveHeap is what a collection has found to be in use. The second one frees what the
// first one has taken out of pools.
func liveHeap() int {
	runtime.GC()
	runtime.GC()
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return int(live[0].Value.Uint64())
}

// writeProfile writes what the heap holds, if there is a folder for it.
func writeProfile(dir, name string) error {
	if dir == "" {
		return nil
	}
	f, err := os.Create(filepath.Join(dir, name+".pprof"))
	if err != nil {
		return err
	}
	return errors.Join(pprof.Lookup("heap").WriteTo(f, 0), f.Close())
}

// openFiles counts the open files of this process.
func openFiles() (int, error) {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		list, err = os.ReadDir("/dev/fd")
	}
	return len(list), err
}

func median(list []int) int {
	slices.Sort(list)
	return list[len(list)/2]
}

// sleep waits, or returns why it was not to.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// compare says what has grown by more than the tolerance.
func compare(first, last measurement, tolerance float64) error {
	check := func(what string, before, after int) error {
		if float64(after) <= float64(before)*(1+tolerance) {
			return nil
		}
		return fmt.Errorf("%s grew from %d to %d, by more than %.0f %%", what, before, after, tolerance*100)
	}
	return errors.Join(
		check("heap", first.Heap, last.Heap),
		check("the number of goroutines", first.Goroutines, last.Goroutines),
		check("the number of parked requests", first.Parked, last.Parked),
		check("the number of open files", first.Files, last.Files),
	)
}
