package scenario

import (
	"bytes"
	"strings"
)

// Kind says what a line of a scenario is.
type Kind uint8

const (
	// Note is a comment or an empty line.
	Note Kind = iota
	// Header is a fact about the file: "test: T6".
	Header
	// Command is an input that no client sends: "+5s", "reload", "group g".
	Command
	// Request is what a client sends: "A -> join".
	Request
	// Reply is what a client gets: "A <- join generation=1".
	Reply
	// LogOutput is a batch that is appended, or a fault of the log:
	// "log <- offset g t-0=10", "log <- append-failed".
	LogOutput
	// Stop is the time of what follows it, while time passes: "@ 3s".
	Stop
	// State is the state of a group: "= Stable generation=1 members=a1".
	State
	// Event is an event for the history of the group: "! ...".
	Event
)

// isOutput reports whether lines of this kind say what the broker did.
func (k Kind) isOutput() bool { return k >= Reply }

// Line is one line of a scenario, with the indented lines that continue it.
type Line struct {
	Kind Kind
	// Who is the client of a Request or Reply, or the name of a Header.
	Who string
	// Words are what follows the arrow or mark. A word keeps its quotes.
	Words []string
	// Raw is the text as it was read, without the final newline; empty for a
	// line that a run has made.
	Raw string
	// Number is the line's place in its file, from 1; 0 for a made line.
	Number int
}

// String returns the line as it was written, or in canonical form.
func (l Line) String() string {
	if l.Raw != "" || l.Kind == Note {
		return l.Raw
	}
	return l.canonical()
}

// canonical is the line with one space between words.
func (l Line) canonical() string {
	rest := strings.Join(l.Words, " ")
	switch l.Kind {
	case Header:
		return strings.TrimRight(l.Who+": "+rest, " ")
	case Request:
		return l.Who + " -> " + rest
	case Reply:
		return l.Who + " <- " + rest
	case LogOutput:
		return "log <- " + rest
	case Stop:
		return "@ " + rest
	case State:
		return "= " + rest
	case Event:
		return "! " + rest
	case Note, Command:
	}
	return rest
}

// sameAs reports whether two output lines say the same thing. The order of
// words and the spaces between them mean nothing.
func (l Line) sameAs(o Line) bool {
	return l.Kind == o.Kind && l.Who == o.Who && sortedWords(l.Words) == sortedWords(o.Words)
}

// Block is one input and what came of it.
type Block struct {
	// Lead are the comments and empty lines above the input.
	Lead  []Line
	Input Line
	// Body are the outputs, and comments between them.
	Body []Line
}

// File is a scenario.
type File struct {
	// Name is the path it was read from, for messages.
	Name    string
	Headers []Line
	Blocks  []Block
	// Tail are the comments and empty lines at the end.
	Tail []Line
}

// Header returns the words of the named header, and whether it is there.
func (f *File) Header(name string) (string, bool) {
	for _, h := range f.Headers {
		if h.Kind == Header && h.Who == name {
			return strings.Join(h.Words, " "), true
		}
	}
	return "", false
}

// Tests returns the numbers of the specification's tests that the file plays,
// such as "T6", in the order of the file.
func (f *File) Tests() []string {
	var numbers []string
	for _, h := range f.Headers {
		if h.Kind == Header && h.Who == "test" {
			numbers = append(numbers, h.Words...)
		}
	}
	return numbers
}

// Bytes prints the scenario. Lines that were read keep their own spacing.
func (f *File) Bytes() []byte {
	var b bytes.Buffer
	put := func(lines ...Line) {
		for _, l := range lines {
			b.WriteString(l.String())
			b.WriteByte('\n')
		}
	}
	put(f.Headers...)
	for _, block := range f.Blocks {
		put(block.Lead...)
		put(block.Input)
		put(block.Body...)
	}
	put(f.Tail...)
	return b.Bytes()
}
