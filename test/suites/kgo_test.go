package suites

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
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
	// fullRounds are those of the full run in which the broker is killed.
	fullRounds = 20
	// kgoLimit is how long one run of the suite may take.
	kgoLimit = 8 * time.Minute
)

// For whoever looks for the cause of a failure.
var (
	onlyRound = flag.Int("kgo.round", 0, "run this round alone")
	onlyTests = flag.String("kgo.tests", ".", "run the tests of this pattern alone")
	moreLog   = flag.String("kgo.log", "none", "how much the suite's clients log: none, error, info, debug")
	keepIn    = flag.String("kgo.keep", "", "keep what suite and broker print in this folder")
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
	if report.Full() && *onlyRound == 0 {
		check("as it is", func(t *report.T) { kgo(t, p, "plain", false, nil) })
	}
	if *onlyRound == 0 {
		check("connections cut every second", func(t *report.T) { kgo(t, p, "cut", true, nil) })
	}
	first, end := 0, 1
	if report.Full() {
		end = fullRounds
	}
	if *onlyRound > 0 {
		first, end = *onlyRound-1, *onlyRound
	}
	check(fmt.Sprintf("broker killed (-9) every few seconds, %d rounds", end-first), func(t *report.T) {
		for round := first; round < end; round++ {
			// Every second round has its connections cut as well.
			began := time.Now()
			kills := kgo(t, p, fmt.Sprint("round-", round+1), round%2 == 1, rand.New(rand.NewPCG(uint64(round), 1)))
			t.Logf("round %d: %.0f s, the broker was killed %d times", round+1, time.Since(began).Seconds(), kills)
		}
	})
}

// hasty are tests that give up before what they wait for can be there, if the
// broker is killed meanwhile.
var hasty = map[string]string{
	"TestConsumeMaxDecompressBatchBytes": "waits 10 s for everything, 2 s of them on purpose, and a fetch that was cut may be tried again after 5 s",
}

// excuse takes hasty tests out of what has failed, and returns how the suite
// has ended but for those.
func excuse(t *report.T, round string, r *result, err error) error {
	t.Helper()
	excused := false
	for test, why := range hasty {
		if r.failed[test] {
			delete(r.failed, test)
			excused = true
			t.Note(fmt.Sprintf("%s: %s %s", round, test, why))
		}
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 1 && excused && len(r.failed) == 0 {
		return nil // 1: tests have failed; a panic is 2
	}
	return err
}

// pause is the time until the broker is killed again, after so many kills. A
// member of the suite tries a join again for 20 s, at pauses that double up to
// 5 s, and fails its test then. All members of a group must be there within one
// life of the broker, so every third one is a long one.
func pause(random *rand.Rand, kills int) time.Duration {
	if kills > 0 && kills%3 == 0 {
		return 10 * time.Second
	}
	return 2*time.Second + time.Duration(random.Int64N(int64(3*time.Second)))
}

// kgo runs the suite against a broker of its own, which is killed at times that
// random says, if there is one. It returns how often.
func kgo(t *report.T, p program, name string, chaos bool, random *rand.Rand) (kills int) {
	t.Helper()
	b := rig.Start(t.T, kgoSettings...)
	defer b.Stop()
	records := "20000"
	if report.Full() {
		records = "100000"
	}
	env := []string{"KGO_SEEDS=" + b.Addr, "KGO_TEST_RF=1", "KGO_TEST_RECORDS=" + records, "KGO_LOG_LEVEL=" + *moreLog}
	if chaos {
		env = append(env, "KGO_TEST_CHAOS=1")
	}
	dir := *keepIn
	if dir == "" {
		dir = t.TempDir()
	} else {
		defer func() {
			if err := os.WriteFile(filepath.Join(dir, name+".broker"), []byte(b.Log()), 0o600); err != nil {
				t.Error(err)
			}
		}()
	}
	output, err := os.Create(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	defer output.Close()
	cmd := p.command(t.Context(), env, "-test.run="+*onlyTests, "-test.timeout="+kgoLimit.String())
	cmd.Stdout, cmd.Stderr = output, output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for {
		var next <-chan time.Time
		if random != nil {
			next = time.After(pause(random, kills))
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
	if random != nil {
		err = excuse(t, name, &r, err)
	}
	if err != nil || len(r.failed) > 0 {
		t.Errorf("%v: %v\n%s", slices.Sorted(maps.Keys(r.failed)), err, r.said())
	}
	if len(r.passed) < 100 && *onlyTests == "." {
		t.Errorf("only %d tests have run\n%s", len(r.passed), r.end(20))
	}
	if random != nil && kills < 5 && *onlyTests == "." {
		t.Errorf("the broker was killed %d times only", kills)
	}
	return kills
}
