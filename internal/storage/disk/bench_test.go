//go:build unix

package disk

import (
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"rota/internal/storage"
	"rota/internal/vfs"
)

// cpuTime is what this process has used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkFlush sends flushes of several shapes. What is trimmed is reused,
// as in a broker that keeps up.
func BenchmarkFlush(b *testing.B) {
	for _, fs := range []string{"os", "mem"} {
		for _, shape := range []struct {
			frames, size int
			durability   Durability
		}{
			{1, 200, Fsync},
			{64, 250, Fsync},
			{16, 16 << 10, Fsync},
			{64, 64 << 10, Fsync},
			{4, 1 << 20, Fsync},
			{1, 200, Never},
			{64, 250, Never},
			{64, 64 << 10, Never},
		} {
			b.Run(fmt.Sprintf("%s/%s/%dx%d", fs, shape.durability, shape.frames, shape.size), func(b *testing.B) {
				c := Config{FS: vfs.OS(), Dir: filepath.Join(b.TempDir(), "data"), Durability: shape.durability}
				if fs == "mem" {
					c.FS, c.Dir = vfs.NewMem(), "data"
				}
				m, _ := recoverFrom(b, c)
				defer closeMedium(b, m)
				var frames []storage.Frame
				total := int64(0)
				for i := range shape.frames {
					frames = append(frames, batchFrame(partition(1, int32(i)), batch(int64(i), 1, 0, shape.size)))
					total += int64(shape.size)
				}
				n := uint64(0)
				send := func() {
					n++
					if err := flushErr(m, n, frames...); err != nil {
						b.Fatal(err)
					}
					if n%16 == 0 {
						if err := m.Trim(n - min(n, uint64((64<<20)/total))); err != nil {
							b.Fatal(err)
						}
					}
				}
				for warm := int64(0); warm < 150<<20 && total > 1<<20; warm += total {
					send() // touches every file once
				}
				b.SetBytes(total)
				b.ReportAllocs()
				b.ResetTimer()
				began := cpuTime()
				for range b.N {
					send()
				}
				b.ReportMetric(float64(cpuTime()-began)/float64(b.N)/float64(total)*(1<<20), "cpu-ns/MiB")
			})
		}
	}
}

// BenchmarkSettle moves 1 MiB in batches of 16 KiB to each of several
// partitions.
func BenchmarkSettle(b *testing.B) {
	for _, partitions := range []int{1, 8, 100} {
		b.Run(fmt.Sprint(partitions), func(b *testing.B) {
			c := Config{FS: vfs.OS(), Dir: filepath.Join(b.TempDir(), "data")}
			m, _ := recoverFrom(b, c)
			defer closeMedium(b, m)
			var shelves []*shelf
			for i := range partitions {
				shelves = append(shelves, newShelf(partition(1, int32(i))))
			}
			each := max(1, 64/partitions)
			b.SetBytes(int64(partitions*each) * (16 << 10))
			b.ReportAllocs()
			began := cpuTime()
			for b.Loop() {
				b.StopTimer()
				var moves []storage.Move
				for _, s := range shelves {
					moves = append(moves, s.move(m, s.Segments != nil && s.Segments[len(s.Segments)-1].Size > 64<<20, s.run(each, 16<<10, rising)...))
					s.all = s.all[:0]
				}
				b.StartTimer()
				settle(b, m, moves...)
			}
			b.ReportMetric(float64(cpuTime()-began)/float64(b.N), "cpu-ns/op")
		})
	}
}

