// Package report collects what the checks of an interoperability run came to,
// prints each as one line when it is known, and makes docs/COMPATIBILITY.md
// from them.
package report

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"rota/test/install"
)

// The results of a check.
const (
	Passed = "passed"
	Failed = "failed"
	NotRun = "not run"
)

// Outcome is what a check of a client came to.
type Outcome struct {
	Client  string
	Version string
	Check   string
	Result  string // Passed, Failed or NotRun
	Note    string // the failure, or why it did not run
	Millis  int64  // that it took
}

var results struct {
	sync.Mutex
	all []Outcome
}

// Add takes an outcome and prints it.
func Add(o Outcome) {
	results.Lock()
	defer results.Unlock()
	results.all = append(results.all, o)
	line := fmt.Sprintf("interop: %s %s: %s: %s", o.Client, o.Version, o.Check, o.Result)
	if o.Result == Passed {
		line += fmt.Sprintf(" (%.1f s)", float64(o.Millis)/1000)
	}
	if o.Note != "" {
		line += ": " + strings.SplitN(o.Note, "\n", 2)[0]
	}
	fmt.Fprintln(os.Stdout, line)
}

// Enabled says whether the tests may install things and take their time.
func Enabled() bool { return os.Getenv("INTEROP") != "" }

// Full says whether the run may take longer than a quarter of an hour.
func Full() bool { return os.Getenv("INTEROP") == "full" }

// folder is where the outcomes of the packages wait for the page.
func folder() string { return install.Cache("interop") }

// Main runs the tests of a package and, with INTEROP_PAGE set, as make interop
// does, leaves their outcomes for the page. It returns the code to exit with.
func Main(m *testing.M, name string) int {
	code := m.Run()
	if Enabled() && os.Getenv("INTEROP_PAGE") != "" {
		if err := save(name); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	return code
}

func save(name string) error {
	results.Lock()
	defer results.Unlock()
	text, err := json.MarshalIndent(results.all, "", " ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder(), 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder(), name+".json"), text, 0o644)
}

// T is a test whose first failure is kept for the report.
type T struct {
	*testing.T
	first string
}

func (t *T) keep(text string) {
	if t.first == "" {
		t.first = text
	}
}

// Fatal is testing's, and keeps the text.
func (t *T) Fatal(args ...any) { t.Helper(); t.keep(fmt.Sprint(args...)); t.T.Fatal(args...) }

// Fatalf is testing's, and keeps the text.
func (t *T) Fatalf(format string, args ...any) {
	t.Helper()
	t.keep(fmt.Sprintf(format, args...))
	t.T.Fatalf(format, args...)
}

// Error is testing's, and keeps the text.
func (t *T) Error(args ...any) { t.Helper(); t.keep(fmt.Sprint(args...)); t.T.Error(args...) }

// Errorf is testing's, and keeps the text.
func (t *T) Errorf(format string, args ...any) {
	t.Helper()
	t.keep(fmt.Sprintf(format, args...))
	t.T.Errorf(format, args...)
}

// Skip is testing's, and keeps the text.
func (t *T) Skip(args ...any) { t.Helper(); t.keep(fmt.Sprint(args...)); t.T.Skip(args...) }

// Note says something about a check that passes: what it could not look at.
func (t *T) Note(text string) { t.Helper(); t.keep(text); t.Log(text) }

// Check runs one check as a subtest and reports it.
func Check(t *testing.T, client, version, name string, f func(*T)) {
	t.Run(name, func(t *testing.T) {
		c := &T{T: t}
		began := time.Now()
		defer func() {
			o := Outcome{client, version, name, Passed, c.first, time.Since(began).Milliseconds()}
			switch {
			case t.Failed():
				o.Result = Failed
			case t.Skipped():
				o.Result = NotRun
			}
			Add(o)
		}()
		f(c)
	})
}
