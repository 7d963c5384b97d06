package interop

import (
	"fmt"
	"os"
	"testing"
)

// TestMain writes docs/COMPATIBILITY.md after a full run: INTEROP_PAGE is set
// by make interop.
func TestMain(m *testing.M) {
	code := m.Run()
	if os.Getenv("INTEROP_PAGE") != "" {
		if err := results.write(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

func needsInterop(t *testing.T) {
	t.Helper()
	if os.Getenv("INTEROP") == "" {
		t.Skip("INTEROP is not set: make interop sets it")
	}
}

func TestClients(t *testing.T) {
	needsInterop(t)
	turn := make(chan struct{}, 2) // a client is mostly waiting, and still two at a time fill a small machine
	for _, c := range clients() {
		t.Run(c.name+" "+c.version, func(t *testing.T) {
			t.Parallel()
			turn <- struct{}{}
			defer func() { <-turn }()
			if err := c.setUp(); err != nil {
				results.add(outcome{c.name, c.version, "set-up", notRun, err.Error()}, 0)
				t.Skip(err)
			}
			c.checks(t)
		})
	}
}
