package storage_test

import (
	"testing"

	"rota/internal/record"
	"rota/internal/storage"
	"rota/internal/storage/storagetest"
)

// What has ended and lies in segments is not kept in memory.
func TestEndedTransactionsAreForgotten(t *testing.T) {
	s := open(t, storagetest.NewMemory(), storage.Config{})
	defer s.Close(t.Context())
	l, err := s.Create(part, storage.LogConfig{Compression: -1, RetentionBytes: -1, RetentionAge: -1})
	if err != nil {
		t.Fatal(err)
	}
	begin := func(id int64, sequence int32) {
		t.Helper()
		var b record.Builder
		b.Reset(nil)
		b.SetProducer(id, 0, sequence)
		b.SetTransactional()
		b.Append(1000, nil, []byte("v"))
		g, _, err := l.Verification(id, 0, sequence)
		if err != nil {
			t.Fatal(err)
		}
		heard := make(chan error, 1)
		l.AppendVerified(b.Finish(), g, storage.DurableAck, func(a storage.Appended) { heard <- a.Err })
		if err := <-heard; err != nil {
			t.Fatal(err)
		}
	}
	end := func(id int64, commit bool) {
		t.Helper()
		heard := make(chan error, 1)
		l.AppendMarker(storage.Marker{ProducerID: id, Commit: commit}, func(err error) { heard <- err })
		if err := <-heard; err != nil {
			t.Fatal(err)
		}
	}
	want := func(aborted, spans, settled int) {
		t.Helper()
		if a, b, c := l.Remembered(); a != aborted || b > spans || c > settled {
			t.Errorf("%d aborted, %d and %d spans are kept, want %d, %d, %d", a, b, c, aborted, spans, settled)
		}
	}
	begin(9, 0) // stays open
	for i := range int32(50) {
		begin(7, i)
		end(7, i%2 == 0)
	}
	settle := func() {
		t.Helper()
		if err := s.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	want(25, 2, 0)
	settle()
	want(0, 2, 2)
	end(9, false)
	want(1, 0, 2)
	settle()
	want(0, 0, 0)
}

// Which markers are those of an earlier transaction.
func TestLateMarkers(t *testing.T) {
	for _, c := range []struct {
		marker, known int16
		raised, open  bool
		want          bool
	}{
		{marker: 3, known: 4, want: true},
		{marker: 4, known: 4, open: true, want: false}, // below transaction.version 2 the epoch stays
		{marker: 4, known: 4, raised: true, open: true, want: true},
		{marker: 4, known: 4, raised: true, want: false}, // sent again
		{marker: 5, known: 4, raised: true, open: true, want: false},
		{marker: 32767, known: 32767, raised: true, open: true, want: false}, // none is above
	} {
		m := storage.Marker{ProducerEpoch: c.marker, Raised: c.raised}
		if got := m.Late(c.known, c.open); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
}
