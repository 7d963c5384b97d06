package rota_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// layers orders the rooms from the ground up. A package may import packages
// of lower layers only; packages of one layer do not see each other, but for
// the pairs in sideways.
var layers = [][]string{
	{"rota/internal/schema", "rota/internal/record", "rota/internal/delay", "rota/internal/vfs", "rota/internal/meter", "rota/internal/client/assignor", "rota/internal/display"},
	{"rota/internal/machine", "rota/internal/story"},
	{"rota/internal/lag"},
	{"rota/internal/group", "rota/internal/txn", "rota/internal/client"},
	{"rota/internal/storage"},
	{"rota/internal/storage/storagetest"},
	{"rota/internal/storage/disk", "rota/internal/storage/cloud", "rota/internal/catalog"},
	{"rota/internal/coordinator"},
	{"rota/internal/broker", "rota/internal/history", "rota/internal/security"},
	{"rota/internal/survey"},
	{"rota/internal/api"},
	{"rota/internal/wire"},
	{"rota/internal/metrics"},
	{"rota/internal/web"},
	{"rota/internal/hooks"},
	{"rota"},
	{"rota/rotatest", "rota/member"},
	{"rota/internal/scenario", "rota/internal/api/apitest"},
	{"rota/internal/sim"},
	{"rota/internal/explore"},
	{"rota/internal/admin"},
	{"rota/internal/cli"},
	{"rota/internal/config"},
	{"rota/cmd/rota"},
}

// pure packages decide and never act: values in, values out.
var pure = []string{
	"rota/internal/machine", "rota/internal/group", "rota/internal/txn", "rota/internal/record",
	"rota/internal/schema", "rota/internal/client", "rota/internal/client/assignor", "rota/internal/delay",
	"rota/internal/display", "rota/internal/story", "rota/internal/lag",
}

// pureImports is all that a pure package may use.
var pureImports = []string{
	"bytes", "cmp", "encoding/binary", "errors", "fmt", "hash/crc32", "io", "iter", "maps", "math", "math/bits", "slices",
	"sort", "strconv", "strings", "time", "unicode/utf16", "unicode/utf8", "container/heap",
	"compress/gzip", "encoding/hex", "encoding/json",
	"rota/internal/schema", "rota/internal/record", "rota/internal/machine", "rota/internal/client/assignor", "rota/internal/display", "rota/internal/story",
	"github.com/klauspost/compress", "github.com/pierrec/lz4/v4",
	"github.com/twmb/franz-go/pkg/kmsg", "github.com/twmb/franz-go/pkg/kerr",
}

// shippedNever lists imports that the broker must not have, and why.
var shippedNever = map[string]string{
	"github.com/twmb/franz-go/pkg/kgo": "the broker is not a client",
	"log":                              "log/slog, passed in",
	"math/rand":                        "math/rand/v2 with an explicit source",
	"github.com/stretchr/testify":      "testing and go-cmp",
}

// allowed are the exceptions from shippedNever.
var allowed = map[string]map[string]bool{
	// The broker does not link it: it is for programs that are clients.
	"rota/member": {"github.com/twmb/franz-go/pkg/kgo": true},
	// The commands talk to any Kafka cluster as its clients.
	"rota/internal/admin": {"github.com/twmb/franz-go/pkg/kgo": true},
	"rota/internal/cli":   {"github.com/twmb/franz-go/pkg/kgo": true},
}

type source struct {
	pkg  string
	path string
	file *ast.File
	fset *token.FileSet
}

func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	fset := token.NewFileSet()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if path != "." && (strings.HasPrefix(d.Name(), ".") || slices.Contains([]string{"test", "bench", "tools", "bin", "testdata", "examples"}, d.Name())) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		pkg := "rota"
		if dir := filepath.ToSlash(filepath.Dir(path)); dir != "." {
			pkg += "/" + dir
		}
		all = append(all, source{pkg, path, f, fset})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func layerOf(pkg string) int {
	for i, l := range layers {
		if slices.Contains(l, pkg) {
			return i
		}
	}
	return -1
}

func TestImportsPointDown(t *testing.T) {
	for _, s := range sources(t) {
		from := layerOf(s.pkg)
		if from < 0 {
			t.Errorf("%s: package %s has no layer: give it one in arch_test.go", s.path, s.pkg)
			continue
		}
		for _, imp := range imports(s.file) {
			if why, never := shippedNever[imp]; never && !allowed[s.pkg][imp] {
				t.Errorf("%s imports %s: use %s", s.path, imp, why)
			}
			if !strings.HasPrefix(imp, "rota") {
				continue
			}
			if to := layerOf(imp); to >= from && imp != "rota/internal/schema" && imp != "rota/internal/record" {
				t.Errorf("%s (%s) imports %s, which is not below it", s.path, s.pkg, imp)
			}
		}
	}
}

func TestPurePackagesStayPure(t *testing.T) {
	clock := []string{"Now", "Since", "Until", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick", "Sleep"}
	for _, s := range sources(t) {
		if !slices.Contains(pure, s.pkg) {
			continue
		}
		for _, imp := range imports(s.file) {
			ok := slices.ContainsFunc(pureImports, func(p string) bool {
				return imp == p || strings.HasPrefix(imp, p+"/") && strings.Contains(p, ".")
			})
			if !ok {
				t.Errorf("%s imports %s: a pure package may not", s.path, imp)
			}
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			what := ""
			switch n := n.(type) {
			case *ast.GoStmt:
				what = "a go statement"
			case *ast.SelectStmt:
				what = "a select"
			case *ast.ChanType:
				what = "a channel"
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(clock, n.Sel.Name) {
					what = "a clock (time." + n.Sel.Name + ")"
				}
			}
			if what != "" {
				t.Errorf("%s: a pure package has %s", s.fset.Position(n.Pos()), what)
			}
			return true
		})
	}
}

func TestNoInitAndNoPrint(t *testing.T) {
	for _, s := range sources(t) {
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Name.Name == "init" && n.Recv == nil {
					t.Errorf("%s: no init functions", s.fset.Position(n.Pos()))
				}
			case *ast.CallExpr:
				sel, ok := n.Fun.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				x, ok := sel.X.(*ast.Ident)
				if !ok {
					return true
				}
				name := x.Name + "." + sel.Sel.Name
				if name == "os.Exit" && s.pkg != "rota/cmd/rota" {
					t.Errorf("%s: only main exits", s.fset.Position(n.Pos()))
				}
				if name == "fmt.Print" || name == "fmt.Println" || name == "fmt.Printf" {
					t.Errorf("%s: %s: write to the Writer you were given, or log", s.fset.Position(n.Pos()), name)
				}
			}
			return true
		})
	}
}

func TestEveryPackageHasAComment(t *testing.T) {
	has := map[string]bool{}
	for _, s := range sources(t) {
		has[s.pkg] = has[s.pkg] || s.file.Doc != nil
	}
	for pkg, ok := range has {
		if !ok {
			t.Errorf("%s has no package comment", pkg)
		}
	}
}

func TestSourceIsASCII(t *testing.T) {
	for _, s := range sources(t) {
		for _, group := range s.file.Comments {
			for _, r := range group.Text() {
				if r > 126 {
					t.Errorf("%s: a comment has %s", s.path, strconv.QuoteRune(r))
					break
				}
			}
		}
	}
}

func imports(f *ast.File) []string {
	var out []string
	for _, i := range f.Imports {
		p, _ := strconv.Unquote(i.Path.Value)
		out = append(out, p)
	}
	return out
}
