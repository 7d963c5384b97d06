package bank

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"rota/test/rig"
)

// moversVariable makes the test's own binary a process of movers.
const moversVariable = "BANK_MOVERS"

func TestMain(m *testing.M) {
	if spec := os.Getenv(moversVariable); spec != "" {
		os.Exit(runMovers(spec))
	}
	os.Exit(m.Run())
}

// plan is how much is done to whom.
type plan struct {
	processes, each int // movers
	orders          int // of each mover
	brokerKills     int
	moverKills      int
	zombies         int
	seed            uint64
}

// TestTransfers is the whole thing in short, or with BANK=full at length.
func TestTransfers(t *testing.T) {
	p := plan{processes: 2, each: 2, orders: 100, brokerKills: 3, moverKills: 2, zombies: 1, seed: 1}
	limit := time.Minute
	if os.Getenv("BANK") == "full" {
		p = plan{processes: 4, each: 3, orders: 1000, brokerKills: 20, moverKills: 20, zombies: 6, seed: uint64(time.Now().UnixNano())}
		limit = 15 * time.Minute
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	t.Logf("seed %d", p.seed)
	newBank(ctx, t, p).run(ctx)
}

// bank is one run.
type bank struct {
	t      *testing.T
	plan   plan
	random *rand.Rand
	broker *rig.Broker
	movers []*process
	// zombies are processes whose heirs have begun.
	zombies []*process
	model   [][]balances // of each mover after each number of orders
	tail    *audit       // reads along, all the time
	fenced  int
	failed  int // processes that ended with another error and were started again
	audits  int // from the start
	kept    int // records of the compacted topic that the last of them has read
}

func newBank(ctx context.Context, t *testing.T, p plan) *bank {
	b := &bank{t: t, plan: p, random: rand.New(rand.NewPCG(p.seed, 0))}
	// A small tail, so that batches come into segments soon, which compaction works on.
	b.broker = rig.Start(t, "log.cleaner.backoff.ms=200", "tail.max.bytes=1048576")
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.broker.Addr), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	adm := kadm.NewClient(cl)
	word := func(s string) *string { return &s }
	movers := p.processes * p.each
	one, err1 := adm.CreateTopic(ctx, partitions, 1, map[string]*string{
		"cleanup.policy": word("compact"), "min.cleanable.dirty.ratio": word("0.01"), "segment.bytes": word("16384"), "delete.retention.ms": word("0"),
	}, compacted)
	two, err2 := adm.CreateTopic(ctx, partitions, 1, nil, plain)
	three, err3 := adm.CreateTopic(ctx, int32(movers), 1, nil, orders)
	if err := errors.Join(err1, err2, err3, one.Err, two.Err, three.Err); err != nil {
		t.Fatal(err)
	}
	var list []*kgo.Record
	for m := range movers {
		now := opened()
		b.model = append(b.model, []balances{now})
		for n := range p.orders {
			o := orderOf(m, n)
			now.apply(o)
			b.model[m] = append(b.model[m], now)
			list = append(list, &kgo.Record{Topic: orders, Partition: int32(m), Value: []byte(o.String())})
		}
	}
	if err := cl.ProduceSync(ctx, list...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	return b
}

// process is some movers in a process of their own.
type process struct {
	number int
	cmd    *exec.Cmd
	ended  chan int // its exit code
	stdin  io.Closer
	said   bytes.Buffer // why it ended; not to be read before that
}

func (b *bank) start(number int) *process {
	b.t.Helper()
	exe, err := os.Executable()
	if err != nil {
		b.t.Fatal(err)
	}
	p := &process{number: number, cmd: exec.Command(exe), ended: make(chan int, 1)}
	first := number * b.plan.each
	p.cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d %d %d", moversVariable, b.broker.Addr, first, first+b.plan.each-1, b.plan.orders))
	p.cmd.Stderr = &p.said
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		b.t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait()
		p.ended <- p.cmd.ProcessState.ExitCode()
	}()
	b.t.Cleanup(p.kill)
	return p
}

// kill ends the process for sure and waits for it.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	p.ended <- <-p.ended
}

