package suites

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"rota/test/install"
)

// program is the test binary of a package.
type program struct {
	path    string // of the binary
	dir     string // of the package
	version string
}

// build makes the test binary of a package of a module that go.mod requires.
// The module's own requirements are used, so that its tests can be built.
func build(t testing.TB, module, pkg, tags string) program {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}} {{.Version}}", module)
	list.Dir = filepath.Join(install.Root(), "test")
	out, err := list.Output()
	if err != nil {
		t.Fatalf("find %s: %v", module, err)
	}
	dir, version, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	p := program{path: filepath.Join(t.TempDir(), "suite.test"), dir: filepath.Join(dir, pkg), version: version}

	// The module cache is read-only: what go would tidy in its go.mod goes into a copy.
	mod := filepath.Join(t.TempDir(), "go.mod")
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(strings.TrimSuffix(mod, "go.mod")+name, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := install.Run(p.dir, "go", "test", "-c", "-mod=mod", "-modfile="+mod, "-tags="+tags, "-o", p.path, "."); err != nil {
		t.Fatal(err)
	}
	return p
}

// command is a run of the suite.
func (p program) command(ctx context.Context, env []string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, p.path, append([]string{"-test.v"}, args...)...)
	cmd.Dir = p.dir
	cmd.Env = append(cmd.Environ(), env...)
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// result is what a run came to: what each test has said at its end.
type result struct {
	passed, failed, skipped map[string]bool
	output                  string // the file with what it printed
}

var endOfTest = regexp.MustCompile(`^\s*--- (PASS|FAIL|SKIP): (\S+)`)

// read takes the result from what a run has printed.
func read(t testing.TB, output string) result {
	t.Helper()
	r := result{map[string]bool{}, map[string]bool{}, map[string]bool{}, output}
	f, err := os.Open(output)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		m := endOfTest.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		map[string]map[string]bool{"PASS": r.passed, "FAIL": r.failed, "SKIP": r.skipped}[m[1]][m[2]] = true
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return r
}

// end is the last of what a run has printed, for a report.
func (r result) end(lines int) string {
	text, _ := os.ReadFile(r.output)
	all := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// matching lists the lines with the text.
func (r *result) matching(text string) []string {
	all, _ := os.ReadFile(r.output)
	var found []string
	for line := range strings.Lines(string(all)) {
		if strings.Contains(line, text) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

// said is what failed tests have printed: the lines of each that name a file,
// and else the first that look like a failure.
func (r result) said() string {
	text, _ := os.ReadFile(r.output)
	all := strings.Split(string(text), "\n")
	var said []string
	for i, line := range all {
		if strings.Contains(line, "sendErr") || strings.HasPrefix(line, "panic:") {
			said = append(said, line)
		}
		if m := endOfTest.FindStringSubmatch(line); m != nil && m[1] == "FAIL" {
			said = append(said, line)
			for _, before := range all[max(0, i-12):i] {
				if strings.Contains(before, ".go:") {
					said = append(said, before)
				}
			}
		}
		if len(said) > 200 {
			break
		}
	}
	if len(said) == 0 {
		return r.end(20)
	}
	return strings.Join(said, "\n")
}
