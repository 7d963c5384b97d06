package suites

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

// insideVariable names the test that the process runs inside of a network
// namespace.
const insideVariable = "SUITE_INSIDE"

// inside reports whether this process is the one that runs the named suite in a
// network namespace of its own. If not, that process is started, and has
// reported everything when inside returns.
func inside(t *testing.T, name string, limit time.Duration) bool {
	t.Helper()
	if os.Getenv(insideVariable) == name {
		if err := raiseLoopback(); err != nil {
			t.Fatal(err)
		}
		return true
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout="+limit.String())
	cmd.Env = append(cmd.Environ(), insideVariable+"="+name)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.WaitDelay = time.Second
	if err := isolate(cmd); err != nil {
		t.Skip(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skip("no network namespace:", err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	return false
}
