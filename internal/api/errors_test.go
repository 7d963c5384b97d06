package api

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"rota/internal/broker"
	"rota/internal/record"
	"rota/internal/storage"
)

// Every sentinel of the rooms below has its Kafka error: a new one without is
// found here, and not by a client that is told UNKNOWN_SERVER_ERROR.
func TestEverySentinelHasItsKafkaError(t *testing.T) {
	text, err := os.ReadFile("errors.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, pkg := range []string{"storage", "record", "catalog"} {
		names := sentinels(t, filepath.Join("..", pkg))
		if len(names) == 0 {
			t.Errorf("package %s has no sentinels", pkg)
		}
		for _, name := range names {
			if !strings.Contains(string(text), "{"+pkg+"."+name+", ") {
				t.Errorf("%s.%s has no Kafka error", pkg, name)
			}
		}
	}
}

// sentinels lists the exported variables of a package that begin with Err.
func sentinels(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.VAR {
				continue
			}
			for _, spec := range g.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok && strings.HasPrefix(v.Names[0].Name, "Err") {
					names = append(names, v.Names[0].Name)
				}
			}
		}
	}
	return names
}

func TestKafkaErrors(t *testing.T) {
	for _, c := range []struct {
		err   error
		want  *kerr.Error
		known bool
	}{
		{fmt.Errorf("append: %w", storage.ErrFull), kerr.KafkaStorageError, true},
		{&storage.CorruptError{File: "f"}, kerr.KafkaStorageError, true},
		{fmt.Errorf("read: %w", &storage.CorruptError{File: "f"}), kerr.KafkaStorageError, true},
		{storage.ErrFlushFailed, kerr.NotLeaderForPartition, true},
		{&record.InvalidError{Record: 3, Reason: "r"}, kerr.InvalidRecord, true},
		{broker.Refuse(kerr.PolicyViolation, "No."), kerr.PolicyViolation, true},
		{kerr.UnknownTopicID, kerr.UnknownTopicID, true},
		{errors.New("something else"), kerr.UnknownServerError, false},
	} {
		if got, known := kafkaError(c.err); got != c.want || known != c.known {
			t.Errorf("%v: %v, %v; want %v, %v", c.err, got, known, c.want, c.known)
		}
	}
}
