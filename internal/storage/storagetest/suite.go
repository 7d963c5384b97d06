package storagetest

import (
	"context"
	"log/slog"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"rota/internal/storage"
)

// Subject is a medium under test and what can be done to it. Functions that
// are nil cannot be done, and tests that need them are left out.
type Subject struct {
	// Open opens the medium, also again after it has been closed: then it
	// holds what it held.
	Open func() (storage.Medium, error)
	// Crash returns what a restart finds if the machine stops now; the seed
	// chooses among the possibilities. The medium that is open goes on to be
	// used and closed, to no effect.
	Crash func(seed uint64) *Subject
	// FailFlush fails the next flush.
	FailFlush func()
	// FailSettle fails the next round of settling.
	FailSettle func()
	// SetFree sets the free space, negative: unbounded.
	SetFree func(free int64)
	// Calm ends the failures that come by themselves.
	Calm func()
}

// MemorySubject is a Memory.
func MemorySubject(m *Memory) *Subject {
	return &Subject{
		Open:       func() (storage.Medium, error) { return m, nil },
		Crash:      func(uint64) *Subject { return MemorySubject(m.Clone()) },
		FailFlush:  func() { m.FailFlush(1, false) },
		FailSettle: func() { m.FailSettle(1) },
		SetFree:    func(free int64) { m.SetFree(unbounded(free)) },
	}
}

// CloudSubject is a Cloud.
func CloudSubject(c *Cloud) *Subject {
	return &Subject{
		Open:       func() (storage.Medium, error) { return c, nil },
		Crash:      func(seed uint64) *Subject { return CloudSubject(c.Crash(seed)) },
		FailFlush:  func() { c.FailFlush(1, true) },
		FailSettle: func() { c.FailSettle(1) },
		SetFree:    func(free int64) { c.SetFree(unbounded(free)) },
		Calm:       c.Calm,
	}
}

func unbounded(free int64) int64 {
	if free < 0 {
		return math.MaxInt64
	}
	return free
}

// Run runs the suite that every medium passes. start makes a new, empty
// subject; it is called inside a synctest bubble, one for each test.
func Run(t *testing.T, start func(t *testing.T) *Subject) {
	for _, group := range [][]suiteTest{appendTests, readTests, keepTests, producerTests, failureTests, mediumTests, compactTests, txnTests, verifyTests, txnCompactTests, lendTests, swapTests} {
		for _, c := range group {
			t.Run(c.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := &bed{T: t, sub: start(t), began: time.Now()}
					defer b.end()
					c.f(b)
				})
			})
		}
	}
	for seed := range uint64(8) {
		t.Run("RandomWork", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { RandomWork(t, start(t), seed, 400) })
		})
		t.Run("RandomCompaction", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { RandomCompaction(t, start(t), seed, 400) })
		})
	}
}

type suiteTest struct {
	name string
	f    func(b *bed)
}

// bed is a store on a subject, for one test.
type bed struct {
	*testing.T
	sub   *Subject
	s     *storage.Store
	conf  storage.Config
	gate  *Gate // of the medium that is open
	began time.Time
}

// A and B are partitions of tests.
var (
	partA = storage.Partition{Topic: storage.TopicID{10}, Index: 0}
	partB = storage.Partition{Topic: storage.TopicID{11}, Index: 7}
)

// keepAll is the configuration of a log that keeps batches as they are.
var keepAll = storage.LogConfig{Compression: -1, RetentionBytes: -1, RetentionAge: -1}

func (b *bed) open() *storage.Store {
	b.Helper()
	m, err := b.sub.Open()
	if err != nil {
		b.Fatalf("open medium: %v", err)
	}
	b.gate = &Gate{Medium: m}
	if b.s, err = storage.Open(context.Background(), b.gate, b.conf); err != nil {
		b.Fatalf("open store: %v", err)
	}
	return b.s
}

// end closes the store of a test that has not done so.
func (b *bed) end() {
	b.Helper()
	if b.s == nil {
		return
	}
	if err := b.s.Close(context.Background()); err != nil {
		b.Errorf("close: %v", err)
	}
	b.s = nil
}

// restart closes the store and opens it again.
func (b *bed) restart() *storage.Store {
	b.Helper()
	b.end()
	return b.open()
}

// log creates a log, or returns the one that is there.
func (b *bed) log(p storage.Partition, c storage.LogConfig) *storage.Log {
	b.Helper()
	l, err := b.s.Create(p, c)
	if err != nil {
		b.Fatalf("create log: %v", err)
	}
	return l
}

// send appends without waiting.
func (b *bed) send(l *storage.Log, batch []byte, ack storage.Ack) *answer {
	a := &answer{}
	l.Append(batch, ack, func(got storage.Appended) { a.set(got) })
	return a
}

// append appends and waits for the answer, which must not be an error.
func (b *bed) append(l *storage.Log, batch []byte) storage.Appended {
	b.Helper()
	got := b.wait(b.send(l, batch, storage.DurableAck))
	if got.Err != nil {
		b.Fatalf("append: %v", got.Err)
	}
	return got
}

// wait returns the answer when it is there. It gives up after a minute.
func (b *bed) wait(a *answer) storage.Appended {
	b.Helper()
	for range 600 {
		synctest.Wait()
		if got, ok := a.get(); ok {
			return got
		}
		time.Sleep(100 * time.Millisecond)
	}
	b.Fatal("append is never answered")
	return storage.Appended{}
}

// values reads all that is visible.
func (b *bed) values(l *storage.Log) []string {
	b.Helper()
	all, _, err := ReadAll(l)
	if err != nil {
		b.Fatal(err)
	}
	values := []string{}
	for _, r := range all {
		values = append(values, r.Value)
	}
	return values
}

// settle moves everything to segments.
func (b *bed) settle() {
	b.Helper()
	if err := b.s.Settle(context.Background()); err != nil {
		b.Fatalf("settle: %v", err)
	}
}

// testLogger writes to the test's output.
func testLogger(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(testWriter{t}, nil))
}

type testWriter struct{ t testing.TB }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Logf("%s", p)
	return len(p), nil
}
