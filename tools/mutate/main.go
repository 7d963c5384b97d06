// Command mutate breaks the coordinator on purpose, one place at a time, and
// reports which tests notice. It works on a copy of what was committed last.
//
//	go run ./mutate [-only M01,M02] [-out ../docs/MUTATIONS.md]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// mutation is one way to break the code.
type mutation struct {
	id, file, what  string
	after, old, put []string
}

// suite is a set of tests, each run with and without the others.
type suite struct {
	name string
	// of is the folder of the code that the suite runs; another mutation is
	// nothing that it could notice.
	of   string
	args []string
}

var suites = []suite{
	{"explorer", "internal/group/", []string{"./internal/explore", "-run", "TestWorlds", "-explore.states=8000"}},
	{"simulator", "internal/", []string{"./internal/sim"}},
	{"scenarios", "internal/group/", []string{"./internal/group", "-run", "TestScenarios"}},
	{"group", "internal/group/", []string{"./internal/group", "-short", "-skip", "TestScenarios"}},
	{"coordinator", "internal/", []string{"./internal/coordinator"}},
}

// alone are the suites that have to catch most by themselves.
var alone = []string{"explorer", "simulator"}

func main() {
	root := flag.String("root", "..", "the tree")
	list := flag.String("list", "mutate/mutations.txt", "the mutations")
	only := flag.String("only", "", "numbers of mutations to try, with commas; all by default")
	out := flag.String("out", "", "the page to write; standard output by default")
	all := flag.Bool("all", false, "run every suite on every mutation; by default the first that notices is enough")
	which := flag.String("suites", "", "the suites to run, with commas; all by default")
	trust := flag.Bool("trust", false, "take it that all is well while nothing is broken")
	rev := flag.String("rev", "HEAD", "the commit to break")
	check := flag.Bool("check", false, "only look whether every mutation applies and compiles")
	limit := flag.Duration("timeout", 3*time.Minute, "time for one suite; a suite that does not end has noticed")
	flag.Parse()
	if *check {
		suites, *trust = nil, true
	}
	if *which != "" {
		suites = slices.DeleteFunc(suites, func(s suite) bool { return !slices.Contains(strings.Split(*which, ","), s.name) })
	}
	if err := run(*root, *list, *only, *out, *rev, *limit, *all, *trust); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func run(root, list, only, out, rev string, limit time.Duration, every, trust bool) error {
	mutations, err := read(list)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := unpack(root, rev, dir); err != nil {
		return err
	}
	present := slices.DeleteFunc(slices.Clone(suites), func(s suite) bool {
		tests, err := filepath.Glob(filepath.Join(dir, s.args[0], "*_test.go"))
		return err != nil || len(tests) == 0
	})
	for _, s := range present {
		if trust {
			break
		}
		if said, failed := try(dir, s, limit); failed {
			return fmt.Errorf("%s fails before anything is broken:\n%s", s.name, said)
		}
	}
	results := map[string][]string{}
	for i := range mutations {
		m := &mutations[i]
		if only != "" && !slices.Contains(strings.Split(only, ","), m.id) {
			continue
		}
		caught, err := m.try(dir, present, limit, every)
		if err != nil {
			return err
		}
		results[m.id] = caught
		fmt.Fprintf(os.Stderr, "%s %-60s %s\n", m.id, m.what, strings.Join(caught, " "))
	}
	page, survivors := report(mutations, results)
	if out != "" {
		err = os.WriteFile(out, []byte(page), 0o644)
	} else {
		_, err = os.Stdout.WriteString(page)
	}
	if survivors > 0 {
		err = errors.Join(err, fmt.Errorf("%d mutations are not noticed", survivors))
	}
	return err
}

// read reads the list.
func read(name string) ([]mutation, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var all []mutation
	for i, line := range strings.Split(string(text), "\n") {
		if head, ok := strings.CutPrefix(line, "== "); ok {
			place, what, ok := strings.Cut(head, " | ")
			id, file, ok2 := strings.Cut(place, " ")
			if !ok || !ok2 {
				return nil, fmt.Errorf("%s:%d: want \"== M01 file | what\"", name, i+1)
			}
			all = append(all, mutation{id: id, file: file, what: what})
			continue
		}
		if line == "" || line[0] == '#' {
			continue
		}
		m := &all[len(all)-1]
		switch line[0] {
		case '-':
			m.old = append(m.old, line[1:])
		case '+':
			m.put = append(m.put, line[1:])
		case '@':
			m.after = append(m.after, line[1:])
		default:
			return nil, fmt.Errorf("%s:%d: unknown line", name, i+1)
		}
	}
	return all, nil
}

// unpack writes what a commit holds.
func unpack(root, rev, dir string) error {
	archive := exec.Command("git", "archive", rev)
	archive.Dir = root
	tar := exec.Command("tar", "-x", "-C", dir)
	var err error
	if tar.Stdin, err = archive.StdoutPipe(); err != nil {
		return err
	}
	if err := tar.Start(); err != nil {
		return err
	}
	return errors.Join(archive.Run(), tar.Wait())
}

// try breaks the copy, runs every suite, and repairs the copy.
func (m *mutation) try(dir string, present []suite, limit time.Duration, every bool) ([]string, error) {
	path := filepath.Join(dir, m.file)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	broken, err := m.apply(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.id, err)
	}
	if err := os.WriteFile(path, []byte(broken), 0o644); err != nil {
		return nil, err
	}
	defer os.WriteFile(path, text, 0o644)
	var caught []string
	for _, s := range present {
		if !strings.HasPrefix(m.file, s.of) || len(caught) > 0 && !every {
			continue
		}
		said, failed := try(dir, s, limit)
		if strings.Contains(said, "build failed") {
			return nil, fmt.Errorf("%s does not compile: %s", m.id, said)
		}
		if failed {
			caught = append(caught, s.name)
		}
	}
	return caught, nil
}

