package display

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"orders-1":              "orders-1",
		"caf\u00e9 \u4e2d":      "caf\u00e9 \u4e2d",
		"\x1b[31mred\x07":       `\x1b[31mred\a`,
		"a\nb\r\tc\x00\x7f":     `a\nb\r\tc\x00\x7f`,
		"\u009b2J":              `\u009b2J`,
		"abc\u202egpj.exe":      `abc\u202egpj.exe`,
		"\u2066x\u2069\u200f":   `\u2066x\u2069\u200f`,
		"zero\u200bwidth\ufeff": `zero\u200bwidth\ufeff`,
		"line\u2028next":        `line\u2028next`,
		"no\u00a0break":         `no\u00a0break`,
		"bad\xff\xc0":           `bad\xff\xc0`,
		"real \ufffd":           "real \ufffd",
		`back\x1b`:              `back\\x1b`,
		"<script>&":             "<script>&",
		"tag\U000e0041":         `tag\U000e0041`,
	} {
		if got := Text(in); got != want {
			t.Errorf("Text(%q) = %s, want %s", in, got, want)
		}
	}
	if got := Prose(`a\x1b` + "\x1b"); got != `a\x1b\x1b` {
		t.Errorf("Prose leaves %s", got)
	}
}

func TestOneIsBounded(t *testing.T) {
	if got := One("short", 10); got != "short" {
		t.Error(got)
	}
	if got := One(strings.Repeat("\u00e9", 32<<10), 4); got != "\u00e9\u00e9\u00e9\u00e9... (65536 bytes)" {
		t.Error(got)
	}
	if got := One("abcd", 4); got != "abcd" {
		t.Error(got)
	}
}

func TestJSONKeepsTheValue(t *testing.T) {
	for _, s := range []string{"plain", "\u009b2J", "a\u202eb\u2066", "tag\U000e0041\U0001f600", "del\x7f", "\u4e2d"} {
		raw, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		safe := JSON(raw)
		var back string
		if err := json.Unmarshal(safe, &back); err != nil || back != s {
			t.Errorf("%q becomes %s, which reads as %q, %v", s, safe, back, err)
		}
		if Prose(string(safe)) != string(safe) {
			t.Errorf("%s does not print", safe)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add("a\x1b[0m\u202e\xff\\")
	f.Fuzz(func(t *testing.T, s string) {
		safe := Text(s)
		if !utf8.ValidString(safe) || Prose(safe) != safe || strings.ContainsAny(safe, "\x1b\n\r\x07") {
			t.Errorf("Text(%q) = %q", s, safe)
		}
	})
}
