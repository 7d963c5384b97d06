package member_test

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"rota"
	"rota/member"
)

// A program that takes its share of twelve shards, and works on each until the
// shard goes to another member.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	broker, err := rota.Start(ctx, rota.Config{Properties: map[string]string{"group.initial.rebalance.delay.ms": "0"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer broker.Close()

	working := make(chan int32)
	go func() {
		sum := int32(0)
		for range 12 {
			sum += <-working
		}
		fmt.Println("the numbers of all shards add up to", sum)
		cancel()
	}()
	err = member.Run(ctx, member.Config{
		Group: "mailers",
		Work:  member.Shards(12),
		Run: func(ctx context.Context, o member.Ownership) {
			working <- o.Shard.Partition
			<-ctx.Done()
		},
	}, kgo.SeedBrokers(broker.Addr()))
	fmt.Println("ended:", err)
	// Output:
	// the numbers of all shards add up to 66
	// ended: <nil>
}

// One of many processes leads at a time.
func ExampleLeader() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	broker, err := rota.Start(ctx, rota.Config{Properties: map[string]string{"group.initial.rebalance.delay.ms": "0"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer broker.Close()

	err = member.Run(ctx, member.Config{
		Group: "cron",
		Work:  member.Leader(),
		Run: func(lead context.Context, o member.Ownership) {
			fmt.Println("this process leads, with token", o.Token)
			cancel()
			<-lead.Done()
			fmt.Println("no longer:", context.Cause(lead))
		},
	}, kgo.SeedBrokers(broker.Addr()))
	fmt.Println("ended:", err)
	// Output:
	// this process leads, with token 1
	// no longer: member: closed
	// ended: <nil>
}

// Rebalances from the inside: the callbacks of a member whose group another
// one joins.
func ExampleStart() {
	broker, err := rota.Start(context.Background(), rota.Config{Properties: map[string]string{"group.initial.rebalance.delay.ms": "0"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer broker.Close()
	seeds := kgo.SeedBrokers(broker.Addr())

	alone, together := make(chan bool, 1), make(chan bool, 1)
	first, err := member.Start(member.Config{
		Group: "g", Work: member.Shards(4), Assignors: []member.Assignor{member.Sticky()},
		OnJoinPrepare: func(p member.Prepare) { fmt.Println("generation", p.Generation, "ends, revoked:", len(p.Revoked)) },
		OnJoinComplete: func(c member.Complete) {
			fmt.Println("generation", c.Generation, "begins, owned:", len(c.Owned))
			if c.Generation == 1 {
				alone <- true
			} else {
				together <- true
			}
		},
		HeartbeatInterval: 50 * time.Millisecond,
	}, seeds)
	if err != nil {
		fmt.Println(err)
		return
	}
	<-alone
	second, err := member.Start(member.Config{Group: "g", Work: member.Shards(4), Assignors: []member.Assignor{member.Sticky()}}, seeds)
	if err != nil {
		fmt.Println(err)
		return
	}
	<-together
	fmt.Println(first.Close(context.Background()), second.Close(context.Background()))
	// Output:
	// generation -1 ends, revoked: 0
	// generation 1 begins, owned: 4
	// generation 1 ends, revoked: 4
	// generation 2 begins, owned: 2
	// <nil> <nil>
}
