package explore

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	reportID = regexp.MustCompile(`\bB\d\d\b`)
	testFunc = regexp.MustCompile(`^func (Test\w+)\(`)
)

// TestReports is the table of what replays which public fault report.
func TestReports(t *testing.T) {
	tested := map[string][]string{}
	for _, f := range scenarios(t) {
		if report, ok := f.Header("report"); ok {
			id := reportID.FindString(report)
			tested[id] = append(tested[id], "`"+f.Name+"`")
		}
	}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "../explore") {
			return err
		}
		for id, tests := range namedIn(t, path) {
			tested[id] = append(tested[id], tests...)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for id := range tested {
		if !slices.ContainsFunc(reports, func(r report) bool { return r.id == id }) {
			t.Errorf("there is a test of %s, which is no report", id)
		}
	}
	text, missing := reportsPage(tested)
	for _, m := range missing {
		t.Error(m)
	}
	page(t, "../../docs/REPORTS.md", text)
}

// namedIn returns the tests of a file whose comments name a report.
func namedIn(t *testing.T, path string) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	pkg := filepath.Base(filepath.Dir(path))
	found := map[string][]string{}
	var above []string // ids in the comment that is being read
	current := ""
	for line := range strings.SplitSeq(string(text), "\n") {
		if m := testFunc.FindStringSubmatch(line); m != nil {
			current = m[1]
			for _, id := range above {
				found[id] = append(found[id], "`"+pkg+"."+current+"`")
			}
			above = nil
			continue
		}
		at := strings.Index(line, "//")
		if at < 0 {
			above = nil
			continue
		}
		ids := reportID.FindAllString(line[at:], -1)
		if at == 0 {
			above = append(above, ids...)
			continue
		}
		for _, id := range ids {
			if current != "" {
				found[id] = append(found[id], "`"+pkg+"."+current+"`")
			}
		}
	}
	return found
}
