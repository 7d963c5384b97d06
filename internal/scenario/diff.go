package scenario

import (
	"fmt"
	"slices"
	"strings"
)

// Diff returns "" if want and got print alike, and else the lines in which
// they differ, with some around them: "-" marks what the file says and "+"
// what happened.
func Diff(want, got *File) string {
	w, g := string(want.Bytes()), string(got.Bytes())
	if w == g {
		return ""
	}
	return want.Name + ":\n" + diffText(w, g)
}

// diffText compares two texts by lines.
func diffText(want, got string) string {
	const around = 3
	edits := editScript(strings.Split(want, "\n"), strings.Split(got, "\n"))
	near := make([]bool, len(edits))
	for i, e := range edits {
		if e.mark == ' ' {
			continue
		}
		for j := max(0, i-around); j <= min(len(edits)-1, i+around); j++ {
			near[j] = true
		}
	}
	var b strings.Builder
	gap := false
	for i, e := range edits {
		if !near[i] {
			gap = true
			continue
		}
		if gap {
			fmt.Fprintf(&b, "  ... line %d\n", e.line)
			gap = false
		}
		fmt.Fprintf(&b, "%c %s\n", e.mark, e.text)
	}
	return b.String()
}

// edit is one line of a diff.
type edit struct {
	mark byte // ' ', '-' or '+'
	text string
	line int // of the first text
}

// editScript turns a into b through their longest common subsequence.
func editScript(a, b []string) []edit {
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := range slices.Backward(a) {
		for j := range slices.Backward(b) {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var edits []edit
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			edits = append(edits, edit{' ', a[i], i + 1})
			i, j = i+1, j+1
		case i < len(a) && (j == len(b) || common[i+1][j] >= common[i][j+1]):
			edits = append(edits, edit{'-', a[i], i + 1})
			i++
		default:
			edits = append(edits, edit{'+', b[j], i + 1})
			j++
		}
	}
	return edits
}
