package stories

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rota/test/install"
)

var update = flag.Bool("update", false, "write docs/explain.md")

const pageHead = `# Why did my group rebalance?

<!-- Made by make docs from the stories in test/stories, by running them. -->

` + "`rota explain GROUP`" + ` tells why a group rebalanced last, who caused it, how long each phase took, who was waited for and what moved; then it counts
the causes of the last 24 hours, and says what keeps coming back and what to do about it, with the evidence. This page has stories that
happened: each was provoked with real clients (franz-go) on a broker whose clock can be moved, and shows what the command said then.
[CLI.md](CLI.md) describes the command and its JSON, [format/group-events.md](format/group-events.md) the events it is made from.

Anybody can run them again: ` + "`cd test && go test ./stories`" + ` checks that each cause is named and that this page is still what the command says;
with ` + "`-update`" + ` it writes the page anew.
`

// page is the whole of docs/explain.md.
func page(tales []tale, shown []string) string {
	var b strings.Builder
	b.WriteString(pageHead + "\n")
	for _, x := range tales {
		fmt.Fprintf(&b, "- [%s](#%s)\n", x.title, anchor(x.title))
	}
	for i, x := range tales {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n    $ rota %s\n", x.title, x.text, strings.Join(x.command(), " "))
		for line := range strings.Lines(shown[i]) {
			b.WriteString(strings.TrimRight("    "+line, " \n") + "\n")
		}
	}
	return b.String()
}

func (x *tale) command() []string {
	if x.show != nil {
		return x.show
	}
	return []string{"explain", group}
}

func anchor(title string) string {
	return strings.ReplaceAll(strings.ToLower(strings.NewReplacer(",", "", ".", "").Replace(title)), " ", "-")
}

var (
	times     = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} UTC`)
	durations = regexp.MustCompile(`\b(\d+h)?(\d+m)?\d+(\.\d+)?(ns|\x{00b5}s|ms|s)\b`)
	members   = regexp.MustCompile(`"(static-)?(alice|bob|carol|dave)(-\d)?"( \(\.\.[0-9a-f]{4}\))?`)
	lists     = regexp.MustCompile(`(orders|returns) \d[-\d,]*`)
)

// skeleton is a text without what differs from run to run: times, durations,
// who of several was first, and which partition went where.
func skeleton(text string) string {
	var b strings.Builder
	for section := range strings.SplitSeq(text, "\n## ") {
		// Lines break where the lengths of words have them break.
		b.WriteString(strings.Join(strings.Fields(section), " ") + "\n")
	}
	text = times.ReplaceAllString(b.String(), "TIME")
	text = durations.ReplaceAllString(text, "DURATION")
	text = members.ReplaceAllString(text, "NAME")
	text = lists.ReplaceAllString(text, "$1 LIST")
	return strings.ReplaceAll(text, ". ", ".\n")
}

func checkPage(t *testing.T, text string) {
	t.Helper()
	path := filepath.Join(install.Root(), "docs", "explain.md")
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(skeleton(string(have)), skeleton(text)); diff != "" {
		t.Errorf("docs/explain.md is not what rota explain says: make docs (-page +rota)\n%s", diff)
	}
}
