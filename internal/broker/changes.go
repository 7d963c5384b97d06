package broker

import (
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Op says what a Change does. The numbers are those of IncrementalAlterConfigs.
type Op int8

const (
	// Set gives the setting that value.
	Set Op = 0
	// Unset removes what was set, so that the default holds again.
	Unset Op = 1
	// Append adds words to a list: to what was set or, if nothing was, to the
	// default.
	Append Op = 2
	// Subtract takes words from a list.
	Subtract Op = 3
)

// Change is one step of an alteration of settings.
type Change struct {
	Name string
	Op   Op
	// Value is nil for Unset only.
	Value *string
}

// Alteration is what is to be done to the settings of one topic or broker.
type Alteration struct {
	Changes []Change
	// Replace takes Changes, all of them Set, as the whole of what is to be
	// set: what they do not name is unset.
	Replace bool
	// ValidateOnly checks everything and changes nothing.
	ValidateOnly bool
}

// against returns what the alteration makes of what is set: a value for each
// setting that changes, nil where it is unset. held says which value a setting
// has now, and whether it is a list. Whether the values are right is not
// checked. Errors: a *RefusalError.
func (a Alteration) against(set map[string]string, held func(name string) (value string, list bool)) (map[string]*string, error) {
	diff := make(map[string]*string)
	named := make(map[string]bool, len(a.Changes))
	for _, c := range a.Changes {
		if named[c.Name] {
			return nil, Refuse(kerr.InvalidRequest, "The request names the setting %s more than once.", c.Name)
		}
		named[c.Name] = true
		if c.Value == nil && c.Op != Unset {
			return nil, Refuse(kerr.InvalidRequest, "The setting %s has no value.", c.Name)
		}
		if c.Op < Set || c.Op > Subtract {
			return nil, Refuse(kerr.InvalidRequest, "There is no operation %d on settings.", c.Op)
		}
		value, err := c.result(held)
		if err != nil {
			return nil, err
		}
		diff[c.Name] = value
	}
	if a.Replace {
		for name := range set {
			if !named[name] {
				diff[name] = nil
			}
		}
	}
	for name, value := range diff {
		if old, ok := set[name]; value == nil && !ok || value != nil && ok && *value == old {
			delete(diff, name)
		}
	}
	return diff, nil
}

// result is the value that the change leaves, nil for none.
func (c Change) result(held func(name string) (string, bool)) (*string, error) {
	switch c.Op {
	case Unset:
		return nil, nil
	case Set:
		value := strings.TrimSpace(*c.Value)
		return &value, nil
	case Append, Subtract:
	}
	value, list := held(c.Name)
	if !list {
		return nil, Refuse(kerr.InvalidConfig, "%s is not a list: nothing can be added to it or taken away.", c.Name)
	}
	words := splitList(value)
	for _, word := range splitList(*c.Value) {
		at := slices.Index(words, word)
		switch {
		case c.Op == Append && at < 0:
			words = append(words, word)
		case c.Op == Subtract && at >= 0:
			words = slices.Delete(words, at, at+1)
		}
	}
	joined := strings.Join(words, ",")
	return &joined, nil
}

// splitList takes a list of words apart; empty ones do not count.
func splitList(value string) []string {
	var words []string
	for word := range strings.SplitSeq(value, ",") {
		if word = strings.TrimSpace(word); word != "" {
			words = append(words, word)
		}
	}
	return words
}

// merged is what is set once diff has been applied.
func merged(set map[string]string, diff map[string]*string) map[string]string {
	after := make(map[string]string, len(set)+len(diff))
	maps.Copy(after, set)
	for name, value := range diff {
		if value == nil {
			delete(after, name)
		} else {
			after[name] = *value
		}
	}
	return after
}
