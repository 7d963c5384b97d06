package group

import (
	"fmt"
	"testing"
	"time"
)

// formed is a stable group of n members, and their requests to join again.
func formed(b *testing.B, n int) (*driver, []string) {
	b.Helper()
	d := newDriver(b, func(c *Config) { c.InitialDelay, c.CheckInvariants = 0, false })
	ids := d.form(n)
	d.wantState(Stable, 1, n)
	return d, ids
}

func BenchmarkHeartbeat(b *testing.B) {
	for _, n := range []int{1, 100, 5000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			d, ids := formed(b, n)
			beats := make([]Request, n)
			for i, id := range ids {
				beats[i] = Heartbeat{MemberID: id, Generation: 1}
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				d.moveTo(d.now.Mono + 3*time.Second/time.Duration(n))
				fx := d.g.Step(d.now, 0, Ticket(i), beats[i%n])
				if fx.Replies[0].Body.(Beat).Code != 0 {
					b.Fatal(fx)
				}
				d.g.Deadline()
			}
		})
	}
}

func BenchmarkCommit(b *testing.B) {
	for _, n := range []int{1, 10, 100} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			d, ids := formed(b, 10)
			commits := make([]Request, 10)
			for i := range commits {
				c := Commit{Version: 8, MemberID: ids[i], Generation: 1, Retention: -1}
				for p := range n {
					c.Offsets = append(c.Offsets, CommitOffset{TopicPartition: TopicPartition{"topic", int32(p)}, Offset: 1000, LeaderEpoch: -1, Timestamp: -1})
				}
				commits[i] = c
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				d.moveTo(d.now.Mono + time.Millisecond)
				fx := d.g.Step(d.now, Offset(i*n), Ticket(i), commits[i%10])
				if len(fx.Batches) != 1 {
					b.Fatal(fx)
				}
				d.g.Released(d.now, fx.Replies[0].Ticket)
				d.g.Deadline()
			}
		})
	}
}

// BenchmarkForm is a group that forms from nothing until it is stable.
func BenchmarkForm(b *testing.B) {
	for _, n := range []int{1000, 5000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				formed(b, n)
			}
		})
	}
}

// BenchmarkPlusOne is one member more, until the group is stable again.
func BenchmarkPlusOne(b *testing.B) {
	for _, n := range []int{1000, 5000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			d, ids := formed(b, n)
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				id := d.ask(d.joinOf("")).(Joined).MemberID
				joins := []Ticket{d.step(d.joinOf(id))}
				for _, old := range ids {
					joins = append(joins, d.step(d.joinOf(old)))
				}
				ids = d.syncAll(append([]string{id}, ids...), joins)
			}
		})
	}
}

func BenchmarkReplay(b *testing.B) {
	d, _ := formed(b, 1000)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		g := d.replayed()
		g.Loaded(d.now, Offset(len(d.log)), 2)
	}
}
