package api_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rota/internal/api"
)

var update = flag.Bool("update", false, "write docs/PROTOCOL.md instead of comparing it")

// docs/PROTOCOL.md is made from the table and the headers of the files.
func TestProtocolDocIsCurrent(t *testing.T) {
	const file = "../../docs/PROTOCOL.md"
	want := protocolDoc(t)
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("docs/PROTOCOL.md is stale: run make docs (-want +got):\n%s", diff)
	}
}

func protocolDoc(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	out.WriteString("# The protocol\n\nMade by `make docs` from the API table and the headers of the files in `internal/api`. What is not listed is not served and\nnot advertised.\n\n| key | API | versions | advertised from | waits |\n|---|---|---|---|---|\n")
	for _, row := range api.Table() {
		from := row.Min
		if row.FromZero {
			from = 0
		}
		waits := "for earlier requests of its connection"
		if row.Class != api.Alone {
			waits = "overlaps with later requests of its connection"
		}
		fmt.Fprintf(&out, "| %d | %s | %d-%d | %d | %s |\n", row.Key.Int16(), row.Key.Name(), row.Min, row.Max, from, waits)
	}
	files, err := filepath.Glob("[0-9][0-9]_*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if ok && strings.HasSuffix(fn.Name.Name, "API") && fn.Doc != nil {
				out.WriteString(section(fn.Doc.Text()))
			}
		}
	}
	return out.String()
}

// section turns a header into markdown: its list of versions is indented by a tab.
func section(doc string) string {
	name, _, _ := strings.Cut(doc, " (")
	var out strings.Builder
	fmt.Fprintf(&out, "\n## %s\n\n", name)
	for line := range strings.Lines(doc) {
		if version, ok := strings.CutPrefix(line, "\t"); ok {
			out.WriteString("- " + version)
		} else {
			out.WriteString(line)
		}
	}
	return out.String()
}
