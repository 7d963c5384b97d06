package suites

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"rota/test/report"
	"rota/test/rig"
)

func TestMain(m *testing.M) {
	name := "suites"
	if of := os.Getenv(insideVariable); of != "" {
		name += "-" + of
	}
	os.Exit(report.Main(m, name))
}

const (
	// rounds are those of the full run in which the broker is killed.
	rounds = 20
	// kgoLimit is how long one run of the suite may take.
	kgoLimit = 8 * time.Minute
)

// kgoSettings let groups begin at once.
var kgoSettings = []string{"group.min.session.timeout.ms=1000", "group.initial.rebalance.delay.ms=0"}

// TestKgo runs franz-go's suite: as it is, with its clients' connections cut
// all the time (KGO_TEST_CHAOS), and with the broker killed and restarted.
func TestKgo(t *testing.T) {
	if !report.Enabled() {
		t.Skip("INTEROP is not set: make interop sets it")
	}
	p := build(t, "github.com/twmb/franz-go", "pkg/kgo", "")
	check := func(name string, f func(*report.T)) {
		report.Check(t, "franz-go's own kgo suite", p.version, name, f)
	}
	if report.Full() {
		check("as it is", func(t *report.T) { kgo(t, p, false, nil) })
	}
	check("connections cut every second", func(t *report.T) { kgo(t, p, true, nil) })
	n := 1
	if report.Full() {
		n = rounds
	}
	check(fmt.Sprintf("broker killed (-9) every few seconds, %d rounds", n), func(t *report.T) {
		for round := range n {
			// Every second round has its connections cut as well.
			began := time.Now()
			kills := kgo(t, p, round%2 == 1, rand.New(rand.NewPCG(uint64(round), 1)))
			t.Logf("round %d: %.0f s, the broker was killed %d times", round+1, time.Since(began).Seconds(), kills)
		}
	})
}

// kgo runs the suite against a broker of its own, which is killed at times that
// random says, if there is one. It returns how often.
func kgo(t *report.T, p program, chaos bool, random *rand.Rand) (kills int) {
	t.Helper()
	b := rig.Start(t.T, kgoSettings...)
	defer b.Stop()
	records := "20000"
	if report.Full() {
		records = "100000"
	}
	env := []string{"KGO_SEEDS=" + b.Addr, "KGO_TEST_RF=1", "KGO_TEST_RECORDS=" + records, "KGO_LOG_LEVEL=none"}
	if chaos {
		env = append(env, "KGO_TEST_CHAOS=1")
	}
	output, err := os.Create(filepath.Join(t.TempDir(), "output"))
	if err != nil {
		t.Fatal(err)
	}
	defer output.Close()
	// The rest of a suite's tests need no broker; transactions have a suite of their own.
	cmd := p.command(t.Context(), env, "-test.skip=Txn", "-test.timeout="+kgoLimit.String())
	cmd.Stdout, cmd.Stderr = output, output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for {
		var next <-chan time.Time
		if random != nil {
			next = time.After(2*time.Second + time.Duration(random.Int64N(int64(3*time.Second))))
		}
		select {
		case <-next:
			// kgo fails a group's session at once if nobody listens where the only
			// broker was, however soon it is back: so the suite stands still
			// meanwhile, and sees all its connections and requests lost.
			_ = cmd.Process.Signal(syscall.SIGSTOP)
			b.Restart()
			_ = cmd.Process.Signal(syscall.SIGCONT)
			kills++
			continue
		case err = <-done:
		}
		break
	}
	r := read(t, output.Name())
	if err != nil || len(r.failed) > 0 {
		t.Errorf("%v: %v\n%s", slices.Sorted(maps.Keys(r.failed)), err, r.said())
	}
	if len(r.passed) < 100 {
		t.Errorf("only %d tests have run\n%s", len(r.passed), r.end(20))
	}
	if random != nil && kills < 5 {
		t.Errorf("the broker was killed %d times only", kills)
	}
	return kills
}
