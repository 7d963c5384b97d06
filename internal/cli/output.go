package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"rota/internal/display"
)

// What names and reasons take of a line at most.
const (
	nameWidth   = 100
	reasonWidth = 300
)

// name makes a name from the cluster safe to show.
func name(s string) string { return display.One(s, nameWidth) }

// printJSON prints a value as one indented document.
func printJSON(w io.Writer, v any) error { return writeJSON(w, v, "  ") }

// printLine prints a value as JSON in one line.
func printLine(w io.Writer, v any) error { return writeJSON(w, v, "") }

func writeJSON(w io.Writer, v any, indent string) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(display.JSON(b.Bytes()))
	return err
}

// table aligns columns.
type table struct {
	rows  [][]string
	right []bool
}

// newTable starts a table. A header with > in front is of a column of numbers,
// which are aligned to the right.
func newTable(header ...string) *table {
	t := &table{}
	for i, h := range header {
		text, right := strings.CutPrefix(h, ">")
		t.right = append(t.right, right)
		header[i] = text
	}
	t.rows = append(t.rows, header)
	return t
}

// add appends a row of cells that are safe to show.
func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// print writes the table, indented by so many spaces.
func (t *table) print(w io.Writer, indent int) {
	widths := make([]int, len(t.rows[0]))
	for _, row := range t.rows {
		for i, cell := range row {
			widths[i] = max(widths[i], display.Width(cell))
		}
	}
	var line strings.Builder
	for _, row := range t.rows {
		line.Reset()
		line.WriteString(strings.Repeat(" ", indent))
		for i, cell := range row {
			if i > 0 {
				line.WriteString("  ")
			}
			gap := strings.Repeat(" ", widths[i]-display.Width(cell))
			if t.right[i] {
				line.WriteString(gap + cell)
			} else {
				line.WriteString(cell + gap)
			}
		}
		fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
	}
}

// count is a number that may be unknown.
func count[N int | int64](n *N) string {
	if n == nil {
		return "-"
	}
	return fmt.Sprint(*n)
}

// plural is a count with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// size is a number of bytes for people.
func size(n *int64) string {
	if n == nil {
		return "-"
	}
	value, unit := float64(*n), "B"
	for _, u := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if value < 1024 {
			break
		}
		value, unit = value/1024, u
	}
	if unit == "B" {
		return fmt.Sprintf("%d B", *n)
	}
	return fmt.Sprintf("%.1f %s", value, unit)
}

// took is a duration with three digits that matter.
func took(d time.Duration) string {
	switch {
	case d < 0:
		return "-"
	case d < time.Millisecond:
		return d.Round(time.Microsecond).String()
	case d < 10*time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(10 * time.Millisecond).String()
	case d < 48*time.Hour:
		return strings.TrimSuffix(d.Round(time.Second).String(), "0s")
	default:
		return fmt.Sprintf("%d days", int(d/(24*time.Hour)))
	}
}

// numbers writes partitions shortly: 0-3, 7.
func numbers(list []int32) string {
	var b strings.Builder
	for i := 0; i < len(list); {
		j := i
		for j+1 < len(list) && list[j+1] == list[j]+1 {
			j++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		if j > i+1 {
			fmt.Fprintf(&b, "%d-%d", list[i], list[j])
		} else {
			fmt.Fprint(&b, list[i])
			j = i
		}
		i = j + 1
	}
	return b.String()
}
