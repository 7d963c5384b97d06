package main

import "testing"

// A busy time ends once.
func TestIdleAgain(t *testing.T) {
	var u usage
	u.idleAgain() // what was allocated before does not count
	u.busy = false
	keep := make([][]byte, 0, 64)
	for range 64 {
		keep = append(keep, make([]byte, 128<<10))
	}
	if u.idleAgain() {
		t.Error("idle while 8 MiB were allocated")
	}
	if !u.idleAgain() {
		t.Error("not idle after that")
	}
	if u.idleAgain() {
		t.Error("idle twice")
	}
	if len(keep) != 64 || u.spare() > 1<<40 {
		t.Error("spare memory cannot be told")
	}
}
