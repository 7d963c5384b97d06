package rotatest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/rotatest"
)

// example stands for the *testing.T that a test has and an example has not.
type example struct {
	testing.TB
	cleanup func()
}

func (*example) Helper()                   {}
func (*example) Failed() bool              { return false }
func (e *example) Cleanup(f func())        { e.cleanup = f }
func (*example) Fatalf(f string, a ...any) { panic(fmt.Sprintf(f, a...)) }
func (*example) Errorf(f string, a ...any) { fmt.Printf(f+"\n", a...) }

// A consumer falls silent, and the test need not wait until its session has
// run out.
func Example() {
	t := &example{} // in a test, its t
	b := rotatest.Start(t, rotatest.Topic("orders", 4))
	defer func() { t.cleanup() }() // the test's end does that

	c, err := kgo.NewClient(kgo.SeedBrokers(b.Addr()), kgo.ConsumerGroup("billing"), kgo.ConsumeTopics("orders"),
		kgo.SessionTimeout(time.Minute), kgo.HeartbeatInterval(50*time.Second))
	if err != nil {
		panic(err)
	}
	defer c.CloseAllowingRebalance()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go c.PollFetches(ctx)

	g := b.Group("billing")
	s := g.WaitStable(1)
	fmt.Println(s.State, s.Protocol, s.Generation)

	b.Advance(time.Minute)
	e := g.WaitEvent("expiry", func(e rotatest.Event) bool { return e.Kind == "member-expired" })
	fmt.Println(e.Kind, e.Cause)
	// Output:
	// Stable cooperative-sticky 1
	// member-expired session-expired
}

// The second request of an API is answered with an error.
func ExampleBroker_On() {
	t := &example{}
	b := rotatest.Start(t)
	defer func() { t.cleanup() }()

	b.On(kmsg.ListGroups).Skip(1).Answer(kerr.CoordinatorNotAvailable)

	c, err := kgo.NewClient(kgo.SeedBrokers(b.Addr()))
	if err != nil {
		panic(err)
	}
	defer c.Close()
	for range 3 {
		resp, err := c.SeedBrokers()[0].Request(context.Background(), kmsg.NewPtrListGroupsRequest())
		if err != nil {
			panic(err)
		}
		fmt.Println(kerr.ErrorForCode(resp.(*kmsg.ListGroupsResponse).ErrorCode))
	}
	// Output:
	// <nil>
	// COORDINATOR_NOT_AVAILABLE: The coordinator is not available.
	// <nil>
}
