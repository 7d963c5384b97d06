package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"rota/internal/group"
)

// options are the key=value words of an input, each to be taken once. Words
// without a key are its arguments.
type options struct {
	args   []string
	values map[string]string
}

// readOptions splits the words of an input into options and arguments. Words
// whose key is not among known stay arguments.
func readOptions(words []string, known ...string) (options, error) {
	o := options{values: map[string]string{}}
	for _, w := range words {
		key, value, ok := cutOutside(w, '=')
		if !ok || !slices.Contains(known, key) {
			o.args = append(o.args, w)
			continue
		}
		if _, twice := o.values[key]; twice {
			return o, fmt.Errorf("%s= stands twice", key)
		}
		o.values[key] = value
	}
	return o, nil
}

// text returns the option's unquoted value, or the default.
func (o options) text(key, byDefault string) (string, error) {
	word, ok := o.values[key]
	if !ok {
		return byDefault, nil
	}
	return unquote(word)
}

// optional returns nil for an option that is absent or the word null.
func (o options) optional(key string) (*string, error) {
	word, ok := o.values[key]
	if !ok || word == "null" {
		return nil, nil
	}
	text, err := unquote(word)
	return &text, err
}

func (o options) duration(key string, byDefault time.Duration) (time.Duration, error) {
	word, ok := o.values[key]
	if !ok {
		return byDefault, nil
	}
	d, err := parseDuration(word)
	if err != nil {
		return 0, fmt.Errorf("%s=%s is not a duration", key, word)
	}
	return d, nil
}

func (o options) number(key string, byDefault int64, bits int) (int64, error) {
	word, ok := o.values[key]
	if !ok {
		return byDefault, nil
	}
	n, err := strconv.ParseInt(word, 10, bits)
	if err != nil {
		return 0, fmt.Errorf("%s=%s is not a number", key, word)
	}
	return n, nil
}

// maxDuration keeps sums of the durations of a file from overflowing.
const maxDuration = 10 * 365 * 24 * time.Hour

func parseDuration(word string) (time.Duration, error) {
	d, err := time.ParseDuration(word)
	if err != nil {
		return 0, err
	}
	if d < -maxDuration || d > maxDuration {
		return 0, errors.New("longer than ten years")
	}
	return d, nil
}

// formatDuration writes 6s, 2m30s, 1h: without the zeros of Go's own form.
func formatDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// formatCode writes a Kafka error code by its name, and no error as ok.
func formatCode(c group.Code) string {
	if c == 0 {
		return "ok"
	}
	if e := kerr.TypedErrorForCode(int16(c)); e != nil {
		return e.Message
	}
	return "CODE(" + strconv.Itoa(int(c)) + ")"
}

// memberEntry is a member as lists name it: a1, a1/i1, or /i1 without an id.
func memberEntry(id string, instance *string) string {
	word := ""
	if id != "" {
		word = quote(id)
	}
	if instance != nil {
		word += "/" + quote(*instance)
	}
	if word == "" {
		return `""`
	}
	return word
}

func parseMemberEntry(word string) (id string, instance *string, err error) {
	idWord, instanceWord, ok := cutOutside(word, '/')
	if id, err = unquote(idWord); err != nil {
		return "", nil, err
	}
	if ok {
		text, err := unquote(instanceWord)
		if err != nil {
			return "", nil, err
		}
		instance = &text
	}
	return id, instance, nil
}

// partitionWord is a partition as files name it: t-0.
func partitionWord(tp group.TopicPartition) string {
	return quote(tp.Topic) + "-" + strconv.Itoa(int(tp.Partition))
}

func parsePartition(word string) (group.TopicPartition, error) {
	var tp group.TopicPartition
	dash := strings.LastIndexByte(word, '-')
	if dash < 0 {
		return tp, fmt.Errorf("%q is not a topic and partition such as t-0", word)
	}
	n, err := strconv.ParseInt(word[dash+1:], 10, 32)
	if err != nil {
		return tp, fmt.Errorf("%q is not a topic and partition such as t-0", word)
	}
	tp.Partition = int32(n)
	tp.Topic, err = unquote(word[:dash])
	return tp, err
}

// offsetWord is what is committed for a partition: 10, 10@5 with the leader
// epoch 5, 10:note with metadata, none if nothing is.
func offsetWord(offset int64, epoch int32, metadata string) string {
	if offset == -1 && epoch == -1 && metadata == "" {
		return "none"
	}
	word := strconv.FormatInt(offset, 10)
	if epoch != -1 {
		word += "@" + strconv.Itoa(int(epoch))
	}
	if metadata != "" {
		word += ":" + formatPayload([]byte(metadata))
	}
	return word
}

// parseOffset reads an offset word, less what offsetWord never prints: the
// facts in parentheses at its end, which it returns.
func parseOffset(word string) (o group.CommitOffset, facts string, err error) {
	o.LeaderEpoch, o.Timestamp = -1, -1
	if i := indexOutside(word, '('); i >= 0 && strings.HasSuffix(word, ")") {
		word, facts = word[:i], word[i+1:len(word)-1]
	}
	word, metadata, ok := cutOutside(word, ':')
	if ok {
		text, err := parsePayload(metadata)
		if err != nil {
			return o, "", err
		}
		o.Metadata = string(text)
	}
	word, epoch, ok := cutOutside(word, '@')
	if ok {
		n, err := strconv.ParseInt(epoch, 10, 32)
		if err != nil {
			return o, "", fmt.Errorf("%q is not a leader epoch", epoch)
		}
		o.LeaderEpoch = int32(n)
	}
	if o.Offset, err = strconv.ParseInt(word, 10, 64); err != nil {
		return o, "", fmt.Errorf("%q is not an offset", word)
	}
	return o, facts, nil
}
