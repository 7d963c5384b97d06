package metrics

import (
	"bytes"
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write docs/METRICS.md instead of comparing it")

func TestMetricsDocIsCurrent(t *testing.T) {
	const file = "../../docs/METRICS.md"
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
		t.Errorf("docs/METRICS.md is stale: run make docs (-want +got):\n%s", diff)
	}
}

// Names is for the tests of the package's users.
func Names() map[string]bool {
	names := map[string]bool{}
	for _, m := range all() {
		names[m.name] = true
	}
	return names
}
