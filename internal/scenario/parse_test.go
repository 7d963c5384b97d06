package scenario

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const conversation = `test: T6 T7
core-only: a reason

# A comment.
broker group.max.size=2
group "a b" type=connect protocols=x:"a b",y:0x0102

A -> join  v=4 session=10s
A <- join MEMBER_ID_REQUIRED member=a1

X -> describe
X <- describe Stable type=connect protocol=x
     a1(client=a host=/127.0.0.1 metadata="" assignment=p0)

+3s
# Something happens.
@ 3s
A <- join generation=1
= Stable generation=1
! member-joined member=a1
log = offset g t-0=1(v=1 expires=1h)

# The end.
`

func TestParsePrintsWhatItRead(t *testing.T) {
	f, err := Parse("conversation", []byte(conversation))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(conversation, string(f.Bytes())); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"T6", "T7"}, f.Tests()); diff != "" {
		t.Error(diff)
	}
	if reason, ok := f.Header("core-only"); !ok || reason != "a reason" {
		t.Errorf("core-only: %q, %t", reason, ok)
	}
	if len(f.Blocks) != 6 {
		t.Fatalf("%d blocks", len(f.Blocks))
	}
	describe := f.Blocks[3].Body[0]
	if describe.Kind != Reply || len(describe.Words) != 5 {
		t.Errorf("the continued line is %q", describe.Words)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, tc := range []struct{ name, text, reason string }{
		{"output first", "A <- join ok", "before any input"},
		{"unknown command", "dance", "unknown command"},
		{"unknown request", "group g\nA -> dance", "unknown request"},
		{"small client", "group g\na -> join", "not the name of a client"},
		{"no group", "A -> join", "no group line"},
		{"late header", "group g\ntest: T1", "top of the file"},
		{"open quote", "group \"g", "quote without end"},
		{"open bracket", "group g topics=[t", "bracket without end"},
		{"closed bracket", "group g)", "without an opening one"},
		{"no generation", "group g\nA -> heartbeat member=a1", "generation= is missing"},
		{"twice", "group g\nA -> join v=1 v=2", "stands twice"},
		{"unknown option", "group g\nA -> heartbeat generation=1 colour=red", "unknown option"},
		{"bad duration", "group g\nA -> join session=long", "not a duration"},
		{"bad setting", "broker colour=red", "unknown broker setting"},
		{"bad partition", "group g\nA -> commit t=1", "not a topic and partition"},
		{"bad offset", "group g\nA -> commit t-0=x", "not an offset"},
		{"stop without time", "group g\nA -> join\n@ 3s", "a stop without time passing"},
		{"bad stop", "group g\n+1s\n@ soon", "one duration"},
		{"bad time", "+soon", "not a time to let pass"},
		{"bad hex", "group g\nA -> sync generation=1 a1=0xabc", "bad hex"},
		{"huge", "group g\nA -> sync generation=1 a1=aaaaaaaaaa*99999999", "too long"},
		{"old leave of two", "group g\nA -> leave v=2 a1 a2", "exactly one member"},
		{"unknown record", "log = surprise g", "a record is an offset"},
		{"marker without producer", "log = commit", "takes producer="},
		{"orphan continuation", "   a1", "there is none"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Parse("f", []byte(tc.text+"\n"))
			if err == nil || !strings.Contains(err.Error(), tc.reason) {
				t.Errorf("got %v, want %q", err, tc.reason)
			}
		})
	}
}

func TestPayloads(t *testing.T) {
	for _, tc := range []struct{ word, bytes, printed string }{
		{`p0`, "p0", "p0"},
		{`p0,p1`, "p0,p1", "p0,p1"},
		{`""`, "", `""`},
		{`"a b"`, "a b", `"a b"`},
		{`0x00ff`, "\x00\xff", "0x00ff"},
		{`"0x"`, "0x", `"0x"`},
		{`x*40`, strings.Repeat("x", 40), "x*40"},
		{`x*3`, "xxx", "xxx"},
		{`0x0102*33`, strings.Repeat("\x01\x02", 33), "0x0102*33"},
		{`[t]`, "\x00\x00\x00\x00\x00\x01\x00\x01t\xff\xff\xff\xff", "[t]"},
		{`[]`, "\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff", "[]"},
	} {
		got, err := parsePayload(tc.word)
		if err != nil || string(got) != tc.bytes {
			t.Errorf("%s: %q, %v", tc.word, got, err)
		}
		if printed := formatPayload(got); printed != tc.printed {
			t.Errorf("%s prints as %s", tc.word, printed)
		}
	}
}

// FuzzScenarioParse reads anything, and holds that what was read prints to
// something that reads the same.
func FuzzScenarioParse(f *testing.F) {
	f.Add([]byte(conversation))
	paths, err := filepath.Glob("../group/testdata/*/*.scenario")
	if err != nil || len(paths) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, p := range paths {
		text, err := os.ReadFile(p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := Parse("fuzz", text)
		if err != nil {
			return
		}
		printed := file.Bytes()
		again, err := Parse("fuzz", printed)
		if err != nil {
			t.Fatalf("what was printed cannot be read: %v\n%s", err, printed)
		}
		if diff := cmp.Diff(file, again); diff != "" {
			t.Fatalf("read again it differs:\n%s", diff)
		}
		// Without the spelling of its lines it must say the same.
		plain := canonicalCopy(file)
		reread, err := Parse("fuzz", plain.Bytes())
		if err != nil {
			t.Fatalf("the canonical form cannot be read: %v\n%s", err, plain.Bytes())
		}
		if diff := cmp.Diff(plain.Bytes(), canonicalCopy(reread).Bytes()); diff != "" {
			t.Fatalf("the canonical form is not stable:\n%s", diff)
		}
	})
}

// canonicalCopy drops the spelling of all lines but notes.
func canonicalCopy(f *File) *File {
	strip := func(lines []Line) []Line {
		var out []Line
		for _, l := range lines {
			if l.Kind != Note {
				l.Raw = ""
			}
			out = append(out, l)
		}
		return out
	}
	c := &File{Name: f.Name, Headers: strip(f.Headers), Tail: strip(f.Tail)}
	for _, b := range f.Blocks {
		c.Blocks = append(c.Blocks, Block{Lead: strip(b.Lead), Input: strip([]Line{b.Input})[0], Body: strip(b.Body)})
	}
	return c
}
