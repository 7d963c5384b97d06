package display

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Text returns s with everything that does not print as itself escaped:
// control characters, line breaks, invisible and direction-changing characters,
// spaces other than U+0020, bytes that are no UTF-8, and the backslash, which
// keeps the escapes unambiguous.
func Text(s string) string { return escape(s, false) }

// Prose is Text for sentences that were put together from texts that are
// escaped already: it leaves backslashes alone.
func Prose(s string) string { return escape(s, true) }

func escape(s string, backslash bool) string {
	plain := func(r rune) bool { return strconv.IsPrint(r) && (backslash || r != '\\') }
	clean := utf8.ValidString(s)
	for _, r := range s {
		if !clean || !plain(r) {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(s[i:]); size == 1 {
				fmt.Fprintf(&b, `\x%02x`, s[i])
				continue
			}
		}
		switch {
		case plain(r):
			b.WriteRune(r)
		default:
			q := strconv.QuoteRuneToASCII(r) // 'x', quoted
			b.WriteString(q[1 : len(q)-1])
		}
	}
	return b.String()
}

// One is Text of at most limit characters of s. A text that is longer ends with
// how many bytes it has.
func One(s string, limit int) string {
	n := 0
	for i := range s {
		if n == limit {
			return fmt.Sprintf("%s... (%d bytes)", Text(s[:i]), len(s))
		}
		n++
	}
	return Text(s)
}

// Width is how many columns a text takes on a terminal, if all its characters
// are of the usual width.
func Width(s string) int { return utf8.RuneCountInString(s) }

// JSON returns a JSON text in which every character beyond ASCII that does not
// print, and DEL, is a \u escape. encoding/json escapes the other controls and
// the characters of HTML, but not these. The values that a parser reads stay
// the same.
func JSON(text []byte) []byte {
	bad := func(r rune) bool { return r >= utf8.RuneSelf-1 && !strconv.IsPrint(r) }
	first := -1
	for i, r := range string(text) {
		if bad(r) {
			first = i
			break
		}
	}
	if first < 0 {
		return text
	}
	out := append(make([]byte, 0, len(text)+64), text[:first]...)
	for _, r := range string(text[first:]) {
		switch {
		case !bad(r):
			out = utf8.AppendRune(out, r)
		case r > 0xffff:
			r -= 0x10000
			out = fmt.Appendf(out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}
