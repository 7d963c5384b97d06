package storage_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"rota/internal/record"
	"rota/internal/storage"
	"rota/internal/storage/storagetest"
)

// sink is a medium that keeps nothing, so that a benchmark measures the store.
type sink struct{ *storagetest.Memory }

func (sink) Flush(_ storage.Flush, written func(), done func(error)) { written(); done(nil) }
func (sink) Settle([]storage.Move) error                             { return nil }
func (sink) Trim(uint64) error                                       { return nil }

// window bounds the appends on their way, as connections do.
type window chan struct{}

func (w window) take()                 { w <- struct{}{} }
func (w window) done(storage.Appended) { <-w }
func (w window) wrote(error)           { <-w }

func (w window) drain() {
	for range cap(w) {
		w <- struct{}{}
	}
}

func benchBatch(n int, size int) []byte {
	var b record.Builder
	b.Reset(nil)
	value := []byte(strings.Repeat("v", size))
	for range n {
		b.Append(time.Now().UnixMilli(), nil, value)
	}
	return b.Finish()
}

// BenchmarkAppend appends client batches to eight partitions.
func BenchmarkAppend(b *testing.B) {
	for _, c := range []struct {
		name          string
		records, size int
	}{{"1x200B", 1, 200}, {"16x1KiB", 16, 1 << 10}, {"256x1KiB", 256, 1 << 10}} {
		b.Run(c.name, func(b *testing.B) {
			s := open(b, sink{storagetest.NewMemory()}, storage.Config{})
			var logs []*storage.Log
			for i := range 8 {
				l, err := s.Create(storage.Partition{Topic: storage.TopicID{1}, Index: int32(i)}, storage.LogConfig{Compression: -1})
				if err != nil {
					b.Fatal(err)
				}
				logs = append(logs, l)
			}
			batch := benchBatch(c.records, c.size)
			w := make(window, 64)
			done := w.done
			b.SetBytes(int64(len(batch)))
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				w.take()
				logs[i%8].Append(batch, storage.DurableAck, done)
			}
			w.drain()
			b.StopTimer()
			if err := s.Close(context.Background()); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkWriter appends small internal batches from many goroutines, as
// commits do.
func BenchmarkWriter(b *testing.B) {
	s := open(b, sink{storagetest.NewMemory()}, storage.Config{})
	batch := benchBatch(1, 150)
	const shards = 50
	var wait sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	for i := range shards {
		l, err := s.Create(storage.Partition{Topic: storage.TopicID{2}, Index: int32(i)}, storage.LogConfig{Internal: true})
		if err != nil {
			b.Fatal(err)
		}
		writer := l.Writer(s.Epoch())
		wait.Go(func() {
			w := make(window, 2)
			wrote := w.wrote
			for range b.N/shards + 1 {
				w.take()
				if _, err := writer.Append(batch, wrote); err != nil {
					panic(err)
				}
			}
			w.drain()
		})
	}
	wait.Wait()
	b.StopTimer()
	if err := s.Close(context.Background()); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkReadTail reads what has just been appended, 1 MiB at a time.
func BenchmarkReadTail(b *testing.B) {
	s := open(b, sink{storagetest.NewMemory()}, storage.Config{})
	l, err := s.Create(part, storage.LogConfig{Compression: -1})
	if err != nil {
		b.Fatal(err)
	}
	batch := benchBatch(16, 1<<10)
	for range 64 {
		appendOne(b, l, batch)
	}
	buf := make([]byte, 0, 2<<20)
	b.SetBytes(int64(64 * len(batch)))
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		got, _, err := l.Read(buf, 0, storage.ReadOptions{MaxBytes: 2 << 20})
		if err != nil || len(got) != 64*len(batch) {
			b.Fatal(len(got), err)
		}
	}
	b.StopTimer()
	if err := s.Close(context.Background()); err != nil {
		b.Fatal(err)
	}
}