func (b *bank) run(ctx context.Context) {
	began := time.Now()
	for n := range b.plan.processes {
		b.movers = append(b.movers, b.start(n))
	}
	b.tail = b.newAudit()
	defer b.tail.cl.Close()
	total := b.plan.processes * b.plan.each * b.plan.orders
	deeds := b.deeds()
	for i, deed := range deeds {
		b.readUntil(ctx, total*(i+1)/(len(deeds)+1))
		deed(ctx)
	}
	b.readUntil(ctx, total)
	for _, p := range b.movers {
		b.wait(ctx, p) // all is done, whether it knows that or not
	}
	took := time.Since(began)
	for _, z := range b.zombies {
		if b.wait(ctx, z) == exitFenced {
			b.fenced++
		}
	}
	b.auditAll(ctx)
	b.broker.Restart()
	b.auditAll(ctx)
	b.checkOffsets(ctx)
	if all := b.tail.compacted; b.plan.orders >= 1000 && b.kept > all/2 {
		b.t.Errorf("compaction has left %d of %d records", b.kept, all)
	}
	if b.fenced == 0 && b.plan.zombies > 1 { // a single one may have been stopped with nothing left to do
		b.t.Error("no zombie was fenced")
	}
	b.t.Logf("%d transfers in %s (%.0f/s): the broker killed %s, movers %s, %s of which %d fenced, movers started again after errors %s; %d whole states seen, %s from the start, the last with %d of %d records of the compacted topic",
		total, took.Round(10*time.Millisecond), float64(total)/took.Seconds(), plural(b.plan.brokerKills, "time"), plural(b.plan.moverKills, "time"),
		plural(len(b.zombies), "zombie"), b.fenced, plural(b.failed, "time"), b.tail.states, plural(b.audits, "audit"), b.kept, b.tail.compacted)
}

// deeds are all kills, in an order of chance.
func (b *bank) deeds() []func(context.Context) {
	var list []func(context.Context)
	for range b.plan.brokerKills {
		list = append(list, func(context.Context) { b.broker.Restart() })
	}
	for range b.plan.moverKills {
		list = append(list, func(context.Context) {
			n := b.random.IntN(len(b.movers))
			b.movers[n].kill()
			b.movers[n] = b.start(n)
		})
	}
	for i := range b.plan.brokerKills / 5 { // and what a long-time reader may not notice
		list = append(list, func(ctx context.Context) {
			if i%2 == 0 {
				b.broker.Restart()
			}
			b.auditAll(ctx)
		})
	}
	b.random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	for range b.plan.zombies { // early, while there is work left for them
		list = slices.Insert(list, b.random.IntN(len(list)/2), b.makeZombie)
	}
	return list
}

// slowest is the process that has done least.
func (b *bank) slowest() (slowest int) {
	least := b.plan.each * b.plan.orders
	for n := range b.movers {
		done := 0
		for _, book := range b.tail.books[n*b.plan.each : (n+1)*b.plan.each] {
			done += book.done
		}
		if done < least {
			slowest, least = n, done
		}
	}
	return slowest
}

// makeZombie stops a process in the middle of whatever it does, lets another
// take its place and work, and lets it go on.
func (b *bank) makeZombie(ctx context.Context) {
	n := b.slowest()
	old := b.movers[n]
	if err := old.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return // it has ended
	}
	b.movers[n] = b.start(n)
	// The heir's movers have taken over once one of them has gone on.
	first := n * b.plan.each
	at := 0
	for m := range b.plan.each {
		at += b.tail.books[first+m].done
	}
	for {
		now := 0
		for m := range b.plan.each {
			now += b.tail.books[first+m].done
		}
		if now >= min(at+5*b.plan.each, b.plan.each*b.plan.orders) {
			break
		}
		b.revive()
		b.read(ctx, b.tail)
	}
	_ = old.cmd.Process.Signal(syscall.SIGCONT)
	b.zombies = append(b.zombies, old)
}

// wait waits for the end of a process.
func (b *bank) wait(ctx context.Context, p *process) int {
	b.t.Helper()
	select {
	case code := <-p.ended:
		p.ended <- code
		return code
	case <-ctx.Done():
		b.t.Fatalf("process %d does not end\n%s", p.number, b.broker.Log())
		return 0
	}
}

// revive starts processes again that have ended with an error.
func (b *bank) revive() {
	b.t.Helper()
	for n, p := range b.movers {
		select {
		case code := <-p.ended:
			p.ended <- code
			switch code {
			case exitDone:
			case exitFailed, exitFenced: // a client whose InitProducerId is lost with the broker fences itself
				b.failed++
				b.t.Logf("started again: %s", p.said.String())
				b.movers[n] = b.start(n)
			default:
				b.t.Fatalf("process %d ended with %d: %s", n, code, p.said.String())
			}
		default:
		}
	}
}

// readUntil reads along until so many orders are worked off.
func (b *bank) readUntil(ctx context.Context, enough int) {
	b.t.Helper()
	for b.tail.done() < enough {
		b.revive()
		b.read(ctx, b.tail)
	}
}

// checkOffsets: the group is behind all orders.
func (b *bank) checkOffsets(ctx context.Context) {
	b.t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.broker.Addr))
	if err != nil {
		b.t.Fatal(err)
	}
	defer cl.Close()
	offsets, err := kadm.NewClient(cl).FetchOffsets(ctx, group)
	if err != nil {
		b.t.Fatal(err)
	}
	for m := range b.model {
		if o, ok := offsets.Lookup(orders, int32(m)); !ok || o.At != int64(b.plan.orders) {
			b.t.Errorf("the group is at %d of the orders of mover %d", o.At, m)
		}
	}
}
