package cli

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"rota/internal/story"
)

var update = flag.Bool("update", false, "write docs/CLI.md")

// answers is what each command prints with --json.
var answers = map[string]any{
	"topic create": changesAnswer{}, "topic list": topicsAnswer{}, "topic describe": topicsAnswer{}, "topic alter": changesAnswer{}, "topic delete": changesAnswer{},
	"produce": produced{}, "consume": record{},
	"group list": groupsAnswer{}, "group describe": describeAnswer{}, "group reset": resetAnswer{}, "group delete": changesAnswer{},
	"explain": explainAnswer{}, "timeline": timelineAnswer{}, "watch": watched{}, "events": story.Event{},
}

// lineByLine are the commands that print one value in each line.
var lineByLine = []string{"produce", "consume", "watch", "events"}

const referencePath = "../../docs/CLI.md"

// The reference is made from the commands and from the types that they print.
func TestReference(t *testing.T) {
	text := reference(t)
	if *update {
		if err := os.WriteFile(referencePath, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := os.ReadFile(referencePath)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != text {
		t.Error("docs/CLI.md is not what the commands are: make docs")
	}
}

const referenceHead = `# The command line

<!-- Made by make docs from the commands in internal/cli. -->

` + "`rota`" + ` starts brokers, and is a client of any Kafka cluster, Rota or Apache Kafka. This page lists the commands that talk to a cluster;
[CONFIG.md](CONFIG.md) is about ` + "`rota serve`" + `.

**Flags of all of them**

| flag | |
|---|---|
| ` + "`--brokers HOST:PORT,...`" + ` | brokers to connect to; one that answers is enough. Default: ` + "`ROTA_BROKERS`, or `127.0.0.1:9092`" + ` |
| ` + "`--json`" + ` | print JSON: one document, or, where this page says so, one in each line. The fields below are a contract: they stay, new ones may come. Times are RFC 3339 in UTC, fields that end in ` + "`_ms`" + ` are milliseconds, ` + "`?`" + ` marks a field that may be absent |
| ` + "`--timeout 15s`" + ` | how long to wait for an answer |

**Exit codes**: 0 done; 1 it could not be done, with one line on standard error that says why, and often a second one with a hint; 2 the command
line is wrong.

**Untrusted text**: names, reasons, keys and values come from strangers. On a terminal everything that does not print as itself is shown as an escape (` +
	"`\\x1b`, `\\u202e`" + `), long texts are cut and say how long they are. JSON holds them in full with the same characters escaped, and those of HTML too. ` +
	"`rota consume`" + ` writes raw bytes if its output is a file or a pipe.

**On Apache Kafka** the same commands show what the protocol tells. Kafka keeps no history of its groups, so ` + "`explain`, `timeline` and `group list`" + ` say
what is missing, ` + "`watch`" + ` asks for states again and again, and ` + "`events`" + ` fails.

**Completion**: ` + "`source <(rota completion bash)`" + `, the same with ` + "`zsh`" + `, or ` + "`rota completion fish | source`" + `. Topics and groups are completed too.
`

func reference(t *testing.T) string {
	t.Helper()
	var c struct{ Commands }
	parser, err := kong.New(&c, kong.Name("rota"), kong.Vars(Vars()))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString(referenceHead)
	words := fieldWords(t)
	described := map[reflect.Type]string{}
	told := map[reflect.Type]string{}
	for _, leaf := range parser.Model.Leaves(true) {
		path := strings.TrimPrefix(leaf.FullPath(), "rota ")
		if strings.HasPrefix(leaf.Help, "The same as ") {
			continue
		}
		fmt.Fprintf(&b, "\n## rota %s\n\n%s\n\n    %s\n", path, leaf.Help, leaf.Summary())
		describeInput(&b, leaf)
		answer, ok := answers[path]
		if !ok {
			if strings.Contains(fmt.Sprint(leaf.Flags), "json") {
				t.Errorf("%s has --json and no documented fields", path)
			}
			continue
		}
		how := "With `--json`"
		if slices.Contains(lineByLine, path) {
			how += ", in each line"
		}
		if other, known := described[reflect.TypeOf(answer)]; known {
			fmt.Fprintf(&b, "\n%s: as of `rota %s`.\n", how, other)
			continue
		}
		described[reflect.TypeOf(answer)] = path
		fmt.Fprintf(&b, "\n%s:\n\n| field | | |\n|---|---|---|\n", how)
		w := fieldWriter{b: &b, t: t, words: words, command: path, told: told}
		w.fields(reflect.TypeOf(answer), "", nil)
	}
	b.WriteString("\n`rota group explain`, `timeline`, `watch` and `events` are the same as those without `group`.\n")
	return b.String()
}

var common = []string{"help", "brokers", "json", "timeout"}

func describeInput(b *strings.Builder, leaf *kong.Node) {
	var rows []string
	for _, p := range leaf.Positional {
		rows = append(rows, fmt.Sprintf("| `%s` | %s |", p.Summary(), p.Help))
	}
	for _, f := range leaf.Flags {
		if slices.Contains(common, f.Name) {
			continue
		}
		name := "--" + f.Name
		if f.Short != 0 {
			name = "-" + string(f.Short) + ", " + name
		}
		if !f.IsBool() {
			name += "=" + strings.Trim(f.FormatPlaceHolder(), `"`)
		}
		rows = append(rows, fmt.Sprintf("| `%s` | %s |", strings.ReplaceAll(name, "|", "\\|"), strings.ReplaceAll(f.Help, "|", "\\|")))
	}
	if len(rows) > 0 {
		fmt.Fprintf(b, "\n| | |\n|---|---|\n%s\n", strings.Join(rows, "\n"))
	}
}

// fieldWriter writes a line for each field of a JSON value.
type fieldWriter struct {
	b       *strings.Builder
	t       *testing.T
	words   map[string]string
	command string
	told    map[reflect.Type]string // where the fields of a larger type stand
}

// large is how many fields make it worth to describe a type once only.
const large = 4

func (w *fieldWriter) fields(typ reflect.Type, prefix string, inside []reflect.Type) {
	for f := range typ.Fields() {
		tag := f.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		switch {
		case f.Anonymous && name == "":
			if f.Type.NumField() >= large && w.told[f.Type] == "" && prefix != "" {
				w.told[f.Type] = fmt.Sprintf("`%s` of `rota %s`", strings.TrimSuffix(prefix, "."), w.command)
			}
			w.fields(f.Type, prefix, inside)
			continue
		case !f.IsExported() || name == "-":
			continue
		}
		doc := f.Tag.Get("doc")
		if doc == "" {
			doc = w.words[typ.Name()+"."+name]
		}
		if doc == "" {
			w.t.Errorf("field %s of %s is not documented: give it a doc tag, or testdata/fields.txt a line", name, typ)
		}
		mark := ""
		if strings.Contains(options, "omit") {
			mark = "?"
		}
		kind, inner, list := kindOf(f.Type)
		suffix := ""
		if list {
			suffix = "[]"
		}
		if where := w.told[inner]; inner != nil && where != "" {
			doc = strings.TrimSpace(doc + " Fields as of " + where + ".")
			inner = nil
		} else if inner != nil && inner.NumField() >= large {
			w.told[inner] = fmt.Sprintf("`%s%s` of `rota %s`", prefix, name+suffix, w.command)
		}
		fmt.Fprintf(w.b, "| `%s%s` | %s%s | %s |\n", prefix, name+suffix, kind, mark, strings.ReplaceAll(doc, "|", "\\|"))
		if inner != nil && !slices.Contains(inside, inner) {
			w.fields(inner, prefix+name+suffix+".", append(inside, inner))
		}
	}
}

var wide = []string{"time.Time"}

// kindOf is a type in JSON's words, and the struct that it is made of.
func kindOf(t reflect.Type) (kind string, inner reflect.Type, list bool) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case slices.Contains(wide, t.String()):
		return "time", nil, false
	case t == reflect.TypeFor[story.Millis]():
		return "number", nil, false
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		return "base64", nil, false
	case t.Kind() == reflect.Slice:
		kind, inner, _ = kindOf(t.Elem())
		return kind, inner, true
	case t.Kind() == reflect.Struct:
		return "object", t, false
	case t.Kind() == reflect.Bool:
		return "boolean", nil, false
	case t.Kind() == reflect.String:
		return "string", nil, false
	default:
		return "number", nil, false
	}
}

// fieldWords reads what is said of the fields of package story.
func fieldWords(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("testdata/fields.txt")
	if err != nil {
		t.Fatal(err)
	}
	words := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if field, doc, ok := strings.Cut(strings.TrimSpace(line), " "); ok && field != "#" {
			words[field] = doc
		}
	}
	return words
}