// apply puts the new lines in the place of the old ones.
func (m *mutation) apply(text string) (string, error) {
	start := 0
	for _, line := range m.after {
		i := strings.Index(text[start:], line+"\n")
		if i < 0 {
			return "", fmt.Errorf("%q is not in %s", line, m.file)
		}
		start += i + len(line) + 1
	}
	old := strings.Join(m.old, "\n") + "\n"
	if n := strings.Count(text[start:], old); n != 1 && len(m.after) == 0 || n == 0 {
		return "", fmt.Errorf("%q is %d times in %s", old, n, m.file)
	}
	put := strings.Join(m.put, "\n")
	if len(m.put) > 0 {
		put += "\n"
	}
	return text[:start] + strings.Replace(text[start:], old, put, 1), nil
}

// try runs a suite and reports whether it fails.
func try(dir string, s suite, limit time.Duration) (said string, failed bool) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-vet=off", "-failfast", "-count=1", "-timeout", limit.String()}, s.args...)...)
	cmd.Dir = dir
	cmd.WaitDelay = time.Second
	text, err := cmd.CombinedOutput()
	return string(text), err != nil
}

func report(mutations []mutation, results map[string][]string) (page string, survivors int) {
	var rows strings.Builder
	byThemselves := 0
	for i := range mutations {
		m := &mutations[i]
		caught, tried := results[m.id]
		if !tried {
			continue
		}
		by := strings.Join(caught, ", ")
		if len(caught) == 0 {
			by = "**nothing**"
			survivors++
		}
		if slices.ContainsFunc(caught, func(s string) bool { return slices.Contains(alone, s) }) {
			byThemselves++
		}
		fmt.Fprintf(&rows, "| %s | %s | `%s` | %s |\n", m.id, m.what, strings.TrimPrefix(m.file, "internal/"), by)
	}
	return fmt.Sprintf(`# What becomes of a coordinator that is broken on purpose

Generated by `+"`make mutate`"+`, which breaks a copy of the rules in one place at a time, as
`+"`tools/mutate/mutations.txt`"+` says, and runs one suite after another, each by itself, until one notices: the explorer
(`+"`internal/explore`"+`), the simulator (`+"`internal/sim`"+`), the scenario files, the other tests of `+"`internal/group`"+`, and those of
`+"`internal/coordinator`"+`. %d ways to break it: %d are noticed, %d of them by the explorer or the simulator alone.

| Number | What is wrong | File | Noticed by |
|---|---|---|---|
%s`, len(results), len(results)-survivors, byThemselves, rows.String()), survivors
}
