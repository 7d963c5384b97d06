package group_test

import (
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
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

// notPlayed are the numbered tests of the specification that no scenario file
// plays, each with the reason.
var notPlayed = map[string]string{
	"O9":  "the API refuses missing topics before it asks the group: package api",
	"O13": "needs ACLs and a second broker",
	"P1":  "a table test of the coordinator: which partition keeps which group",
	"P2":  "byte vectors: a table test of package schema",
	"P17": "needs a second broker: leadership won and lost",
	"P22": "byte vectors: a table test of package schema",
}

// TestEveryNumberedTestHasAFile keeps the files and the specification's lists
// of tests together.
func TestEveryNumberedTestHasAFile(t *testing.T) {
	played := map[string]bool{}
	for _, path := range scenarioFiles(t) {
		for _, number := range parseScenario(t, path).Tests() {
			played[number] = true
		}
	}
	for _, list := range []struct {
		letter string
		last   int
	}{{"T", 42}, {"O", 34}, {"P", 22}} {
		for n := 1; n <= list.last; n++ {
			number := list.letter + strconv.Itoa(n)
			_, excepted := notPlayed[number]
			if played[number] == excepted {
				t.Errorf("%s: has a file: %t, is excepted: %t", number, played[number], excepted)
			}
			delete(played, number)
		}
	}
	for number := range played {
		t.Errorf("a file plays %s, which is no test", number)
	}
}

// TestReadmeListsEveryFile keeps the reading order complete.
func TestReadmeListsEveryFile(t *testing.T) {
	readme, err := os.ReadFile("testdata/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range scenarioFiles(t) {
		name := strings.TrimSuffix(filepath.Base(path), ".scenario")
		if !strings.Contains(string(readme), "`"+name+"`") {
			t.Errorf("testdata/README.md does not mention %s", name)
		}
	}
}
