package bank

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	compacted = "accounts-compacted"
	plain     = "accounts-plain"
	orders    = "orders" // partition m is for mover m
	group     = "movers"

	perMover   = 4 // accounts
	partitions = 3 // of the topics of accounts
	opening    = 100
)

// order says what to move.
type order struct{ from, to, amount int }

// orderOf is order n of a mover.
func orderOf(mover, n int) order {
	h := uint64(mover)<<32 + uint64(n)
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	h ^= h >> 31
	o := order{from: int(h % perMover), amount: 1 + int(h>>16%50)}
	o.to = (o.from + 1 + int(h>>8%(perMover-1))) % perMover
	return o
}

func (o order) String() string { return fmt.Sprintf("%d %d %d", o.from, o.to, o.amount) }

func parseOrder(text []byte) (o order, err error) {
	_, err = fmt.Sscanf(string(text), "%d %d %d", &o.from, &o.to, &o.amount)
	return o, err
}

// balances are those of a mover's accounts.
type balances [perMover]int

func opened() (b balances) {
	for i := range b {
		b[i] = opening
	}
	return b
}

func (b *balances) apply(o order) {
	b[o.from] -= o.amount
	b[o.to] += o.amount
}

func (b *balances) total() (sum int) {
	for _, n := range b {
		sum += n
	}
	return sum
}

// book is what is known of a mover's accounts from their records.
type book struct {
	done     int           // orders worked off, by the newest record
	wants    [perMover]int // at which order each account was written last, by the newest record
	written  [perMover]int // the same, by the account's own newest record
	balances balances
}

func newBook() *book { return &book{balances: opened()} }

// whole says that of the newest transaction seen nothing is missing.
func (b *book) whole() bool { return b.written == b.wants }

// entry is a record of an account.
type entry struct {
	account, balance int
	done             int
	written          [perMover]int
}

// add takes a record in. Those of an account come in the order of its mover's
// transactions.
func (b *book) add(e *entry) error {
	if e.written[e.account] != e.done {
		return fmt.Errorf("account %d: written at order %d, which says %v", e.account, e.done, e.written)
	}
	if e.done <= b.written[e.account] {
		return fmt.Errorf("account %d goes back from order %d to %d", e.account, b.written[e.account], e.done)
	}
	b.written[e.account], b.balances[e.account] = e.done, e.balance
	if e.done > b.done {
		b.done, b.wants = e.done, e.written
	}
	return nil
}

// record is e as mover m writes it.
func (e *entry) record(m int) *kgo.Record {
	value := fmt.Sprintf("%d %d %d %s", e.account, e.balance, e.done, strings.Trim(fmt.Sprint(e.written), "[]"))
	r := &kgo.Record{Topic: compacted, Partition: int32((m + e.account) % partitions), Key: fmt.Appendf(nil, "%d/%d", m, e.account), Value: []byte(value)}
	if e.account >= perMover/2 {
		r.Topic = plain
	}
	return r
}

// hello is a record without any meaning of a mover, or of a reader: who finds
// it again has read all that was before it.
func hello(who, topic string, partition int32, nonce string) *kgo.Record {
	return &kgo.Record{Topic: topic, Partition: partition, Key: []byte("hello/" + who), Value: []byte(nonce)}
}

// parse reads a record of a mover's account; ok is false for a hello.
func parse(r *kgo.Record) (m int, e entry, ok bool, err error) {
	mover, account, _ := strings.Cut(string(r.Key), "/")
	if mover == "hello" {
		return 0, e, false, nil
	}
	m, err = strconv.Atoi(mover)
	if err != nil {
		return 0, e, false, err
	}
	w := &e.written
	_, err = fmt.Sscan(string(r.Value), &e.account, &e.balance, &e.done, &w[0], &w[1], &w[2], &w[3])
	if err == nil && strconv.Itoa(e.account) != account {
		err = fmt.Errorf("account %s has a record of %d", account, e.account)
	}
	return m, e, true, err
}
