// Command demo shows what Rota is for, with real clients: a topic is filled,
// a consumer group shares it, a member is killed, another joins, and no record
// is lost. It exits with 0 only if every record was seen.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

const (
	topic          = "orders"
	groupID        = "billing"
	partitions     = 12
	records        = 200_000
	recordSize     = 200
	sessionTimeout = 2 * time.Second
	patience       = 60 * time.Second
)

func main() {
	bin := flag.String("rota", "rota", "the broker's binary")
	as := flag.String("consumer", "", "run as the consumer of this name")
	at := flag.String("broker", "", "the broker's address, with -consumer")
	flag.Parse()
	var err error
	if *as != "" {
		err = consume(*at, topic, groupID, *as)
	} else {
		err = demo(*bin)
	}
	if err != nil {
		fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// demo tells the story from the first record to lag zero.
func demo(bin string) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	dir, err := os.MkdirTemp("", "rota-demo-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s := newStory(os.Stdout)

	b, err := startBroker(bin, dir, s.brokerSays)
	if err != nil {
		return err
	}
	s.say("rota serves on %s, %d ms after its process was started; data in a temporary folder, durable before every answer", b.addr, b.took.Milliseconds())
	defer func() { err = errors.Join(err, b.stop()) }()

	f, err := newFeed(b.addr)
	if err != nil {
		return err
	}
	defer f.close()
	if err := f.createTopic(ctx); err != nil {
		return err
	}
	s.say("topic %s has %d partitions; three consumers of group %s start", topic, partitions, groupID)
	var running []*exec.Cmd
	defer func() {
		for _, c := range running {
			_ = c.Process.Kill()
			_ = c.Wait()
		}
	}()
	start := func(name string) error {
		c, err := startConsumer(name, b.addr, s)
		if err == nil {
			running = append(running, c)
		}
		return err
	}
	for _, name := range []string{"ada", "bob", "cleo"} {
		if err := start(name); err != nil {
			return err
		}
	}
	if err := s.wait(ctx, "three consumers own all partitions", func() bool { return s.shared(3) }); err != nil {
		return err
	}
	if err := f.produce(ctx, s, records*2/5); err != nil {
		return err
	}
	if err := s.wait(ctx, "a good part is consumed", func() bool { return s.seen() >= records/5 }); err != nil {
		return err
	}

	bob := running[1]
	s.say("bob is killed (kill -9 of process %d): it says nothing to anybody", bob.Process.Pid)
	s.forget("bob")
	_ = bob.Process.Kill()
	_ = bob.Wait()
	running = append(running[:1], running[2:]...)
	if err := f.produce(ctx, s, records*3/10); err != nil {
		return err
	}
	if err := s.wait(ctx, "the survivors own all partitions", func() bool { return s.shared(2) }); err != nil {
		return err
	}
	s.say("dora joins")
	if err := start("dora"); err != nil {
		return err
	}
	if err := f.produce(ctx, s, records-records*2/5-records*3/10); err != nil {
		return err
	}
	if err := s.wait(ctx, "three consumers own all partitions again", func() bool { return s.shared(3) }); err != nil {
		return err
	}
	if err := s.wait(ctx, "every record is seen", func() bool { return s.seen() == records }); err != nil {
		return fmt.Errorf("%w: %d of %d records seen", err, s.seen(), records)
	}
	if err := f.waitForLagZero(ctx, s); err != nil {
		return err
	}
	s.end(f)
	return s.askRota(ctx, bin, b.addr)
}

func fprintln(w io.Writer, a ...any) { _, _ = fmt.Fprintln(w, a...) }
