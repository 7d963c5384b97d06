package broker

import (
	"errors"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
)

func TestTopicNames(t *testing.T) {
	tests := []struct {
		name string
		ok   bool
	}{
		{"a", true},
		{"Orders.v2_new-X9", true},
		{"...", true},
		{strings.Repeat("n", 249), true},
		{"", false},
		{".", false},
		{"..", false},
		{strings.Repeat("n", 250), false},
		{"a b", false},
		{"a/b", false},
		{"a\x00", false},
		{"tür", false},
		{"a:b", false},
	}
	for _, test := range tests {
		err := CheckTopicName(test.name)
		if test.ok && err != nil {
			t.Errorf("%q: %v", test.name, err)
		}
		if !test.ok && !errors.Is(err, kerr.InvalidTopicException) {
			t.Errorf("%q: got %v, want INVALID_TOPIC_EXCEPTION", test.name, err)
		}
	}
}

func TestNamesThatDifferInDotsAndUnderscoresCollide(t *testing.T) {
	for _, pair := range [][2]string{{"a.b", "a_b"}, {"a._", "a_."}, {"__x", "..x"}} {
		if !collide(pair[0], pair[1]) {
			t.Errorf("%s and %s do not collide", pair[0], pair[1])
		}
	}
	for _, pair := range [][2]string{{"a.b", "a-b"}, {"a.b", "ab"}, {"a.b", "A_b"}, {"a.b", "a_bc"}} {
		if collide(pair[0], pair[1]) {
			t.Errorf("%s and %s collide", pair[0], pair[1])
		}
	}
}
