package broker

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"

	"rota/internal/catalog"
)

// longestTopicName leaves room for "-" and a partition number in file names of
// 255 bytes, as in Kafka.
const longestTopicName = 249

// CheckTopicName says in a plain sentence why a topic cannot have that name:
// INVALID_TOPIC_EXCEPTION.
func CheckTopicName(name string) error {
	switch {
	case name == "":
		return Refuse(kerr.InvalidTopicException, "A topic name cannot be empty.")
	case name == "." || name == "..":
		return Refuse(kerr.InvalidTopicException, "A topic cannot be called %q.", name)
	case len(name) > longestTopicName:
		return Refuse(kerr.InvalidTopicException, "A topic name has at most %d characters; this one has %d.", longestTopicName, len(name))
	}
	for i := range len(name) {
		if !topicNameByte(name[i]) {
			return Refuse(kerr.InvalidTopicException, "A topic name has letters and digits of ASCII, dots, underscores and hyphens only; %q has others.", name)
		}
	}
	return nil
}

func topicNameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-'
}

// checkCollision refuses a name that differs from that of a topic in dots and
// underscores only: in the names of metrics they are the same.
func checkCollision(view *catalog.View, name string) error {
	if !strings.ContainsAny(name, "._") {
		return nil
	}
	for _, t := range view.Topics() {
		if t.Name != name && collide(t.Name, name) {
			return Refuse(kerr.InvalidTopicException, "The name %s collides with that of topic %s: dots and underscores count as the same.", name, t.Name)
		}
	}
	return nil
}

// collide reports whether two names are the same but for dots and underscores.
func collide(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if a[i] != b[i] && (!dotted(a[i]) || !dotted(b[i])) {
			return false
		}
	}
	return true
}

func dotted(c byte) bool { return c == '.' || c == '_' }