// BenchmarkRead reads a segment from front to back.
func BenchmarkRead(b *testing.B) {
	for _, size := range []int{300, 16 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			c := Config{FS: vfs.OS(), Dir: filepath.Join(b.TempDir(), "data")}
			m, _ := recoverFrom(b, c)
			defer closeMedium(b, m)
			s := newShelf(partition(1, 0))
			settle(b, m, s.move(m, false, s.run(16<<20/size, size, rising)...))
			seg := s.Segments[0]
			var buf []byte
			offset := seg.End
			b.ReportAllocs()
			for b.Loop() {
				if offset >= seg.End {
					offset = 0
				}
				got, err := m.Read(s.Partition, seg, offset, 1<<20, buf[:0])
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(len(got)))
				buf, offset = got, offset+int64(len(got)/size)
			}
		})
	}
}

// BenchmarkRecover reads a journal of 128 MiB.
func BenchmarkRecover(b *testing.B) {
	for _, size := range []int{300, 16 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			c := Config{FS: vfs.OS(), Dir: filepath.Join(b.TempDir(), "data"), Durability: Never}
			m, _ := recoverFrom(b, c)
			var frames []storage.Frame
			for i := range 1 << 20 / size {
				frames = append(frames, batchFrame(partition(1, 0), batch(int64(i), 1, 0, size)))
			}
			for n := range uint64(128) {
				flush(b, m, n+1, frames...)
			}
			closeMedium(b, m)
			b.SetBytes(128 << 20)
			for b.Loop() {
				j, err := newJournal(c.withDefaults())
				if err != nil {
					b.Fatal(err)
				}
				j.readOnly = true
				var report storage.Report
				if err := j.replay(b.Context(), discard{}, &report); err != nil || report.LastFlush != 128 {
					b.Fatal(err, report)
				}
				j.dir.Close()
			}
		})
	}
}

// BenchmarkFlushBesideSettling sends small flushes while rounds of 32 MiB are
// settled, and reports how long they take.
func BenchmarkFlushBesideSettling(b *testing.B) {
	for _, partitions := range []int{8, 100} {
		b.Run(fmt.Sprint(partitions), func(b *testing.B) {
			c := Config{FS: vfs.OS(), Dir: filepath.Join(b.TempDir(), "data")}
			m, _ := recoverFrom(b, c)
			defer closeMedium(b, m)
			stop := make(chan struct{})
			rounds := 0
			var settling sync.WaitGroup
			settling.Go(func() {
				var shelves []*shelf
				for i := range partitions {
					shelves = append(shelves, newShelf(partition(1, int32(i))))
				}
				for ; ; rounds++ {
					select {
					case <-stop:
						return
					default:
					}
					var moves []storage.Move
					for _, s := range shelves {
						moves = append(moves, s.move(m, false, s.run((32<<20)/partitions/(64<<10), 64<<10, rising)...))
						s.all = s.all[:0]
					}
					if err := m.Settle(moves); err != nil {
						b.Error(err)
						return
					}
				}
			})
			frame := batchFrame(partition(2, 0), batch(0, 1, 0, 300))
			n := uint64(0)
			var all []time.Duration
			for b.Loop() {
				n++
				began := time.Now()
				flush(b, m, n, frame)
				all = append(all, time.Since(began))
				time.Sleep(500 * time.Microsecond)
			}
			close(stop)
			settling.Wait()
			slices.Sort(all)
			b.ReportMetric(float64(all[len(all)/2].Microseconds()), "p50-us")
			b.ReportMetric(float64(all[len(all)*99/100].Microseconds()), "p99-us")
			b.ReportMetric(float64(rounds)*32/b.Elapsed().Seconds(), "settled-MiB/s")
		})
	}
}

// BenchmarkOpen starts on a new folder and sends the first flush.
func BenchmarkOpen(b *testing.B) {
	for _, fs := range []string{"mem", "os"} {
		b.Run(fs, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c := Config{FS: vfs.NewMem(), Dir: "data"}
				if fs == "os" {
					c = Config{Dir: filepath.Join(b.TempDir(), "data")}
				}
				m, _ := recoverFrom(b, c)
				flush(b, m, 1, storage.Frame{Kind: storage.FrameEpoch, Epoch: 1})
				closeMedium(b, m)
			}
		})
	}
}
