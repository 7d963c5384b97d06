package bank

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"
)

// audit reads what is committed.
type audit struct {
	cl     *kgo.Client
	books  []*book
	whole  []int // how many orders of each mover a whole state was seen of last
	states int   // whole states seen
	// compacted is how many records it has read of the compacted topic.
	compacted int
}

func (b *bank) newAudit() *audit {
	b.t.Helper()
	cl, err := newReader(b.broker.Addr)
	if err != nil {
		b.t.Fatal(err)
	}
	a := &audit{cl: cl, whole: make([]int, len(b.model))}
	for range b.model {
		a.books = append(a.books, newBook())
	}
	return a
}

// done is how many orders are seen to be carried out wholly.
func (a *audit) done() (n int) {
	for _, whole := range a.whole {
		n += whole
	}
	return n
}

// read takes in what comes next, and looks at each state that is whole.
func (b *bank) read(ctx context.Context, a *audit) {
	b.t.Helper()
	f := a.cl.PollFetches(ctx)
	if ctx.Err() != nil {
		b.t.Fatalf("%d orders are carried out, and no more: %+v\n%s", a.done(), a.missing(), b.broker.Log())
	}
	for _, r := range f.Records() {
		m, e, ok, err := parse(r)
		if err == nil && ok {
			err = a.books[m].add(&e)
		}
		if err != nil {
			b.t.Fatalf("%s-%d offset %d: %v", r.Topic, r.Partition, r.Offset, err)
		}
		if r.Topic == compacted {
			a.compacted++
		}
		if ok && a.books[m].whole() {
			a.states++
			a.whole[m] = a.books[m].done
			b.checkState(m, a.books[m])
		}
	}
}

// checkState compares the balances of a mover with what they have to be.
func (b *bank) checkState(m int, now *book) {
	b.t.Helper()
	if sum := now.balances.total(); sum != opening*perMover {
		b.t.Fatalf("mover %d after %d orders: the total is %d instead of %d: %v", m, now.done, sum, opening*perMover, now.balances)
	}
	if want := b.model[m][now.done]; now.balances != want {
		b.t.Fatalf("mover %d after %d orders: %v instead of %v", m, now.done, now.balances, want)
	}
}

// missing lists what is there in part.
func (a *audit) missing() (list []book) {
	for _, book := range a.books {
		if !book.whole() {
			list = append(list, *book)
		}
	}
	return list
}

// auditAll reads the accounts from their start, as far as the reader that has
// been there all the time knows them at least.
func (b *bank) auditAll(ctx context.Context) {
	b.t.Helper()
	a := b.newAudit()
	defer a.cl.Close()
	want := append([]int(nil), b.tail.whole...)
	for reached := false; !reached; {
		reached = true
		for m, n := range want {
			reached = reached && a.whole[m] >= n
		}
		if !reached {
			b.read(ctx, a)
		}
	}
	b.audits++
	b.kept = a.compacted
}
