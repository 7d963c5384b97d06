package explore

import (
	"os"
	"strings"
	"testing"
)

// TestMutationsAreNoticed reads the page that make mutate has written: it has
// every mutation of the list, all are noticed, and most by a search alone.
func TestMutationsAreNoticed(t *testing.T) {
	read := func(path string) string {
		t.Helper()
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	rows := map[string]string{}
	for line := range strings.SplitSeq(read("../../docs/MUTATIONS.md"), "\n") {
		if cells := strings.Split(line, " | "); len(cells) == 4 {
			rows[strings.TrimPrefix(cells[0], "| ")] = line
		}
	}
	all, alone := 0, 0
	for line := range strings.SplitSeq(read("../../tools/mutate/mutations.txt"), "\n") {
		head, ok := strings.CutPrefix(line, "== ")
		if !ok {
			continue
		}
		all++
		place, what, _ := strings.Cut(head, " | ")
		id, _, _ := strings.Cut(place, " ")
		row := rows[id]
		if !strings.Contains(row, what) {
			t.Errorf("%s is not in the page, or is another one there: run make mutate", id)
		}
		if strings.Contains(row, "nothing") && strings.Contains(row, "**") {
			t.Errorf("%s is noticed by nothing", id)
		}
		if strings.Contains(row, "explorer") || strings.Contains(row, "simulator") {
			alone++
		}
	}
	if all < 40 || alone < 25 {
		t.Errorf("%d mutations, %d of them noticed by the explorer or the simulator alone", all, alone)
	}
}
