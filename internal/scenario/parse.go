package scenario

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// ParseError says which line of a scenario cannot be read.
type ParseError struct {
	File   string
	Line   int
	Reason string
}

func (e *ParseError) Error() string {
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Reason)
}

// headers are the facts that may stand at the top of a file.
var headers = []string{
	"test",      // numbers of the specification's tests
	"report",    // the public fault report that the file replays
	"core-only", // why it cannot play over TCP
	"tcp-only",  // why it cannot play against the core
	"ours",      // where Rota chose to differ: why it may fail on Apache Kafka
	"real-time", // why its times may not be scaled
}

// commands are the inputs that no client sends.
var commands = []string{
	"broker", "group", "stable", "expire", "forget-topic", "fail-append", "hold-append",
	"release", "reload", "restart", "loading", "loaded", "late", "wall", "disconnect", "log",
}

// coreCommands are those that no broker can be asked for over TCP: a file that
// uses one is core-only, and says why.
var coreCommands = []string{
	"expire", "fail-append", "hold-append", "release", "reload", "loading", "loaded", "late", "wall", "log",
}

// verbs are the requests of clients.
var verbs = []string{
	"join", "sync", "heartbeat", "leave", "commit", "fetch-offsets",
	"delete-offsets", "delete", "describe", "list", "txn-commit", "end-txn",
}

// Parse reads a scenario. name is used in messages only.
func Parse(name string, text []byte) (*File, error) {
	p := parser{file: &File{Name: name}}
	if len(text) > 0 {
		for i, raw := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
			if err := p.line(i+1, raw); err != nil {
				return nil, &ParseError{File: name, Line: i + 1, Reason: err.Error()}
			}
		}
	}
	p.endBlock()
	if len(p.file.Blocks) == 0 {
		p.file.Headers = append(p.file.Headers, p.notes...)
	} else {
		p.file.Tail = p.notes
	}
	if err := p.file.check(); err != nil {
		return nil, err
	}
	return p.file, nil
}

// parser collects the lines of a file into blocks.
type parser struct {
	file  *File
	notes []Line // notes that belong to what comes next
	block *Block
}

func (p *parser) line(number int, raw string) error {
	if strings.HasPrefix(raw, " ") || strings.HasPrefix(raw, "\t") {
		if strings.TrimSpace(raw) != "" {
			return p.continuation(raw)
		}
	}
	l, err := parseLine(raw)
	if err != nil {
		return err
	}
	l.Number = number
	switch {
	case l.Kind == Note:
		p.notes = append(p.notes, l)
	case l.Kind == Header:
		if p.block != nil {
			return fmt.Errorf("%s: headers stand at the top of the file", l.Who)
		}
		p.file.Headers = append(append(p.file.Headers, p.notes...), l)
		p.notes = nil
	case l.Kind.isOutput():
		if p.block == nil {
			return fmt.Errorf("%q comes before any input", raw)
		}
		p.block.Body = append(append(p.block.Body, p.notes...), l)
		p.notes = nil
	default:
		p.endBlock()
		p.block = &Block{Lead: p.notes, Input: l}
		p.notes = nil
	}
	return nil
}

// continuation adds an indented line to the one above it.
func (p *parser) continuation(raw string) error {
	if p.block == nil || len(p.notes) > 0 {
		return fmt.Errorf("an indented line continues the line above it, and there is none")
	}
	l := &p.block.Input
	if n := len(p.block.Body); n > 0 {
		l = &p.block.Body[n-1]
	}
	words, err := splitWords(raw)
	if err != nil {
		return err
	}
	l.Words = append(l.Words, words...)
	l.Raw += "\n" + raw
	return nil
}

func (p *parser) endBlock() {
	if p.block != nil {
		p.file.Blocks = append(p.file.Blocks, *p.block)
		p.block = nil
	}
}

// parseLine reads one line without its place in the file.
func parseLine(raw string) (Line, error) {
	l := Line{Raw: raw}
	text := strings.TrimSpace(raw)
	if text == "" || strings.HasPrefix(text, "#") {
		return l, nil
	}
	if name, rest, ok := strings.Cut(text, ":"); ok && slices.Contains(headers, name) {
		l.Kind, l.Who, l.Words = Header, name, strings.Fields(rest)
		return l, nil
	}
	words, err := splitWords(text)
	if err != nil {
		return l, err
	}
	marks := map[string]Kind{"@": Stop, "=": State, "!": Event}
	if kind, ok := marks[words[0]]; ok {
		l.Kind, l.Words = kind, words[1:]
		if len(l.Words) == 0 {
			return l, fmt.Errorf("nothing after %q", words[0])
		}
		return l, nil
	}
	if len(words) > 2 && (words[1] == "->" || words[1] == "<-") {
		return parseArrow(l, words)
	}
	l.Kind, l.Words = Command, words
	if !strings.HasPrefix(words[0], "+") && !slices.Contains(commands, words[0]) {
		return l, fmt.Errorf("unknown command %q", words[0])
	}
	return l, nil
}

// parseArrow reads what a client sends or gets, and what the log gets.
func parseArrow(l Line, words []string) (Line, error) {
	l.Who, l.Words = words[0], words[2:]
	if words[1] == "<-" && words[0] == "log" {
		l.Kind, l.Who = LogOutput, ""
		return l, nil
	}
	l.Kind = Request
	if words[1] == "<-" {
		l.Kind = Reply
	}
	if !isClient(l.Who) {
		return l, fmt.Errorf("%q is not the name of a client: those begin with a capital", l.Who)
	}
	if !slices.Contains(verbs, l.Words[0]) {
		return l, fmt.Errorf("unknown request %q", l.Words[0])
	}
	return l, nil
}

// isClient reports whether a word names a client: a capital, then letters and
// digits.
func isClient(word string) bool {
	return word != "" && word[0] >= 'A' && word[0] <= 'Z' && isPlain(word)
}

// check compiles every input, so that mistakes are found before a run.
func (f *File) check() error {
	c := newCompiler(f)
	_, coreOnly := f.Header("core-only")
	for i := range f.Blocks {
		b := &f.Blocks[i]
		if _, err := c.compile(&b.Input); err != nil {
			return &ParseError{File: f.Name, Line: b.Input.Number, Reason: err.Error()}
		}
		if !coreOnly && needsCore(&b.Input) {
			return &ParseError{File: f.Name, Line: b.Input.Number, Reason: "not possible over TCP: a core-only line must say why the file has this"}
		}
		for _, l := range b.Body {
			if l.Kind != Stop {
				continue
			}
			if _, err := time.ParseDuration(l.Words[0]); err != nil || len(l.Words) != 1 {
				return &ParseError{File: f.Name, Line: l.Number, Reason: "a stop is one duration since the beginning"}
			}
			if !strings.HasPrefix(b.Input.Words[0], "+") {
				return &ParseError{File: f.Name, Line: l.Number, Reason: "a stop without time passing"}
			}
		}
	}
	return nil
}

// needsCore reports whether an input plays against the core only.
func needsCore(l *Line) bool {
	return l.Kind == Command && (slices.Contains(coreCommands, l.Words[0]) ||
		l.Words[0] == "broker" && slices.ContainsFunc(l.Words, func(w string) bool { return strings.HasPrefix(w, coreSettings) }))
}
