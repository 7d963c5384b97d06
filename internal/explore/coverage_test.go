package explore

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rota/internal/scenario"
)

var update = flag.Bool("update", false, "write the generated pages")

const testdata = "../group/testdata"

func scenarios(t *testing.T) []*scenario.File {
	t.Helper()
	paths, err := filepath.Glob(testdata + "/*/*.scenario")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scenario files: %v", err)
	}
	var files []*scenario.File
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.ToSlash(strings.TrimPrefix(path, testdata+"/")), ".scenario")
		f, err := scenario.Parse(name, text)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}

// page compares a generated page with its file, or writes it.
func page(t *testing.T, path, text string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(old, []byte(text)) {
		t.Errorf("%s is out of date: run make docs", filepath.Base(path))
	}
}

// TestCoverage is the table of what reaches which row.
func TestCoverage(t *testing.T) {
	c := newCoverage()
	if err := c.files(scenarios(t)); err != nil {
		t.Fatal(err)
	}
	c.worlds(700)
	text, missing := c.page()
	for _, m := range missing {
		t.Error(m)
	}
	for _, p := range c.parts {
		for i := range p.rows {
			for _, name := range p.rows[i].tests {
				if !testExists(t, name) {
					t.Errorf("%s: there is no test %s", p.rows[i].id, name)
				}
			}
		}
	}
	page(t, "../../docs/COVERAGE.md", text)
}

// testExists looks for a test by the name "package Test".
func testExists(t *testing.T, name string) bool {
	t.Helper()
	pkg, test, _ := strings.Cut(name, " ")
	files, err := filepath.Glob("../" + pkg + "/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(text, []byte("func "+test+"(")) {
			return true
		}
	}
	return false
}

func TestRowsHaveNamesOfTheirOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range tables() {
		for _, r := range p.rows {
			if seen[r.id] || r.says == "" {
				t.Errorf("row %s", r.id)
			}
			seen[r.id] = true
		}
	}
}
