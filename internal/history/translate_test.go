package history

import (
	"strings"
	"testing"
	"unicode/utf8"

	"rota/internal/group"
)

// Members whose client id alone is longer than what is kept stay apart.
func TestLongMemberIDsStayApart(t *testing.T) {
	for _, client := range []string{strings.Repeat("c", 40_000), strings.Repeat("\u00e9", 20_000), strings.Repeat("\xff", 40_000)} {
		const one, two = "-6f7c4b0e-a89c-4b0e-a89c-6ed5ca2704b6", "-ee6b47ec-a89c-4b0e-b437-29bbf377f089"
		seen := map[string]bool{}
		for _, end := range []string{one, two} {
			e := Translate("g", &group.Event{Kind: group.MemberReplaced, Member: group.MemberRef{ID: client + end}, Replaced: client + end})
			id := e.Member.ID
			if len(id) > 3*maxID || !utf8.ValidString(id) || !strings.HasSuffix(id, end) || e.Replaced != id {
				t.Errorf("an id of %d bytes became %q, replaced %q", len(client+end), id, e.Replaced)
			}
			seen[id] = true
			if name := e.Member.Name(); !strings.Contains(name, "member") {
				t.Error(name)
			}
		}
		if len(seen) != 2 {
			t.Errorf("two members became one: %v", seen)
		}
	}
}
