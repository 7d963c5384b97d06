package coordinator

import (
	"testing"
	"testing/synctest"
	"time"

	"rota/internal/group"
)

// Groups are inspected where they are served, and nowhere else.
func TestInspect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := serving(t, nil)
		first := join("", 10*time.Second)
		first.Version = 3 // needs no member id of its own
		r.submit("B", "b", first)
		r.submit("A", "a", first)
		synctest.Wait()

		all, code, err := r.c.Overview(t.Context())
		if err != nil || code != 0 || len(all) != 2 || all[0].ID != "a" || all[1].ID != "b" {
			t.Fatalf("got %+v, %d, %v", all, code, err)
		}
		if all[0].State != group.CompletingRebalance || all[0].MemberCount != 1 || all[0].Members != nil {
			t.Errorf("overview of a: %+v", all[0])
		}
		one, ok := r.c.Inspect("b")
		if !ok || len(one.Members) != 1 || one.Members[0].ClientID != "c" {
			t.Errorf("b is %+v, %v", one, ok)
		}
		if _, ok := r.c.Inspect("c"); ok {
			t.Error("c exists")
		}
		st := r.c.Stats()
		if len(st) != 1 || st[0].State != "active" || st[0].Machines != 2 {
			t.Errorf("stats: %+v", st)
		}
		if err := r.c.Close(); err != nil {
			t.Fatal(err)
		}
		if _, ok := r.c.Inspect("b"); ok {
			t.Error("b is served after the end")
		}
		if st := r.c.Stats(); st[0].State != "stopped" {
			t.Errorf("stats after the end: %+v", st)
		}
	})
}
