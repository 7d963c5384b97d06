package catalog

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Kind is the type of a setting's value. The numbers are those of
// DescribeConfigs.
type Kind uint8

// The kinds of settings.
const (
	KindBool   Kind = 1
	KindString Kind = 2 // one of Values
	KindInt    Kind = 3 // 32 bits
	KindLong   Kind = 5 // 64 bits
	KindDouble Kind = 6
	KindList   Kind = 7 // words separated by commas
)

// Effect says what comes of a topic setting.
type Effect uint8

const (
	// Honoured settings do what Kafka's documentation says.
	Honoured Effect = iota
	// Kept settings are checked, kept and reported, and change nothing: they
	// are about replicas, and durability comes from the medium.
	Kept
	// Fixed settings accept their default value only: asking for anything
	// else would ask for something that this broker does not do.
	Fixed
)

// Synonym is a broker setting that a topic setting falls back to.
type Synonym struct {
	Name string
	// Unit is what the value counts, 0 if it is the same as the topic's.
	Unit time.Duration
}

// TopicKey describes one topic setting.
type TopicKey struct {
	Name    string
	Kind    Kind
	Default string
	Effect  Effect
	// Min and Max bound an Int or a Long. A Double lies between 0 and 1.
	Min, Max int64
	// Also is a number outside of Min and Max that is allowed too, if it is
	// not 0.
	Also int64
	// Values are the words that a String or List may have; nil: see check.
	Values []string
	// Synonyms are the broker settings behind it, the one that holds first.
	Synonyms []Synonym
	// Doc says in a line what the setting does.
	Doc string
	// check replaces the check of a List without Values.
	check func(value string) bool
}

// TopicKeys lists every topic setting, by name.
func TopicKeys() []TopicKey { return slices.Clone(topicKeys) }

// TopicKeyNamed finds the topic setting of that name.
func TopicKeyNamed(name string) (TopicKey, bool) {
	i, ok := slices.BinarySearchFunc(topicKeys, name, func(k TopicKey, name string) int {
		return cmp.Compare(k.Name, name)
	})
	if !ok {
		return TopicKey{}, false
	}
	return topicKeys[i], true
}

// WriteTopicConfigDoc writes the table of topic settings as Markdown.
func WriteTopicConfigDoc(w io.Writer) error {
	var b strings.Builder
	b.WriteString("| Setting | Type | Default | Values | Broker setting | |\n|---|---|---|---|---|---|\n")
	for _, k := range topicKeys {
		doc := k.Doc
		switch k.Effect {
		case Honoured:
		case Kept:
			doc += " Kept and reported, without effect."
		case Fixed:
			doc += " Only the default is accepted."
		}
		var synonyms []string
		for _, s := range k.Synonyms {
			synonyms = append(synonyms, "`"+s.Name+"`")
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", k.Name, k.Kind, code(k.Default), k.Range(), strings.Join(synonyms, ", "), doc)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func code(s string) string {
	if s == "" {
		return "empty"
	}
	return "`" + s + "`"
}

// String returns the kind as the documentation names it.
func (k Kind) String() string {
	switch k {
	case KindBool:
		return "boolean"
	case KindString:
		return "string"
	case KindInt:
		return "int"
	case KindLong:
		return "long"
	case KindDouble:
		return "double"
	case KindList:
		return "list"
	}
	return "unknown"
}
