package group_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"rota/internal/scenario"
)

var update = flag.Bool("update", false, "rewrite the expected lines of scenario files to what happened")

// TestScenarios plays every conversation in testdata against the rules and
// against their log.
func TestScenarios(t *testing.T) {
	for _, path := range scenarioFiles(t) {
		t.Run(filepath.ToSlash(path[len("testdata/"):]), func(t *testing.T) {
			file := parseScenario(t, path)
			if reason, ok := file.Header("tcp-only"); ok {
				t.Skip("plays over TCP only:", reason)
			}
			happened, err := scenario.Run(file, nil)
			if *update && happened != nil {
				if err := os.WriteFile(path, happened.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if diff := scenario.Diff(file, happened); diff != "" {
				t.Errorf("not as written (-) but so (+):\n%s", diff)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}

func scenarioFiles(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("testdata/*/*.scenario")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scenario files: %v", err)
	}
	return paths
}

func parseScenario(t *testing.T, path string) *scenario.File {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file, err := scenario.Parse(path, text)
	if err != nil {
		t.Fatal(err)
	}
	return file
}
