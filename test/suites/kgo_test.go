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
	"regexp"
	"slices"
	"strings"
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
	moreLog   = flag.String("kgo.log", "info", "how much the suite's clients log: none, info, debug; without info fewer failures can be explained")
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

// A consumer of the suite ends when kgo tells it of a group session that it
// could not begin. kgo goes on by itself. No broker can help it in two cases:
//
//   - The broker dies between a member's sync and its OffsetFetch: the
//     FindCoordinator that comes first then, on another connection that is dead
//     as well, is not tried again within a request that kgo may split.
//   - The broker dies before the first assignment of a new group is durable.
//     Nothing is known of the group then, and a sync is answered with
//     UNKNOWN_MEMBER_ID, which kgo handles in a join and not in a sync.
var (
	noSession   = regexp.MustCompile(`sendErr group=(\w+): .*unable to join group session: (EOF|UNKNOWN_MEMBER_ID: [^}]*)\}\]$`)
	unknownSync = regexp.MustCompile(`^\[(\S+) \d+\].*sync group failed; group: (\w+), err: UNKNOWN_MEMBER_ID`)
	installed   = regexp.MustCompile(`^\{"time":"[^T]*T([0-9:.]+)Z?".*"the assignment is installed","group":"(\w+)"`)
)

// withoutSession reports whether no line that a consumer ends with says anything
// but what no broker can help.
func withoutSession(r *result, brokerLog string) bool {
	first := map[string]string{} // when the first assignment of a group became durable
	for line := range strings.Lines(brokerLog) {
		if m := installed.FindStringSubmatch(line); m != nil && first[m[2]] == "" {
			first[m[2]] = m[1]
		}
	}
	unknown := map[string]bool{} // groups that had none when a member synced
	for _, line := range r.matching("sync group failed") {
		if m := unknownSync.FindStringSubmatch(line); m != nil {
			unknown[m[2]] = first[m[2]] == "" || m[1] < first[m[2]]
		}
	}
	said := r.matching("sendErr")
	return len(said) > 0 && !slices.ContainsFunc(said, func(line string) bool {
		m := noSession.FindStringSubmatch(line)
		return m == nil || m[2] != "EOF" && !unknown[m[1]]
	})
}

// excuses are what no broker can help of what has failed: why, by test.
func excuses(r *result, brokerLog string) map[string]string {
	why := map[string]string{}
	session := withoutSession(r, brokerLog)
	for test := range r.failed {
		switch etl := strings.HasPrefix(test, "TestGroupETL") || strings.HasPrefix(test, "TestTxnEtl"); {
		case hasty[test] != "":
			why[test] = hasty[test]
		case etl && session:
			why[test] = "has a consumer that ends when it is told of a session that could not begin, though kgo would go on"
		}
	}
	return why
}

// excuse takes the excused tests out of what has failed, and returns how the
// suite has ended but for them.
func excuse(t *report.T, round string, r *result, brokerLog string, err error) error {
	t.Helper()
	why := excuses(r, brokerLog)
	for _, test := range slices.Sorted(maps.Keys(why)) {
		delete(r.failed, test)
		t.Note(fmt.Sprintf("%s: %s %s", round, test, why[test]))
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 1 && len(why) > 0 && len(r.failed) == 0 {
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
		err = excuse(t, name, &r, b.Log(), err)
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

// TestExcuses: nothing is excused that might be the broker's doing.
func TestExcuses(t *testing.T) {
	const (
		lost    = "    testConsumer sendErr group=a: poll got unexpected errs: [{ 0 unable to join group session: EOF}]\n"
		unknown = "    testConsumer sendErr group=b: poll got unexpected errs: [{ 0 unable to join group session: UNKNOWN_MEMBER_ID: The coordinator is not.}]\n"
		synced  = "[19:31:36.15 35][WARN] sync group failed; group: b, err: UNKNOWN_MEMBER_ID: The coordinator is not.\n"
		early   = `{"time":"2026-11-29T19:31:36.1Z","level":"INFO","msg":"the assignment is installed","group":"b"}` + "\n"
		late    = `{"time":"2026-11-29T19:31:36.2Z","level":"INFO","msg":"the assignment is installed","group":"b"}` + "\n"
	)
	for _, c := range []struct {
		printed string
		broker  string
		want    []string
	}{
		{synced + unknown + "--- FAIL: TestGroupETL (1.00s)\n", late, []string{"TestGroupETL"}},
		{synced + unknown + lost + "--- FAIL: TestGroupETL (1.00s)\n", "", []string{"TestGroupETL"}},
		{synced + unknown + "--- FAIL: TestGroupETL (1.00s)\n", early + late, nil},
		{unknown + "--- FAIL: TestGroupETL (1.00s)\n", late, nil},
		{lost + lost + "--- FAIL: TestGroupETL (1.00s)\n    --- FAIL: TestGroupETL/range (1.00s)\n--- PASS: TestX (1.00s)\n", "", []string{"TestGroupETL", "TestGroupETL/range"}},
		{lost + "--- FAIL: TestTxnEtl (1.00s)\n--- FAIL: TestX (1.00s)\n--- FAIL: TestConsumeMaxDecompressBatchBytes (1.00s)\n", "", []string{"TestConsumeMaxDecompressBatchBytes", "TestTxnEtl"}},
		{lost + "    testConsumer sendErr group=a: saw double offset t a p0o1\n--- FAIL: TestGroupETL (1.00s)\n", "", nil},
		{"--- FAIL: TestGroupETL (1.00s)\n", "", nil},
	} {
		path := filepath.Join(t.TempDir(), "output")
		if err := os.WriteFile(path, []byte(c.printed), 0o600); err != nil {
			t.Fatal(err)
		}
		r := read(t, path)
		if got := slices.Sorted(maps.Keys(excuses(&r, c.broker))); !slices.Equal(got, c.want) {
			t.Errorf("excused %q of\n%s", got, c.printed)
		}
	}
}
