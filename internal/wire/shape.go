package wire

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A shape is the layout of a request: what is in it, in which versions, and
// what may be null. Walking a request along its shape before it is decoded
// finds out, without reserving anything, whether every length and count in it
// is backed by bytes, and how many array elements decoding will make. The
// decoder alone takes a count as empty when it is negative, and makes elements
// that are dozens of times larger than the two bytes each may take on the wire.
//
// Shapes are written down in shapes.go in a small language: the parts of the
// request, separated by spaces.
//
//	bool i8 i16 i32 i64 uuid   fields of 1, 1, 2, 4, 8 and 16 bytes
//	str str? bytes bytes?      strings and bytes; with ? they may be null
//	[ ... ]   [? ... ]         an array of elements; with ? it may be null
//	[?2 ... ]                  one that may be null from version 2 on
//	{? ... }                   parts behind a byte that says whether they are there
//	tags                       tagged fields; only flexible versions have them
//
// A part may name its versions: str@3+ or i64@2-4 or i32@1. On an array they
// follow the bracket: [@4+ or [?2@0-7.

// part is one step of a compiled shape.
type part struct {
	kind     partKind
	size     int    // of a fixed part
	nullable bool   // null is allowed
	elements []part // of an array, or optional
}

type partKind uint8

const (
	fixedPart partKind = iota
	stringPart
	bytesPart
	arrayPart
	optionalPart
	tagsPart
)

// maxElements bounds the array elements and tagged fields of one request. What a client sends in
// earnest is far below it.
const maxElements = 1 << 18

// walk steps over the parts of a request and returns the number of array
// elements and tagged fields in it.
func walk(parts []part, body []byte, flexible bool) (elements int, err error) {
	w := walker{cursor: cursor{b: body}, flexible: flexible}
	w.all(parts)
	if w.bad {
		return 0, errUndecodable
	}
	return w.elements, nil
}

type walker struct {
	cursor
	flexible bool
	elements int
}

func (w *walker) all(parts []part) {
	for i := range parts {
		p := &parts[i]
		switch p.kind {
		case fixedPart:
			w.skip(p.size)
		case stringPart:
			n := w.length(w.flexible, 2)
			if n > math.MaxInt16 {
				w.fail() // the limit holds for flexible versions too
			}
			w.span(n, p.nullable)
		case bytesPart:
			w.span(w.length(w.flexible, 4), p.nullable)
		case tagsPart:
			w.count(w.tags())
		case arrayPart:
			w.array(p)
		case optionalPart:
			w.optional(p)
		}
		if w.bad {
			return
		}
	}
}

func (w *walker) span(n int, nullable bool) {
	if n == -1 && nullable {
		return
	}
	w.skip(n)
}

func (w *walker) array(p *part) {
	n := w.length(w.flexible, 4)
	if n == -1 && p.nullable {
		return
	}
	// No element takes less than a byte.
	if n < 0 || n > len(w.b) {
		w.fail()
	}
	w.count(n)
	if len(p.elements) == 1 && p.elements[0].kind == fixedPart && !w.bad {
		w.skip(n * p.elements[0].size)
		return
	}
	for ; n > 0 && !w.bad; n-- {
		w.all(p.elements)
	}
}

func (w *walker) optional(p *part) {
	if len(w.b) == 0 {
		w.fail()
		return
	}
	there := int8(w.b[0]) != -1 // as the decoder sees it
	w.skip(1)
	if there {
		w.all(p.elements)
	}
}

// count adds n array elements or tags.
func (w *walker) count(n int) {
	if n < 0 || n > maxElements-w.elements {
		w.fail()
		return
	}
	w.elements += n
}

// compile makes the parts that a request of the version has. It panics on a
// mistake in the text: that is a mistake in shapes.go.
func compile(key kmsg.Key, version int16) []part {
	text, ok := shapes[key]
	if !ok {
		panic("wire: there is no shape for " + key.Name())
	}
	req := key.Request()
	req.SetVersion(version)
	p := shapeParser{words: strings.Fields(text), version: int(version), flexible: req.IsFlexible()}
	parts := p.parts()
	if len(p.words) > 0 {
		panic(fmt.Sprintf("wire: shape of %s: unexpected %q", key.Name(), p.words[0]))
	}
	return parts
}

type shapeParser struct {
	words    []string
	version  int
	flexible bool
}

// parts reads up to the end, or to a closing bracket.
func (p *shapeParser) parts() []part {
	var parts []part
	for len(p.words) > 0 && p.words[0] != "]" && p.words[0] != "}" {
		word, versions, _ := strings.Cut(p.words[0], "@")
		p.words = p.words[1:]
		made, ok := p.part(word)
		if ok && p.in(versions) {
			parts = append(parts, made)
		}
	}
	return parts
}

var fixedSizes = map[string]int{"bool": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "uuid": 16}

func (p *shapeParser) part(word string) (part, bool) {
	if size, ok := fixedSizes[word]; ok {
		return part{kind: fixedPart, size: size}, true
	}
	switch {
	case word == "tags":
		return part{kind: tagsPart}, p.flexible
	case word == "str" || word == "str?":
		return part{kind: stringPart, nullable: word == "str?"}, true
	case word == "bytes" || word == "bytes?":
		// The decoder and other brokers take null for empty here, and some
		// clients send it.
		return part{kind: bytesPart, nullable: true}, true
	case word == "{?":
		return part{kind: optionalPart, elements: p.until("}")}, true
	case strings.HasPrefix(word, "["):
		elements := p.until("]")
		since, nullable := strings.CutPrefix(word[1:], "?")
		if nullable && since != "" {
			nullable = p.version >= number(since)
		}
		return part{kind: arrayPart, nullable: nullable, elements: elements}, true
	}
	panic(fmt.Sprintf("wire: shape: %q is no part", word))
}

// until reads the parts up to a closing bracket.
func (p *shapeParser) until(bracket string) []part {
	parts := p.parts()
	if len(p.words) == 0 || p.words[0] != bracket {
		panic("wire: shape: " + bracket + " is missing")
	}
	p.words = p.words[1:]
	return parts
}

// in says whether the version is among versions: "", "3+", "2-4" or "1".
func (p *shapeParser) in(versions string) bool {
	if versions == "" {
		return true
	}
	if since, ok := strings.CutSuffix(versions, "+"); ok {
		return p.version >= number(since)
	}
	from, to, ok := strings.Cut(versions, "-")
	if !ok {
		to = from
	}
	return p.version >= number(from) && p.version <= number(to)
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic("wire: shape: " + err.Error())
	}
	return n
}
