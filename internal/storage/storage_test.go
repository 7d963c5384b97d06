package storage_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"testing"

	"rota/internal/record"
	"rota/internal/storage"
	"rota/internal/storage/storagetest"
)

var part = storage.Partition{Topic: storage.TopicID{1}, Index: 3}

func open(t testing.TB, m storage.Medium, c storage.Config) *storage.Store {
	t.Helper()
	s, err := storage.Open(context.Background(), m, c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func batchOf(values ...string) []byte {
	var b record.Builder
	b.Reset(nil)
	for i, v := range values {
		b.Append(int64(1000+i), nil, []byte(v))
	}
	return b.Finish()
}

func appendOne(t testing.TB, l *storage.Log, batch []byte) storage.Appended {
	t.Helper()
	heard := make(chan storage.Appended, 1)
	l.Append(batch, storage.DurableAck, func(a storage.Appended) { heard <- a })
	a := <-heard
	if a.Err != nil {
		t.Fatal(a.Err)
	}
	return a
}

func TestAppendedIsReadAlsoAfterRestart(t *testing.T) {
	m := storagetest.NewMemory()
	s := open(t, m, storage.Config{})
	l, err := s.Create(part, storage.LogConfig{Compression: -1})
	if err != nil {
		t.Fatal(err)
	}
	woken := make(chan struct{}, 10)
	defer l.Watch(func() { woken <- struct{}{} })()
	if a := appendOne(t, l, batchOf("a", "b")); a.Base != 0 {
		t.Errorf("first base offset %d", a.Base)
	}
	<-woken
	w := l.Writer(s.Epoch())
	written := make(chan error, 1)
	base, err := w.Append(batchOf("c"), func(err error) { written <- err })
	if base != 2 || err != nil {
		t.Errorf("writer got offset %d, %v", base, err)
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
	check := func(l *storage.Log) {
		t.Helper()
		got, info, err := l.Read(nil, 0, storage.ReadOptions{MaxBytes: 1 << 20})
		if err != nil || info.HighWatermark != 3 || info.End != 3 {
			t.Fatalf("read: %+v %v", info, err)
		}
		want := append(batchOf("a", "b"), batchOf("c")...)
		binary.BigEndian.PutUint64(want[len(batchOf("a", "b")):], 2)
		for i := range want {
			if j := i % len(batchOf("a", "b")); j >= 12 && j < 16 {
				got[i] = want[i] // leader epoch
			}
		}
		if !bytes.Equal(got[len(got)-10:], want[len(want)-10:]) || len(got) != len(want) {
			t.Errorf("read %x, want %x", got, want)
		}
	}
	check(l)
	first := s.Epoch()
	if err := s.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	s = open(t, m, storage.Config{})
	if s.Epoch() <= first {
		t.Errorf("epoch %d after %d", s.Epoch(), first)
	}
	l, ok := s.Log(part)
	if !ok {
		t.Fatal("log is gone")
	}
	check(l)
	if err := s.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}
