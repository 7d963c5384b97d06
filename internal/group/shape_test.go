package group

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestOnlyTransitionsWriteState holds the package to its word: the arrows of
// the diagram are drawn in few places, and what a restart must remember
// changes only in apply.go.
func TestOnlyTransitionsWriteState(t *testing.T) {
	transitions := []string{"prepareRebalance", "completeJoin", "becomeEmpty", "install", "load"}
	fset := token.NewFileSet()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	drawn := map[string]bool{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				for _, field := range written(n) {
					at := fset.Position(n.Pos())
					switch {
					case field == "state" && !slices.Contains(transitions, f.Name.Name):
						t.Errorf("%s: %s writes the state", at, f.Name.Name)
					case field == "state":
						drawn[f.Name.Name] = true
					case slices.Contains([]string{"log", "group", "epoch", "committed", "open", "unstable"}, field) && name != "apply.go":
						t.Errorf("%s: %s writes %s", at, f.Name.Name, field)
					}
				}
				return true
			})
		}
	}
	if len(drawn) != len(transitions) {
		t.Errorf("transitions that write the state: %v", drawn)
	}
}

// written are the names of the fields that a statement assigns to.
func written(n ast.Node) []string {
	a, ok := n.(*ast.AssignStmt)
	if !ok {
		return nil
	}
	var fields []string
	for _, l := range a.Lhs {
		if ix, ok := l.(*ast.IndexExpr); ok {
			l = ix.X
		}
		if s, ok := l.(*ast.SelectorExpr); ok {
			fields = append(fields, s.Sel.Name)
		}
	}
	return fields
}
