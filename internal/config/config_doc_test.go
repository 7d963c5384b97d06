package config

import (
	"bytes"
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write docs/CONFIG.md instead of comparing it")

func TestConfigDocIsCurrent(t *testing.T) {
	const file = "../../docs/CONFIG.md"
	var want bytes.Buffer
	if err := WriteDoc(&want); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.String(), string(got)); diff != "" {
		t.Errorf("docs/CONFIG.md is stale: run make docs (-want +got):\n%s", diff)
	}
}
