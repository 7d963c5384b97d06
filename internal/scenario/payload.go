package scenario

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// maxPayload bounds what a word may stand for, whatever it says.
const maxPayload = 1 << 20

// parsePayload reads the bytes that a word stands for:
//
//	[t,u]    a version 0 subscription to the topics t and u
//	[t/0-2]  a version 0 assignment of partitions 0 to 2 of topic t
//	0x0102   these bytes
//	"a b"    this text, as is any word without quotes
//	x*4097   what stands before the star, so many times
func parsePayload(word string) ([]byte, error) {
	base, times, repeated := cutRepeat(word)
	unit, err := parseUnit(base)
	if err != nil || !repeated {
		return unit, err
	}
	if times*len(unit) > maxPayload {
		return nil, fmt.Errorf("%s is too long", word)
	}
	return bytes.Repeat(unit, times), nil
}

// cutRepeat splits "x*4097" into "x" and 4097.
func cutRepeat(word string) (base string, times int, ok bool) {
	star := strings.LastIndexByte(word, '*')
	if star <= 0 || len(word)-star > 9 {
		return word, 0, false
	}
	times, err := strconv.Atoi(word[star+1:])
	if err != nil || times < 0 {
		return word, 0, false
	}
	return word[:star], times, true
}

func parseUnit(word string) ([]byte, error) {
	switch {
	case strings.HasPrefix(word, "0x"):
		raw, err := hex.DecodeString(word[2:])
		if err != nil {
			return nil, fmt.Errorf("bad hex %s", word)
		}
		return raw, nil
	case strings.HasPrefix(word, "[") && strings.HasSuffix(word, "]"):
		var topics []string
		if inside := word[1 : len(word)-1]; inside != "" {
			for _, t := range splitOutside(inside, ',') {
				topic, err := unquote(t)
				if err != nil {
					return nil, err
				}
				topics = append(topics, topic)
			}
		}
		if strings.Contains(word, "/") {
			return parseAssignment(topics)
		}
		return subscription(topics), nil
	}
	text, err := unquote(word)
	return []byte(text), err
}

// subscription is the metadata of a consumer that wants these topics.
func subscription(topics []string) []byte {
	m := kmsg.NewConsumerMemberMetadata()
	m.Topics = topics
	return m.AppendTo(nil)
}

// formatPayload returns the word that stands for raw. It can stand in a list.
func formatPayload(raw []byte) string {
	if word, ok := formatSubscription(raw); ok {
		return word
	}
	if word, ok := formatAssignment(raw); ok {
		return word
	}
	if unit, times := period(raw); times > 1 {
		return formatUnit(unit) + "*" + strconv.Itoa(times)
	}
	return formatUnit(raw)
}

func formatUnit(raw []byte) string {
	text := string(raw)
	switch {
	case strings.HasPrefix(text, "0x"):
		return strconv.Quote(text)
	case isPlain(text):
		return text
	case isPlainList(text):
		return text
	case utf8.Valid(raw) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }):
		return strconv.QuoteToASCII(text)
	}
	return "0x" + hex.EncodeToString(raw)
}

// isPlainList reports whether text is plain words with commas between, such as
// the assignment p0,p1.
func isPlainList(text string) bool {
	for part := range strings.SplitSeq(text, ",") {
		if !isPlain(part) {
			return false
		}
	}
	return true
}

func formatSubscription(raw []byte) (string, bool) {
	var m kmsg.ConsumerMemberMetadata
	if len(raw) < 6 || m.ReadFrom(raw) != nil || !bytes.Equal(subscription(m.Topics), raw) {
		return "", false
	}
	for _, t := range m.Topics {
		if !isPlain(t) {
			return "", false
		}
	}
	return "[" + strings.Join(m.Topics, ",") + "]", true
}

// period finds the short unit that a long payload repeats.
func period(raw []byte) (unit []byte, times int) {
	const long, longestUnit = 32, 8
	if len(raw) <= long {
		return raw, 1
	}
	for n := 1; n <= longestUnit; n++ {
		if len(raw)%n == 0 && bytes.Equal(raw[n:], raw[:len(raw)-n]) {
			return raw[:n], len(raw) / n
		}
	}
	return raw, 1
}
