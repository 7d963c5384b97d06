package interop

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// outcome is what a check of a client came to.
type outcome struct {
	client, version, check string
	result                 string // passed, failed, not run
	note                   string // the failure, or why it did not run
}

// report collects the outcomes of a run.
type report struct {
	mu       sync.Mutex
	outcomes []outcome
}

var results report

// add takes an outcome and prints it as one line.
func (r *report) add(o outcome, took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.outcomes = append(r.outcomes, o)
	line := fmt.Sprintf("interop: %s %s: %s: %s", o.client, o.version, o.check, o.result)
	if o.result == passed {
		line += fmt.Sprintf(" (%.1f s)", took.Seconds())
	}
	if o.note != "" {
		line += ": " + strings.SplitN(o.note, "\n", 2)[0]
	}
	fmt.Fprintln(os.Stdout, line)
}

const (
	passed = "passed"
	failed = "failed"
	notRun = "not run"
)

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

// check runs one check and reports it.
func check(t *testing.T, client, version, name string, f func(*T)) {
	t.Run(name, func(t *testing.T) {
		c := &T{T: t}
		began := time.Now()
		defer func() {
			o := outcome{client, version, name, passed, c.first}
			switch {
			case t.Failed():
				o.result = failed
			case t.Skipped():
				o.result = notRun
			}
			results.add(o, time.Since(began))
		}()
		f(c)
	})
}

// Skip is testing's, and keeps the text.
func (t *T) Skip(args ...any) { t.Helper(); t.keep(fmt.Sprint(args...)); t.T.Skip(args...) }
