package scenario

import (
	"errors"
	"slices"
	"strconv"
	"strings"
)

// splitWords cuts a line at spaces that stand outside quotes, brackets and
// parentheses.
func splitWords(text string) ([]string, error) {
	var words []string
	start, depth := -1, 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '"':
			if start < 0 {
				start = i
			}
			end := closingQuote(text, i)
			if end < 0 {
				return nil, errors.New("quote without end")
			}
			i = end
		case ' ', '\t':
			if start >= 0 && depth == 0 {
				words = append(words, text[start:i])
				start = -1
			}
		default:
			if start < 0 {
				start = i
			}
			switch c {
			case '(', '[':
				depth++
			case ')', ']':
				depth--
			}
			if depth < 0 {
				return nil, errors.New("closing bracket without an opening one")
			}
		}
	}
	if depth != 0 {
		return nil, errors.New("bracket without end")
	}
	if start >= 0 {
		words = append(words, text[start:])
	}
	return words, nil
}

// closingQuote returns the index of the quote that ends the one at i, or -1.
func closingQuote(text string, i int) int {
	for j := i + 1; j < len(text); j++ {
		switch text[j] {
		case '\\':
			j++
		case '"':
			return j
		}
	}
	return -1
}

// cutOutside splits a word at the first sep outside quotes and brackets.
func cutOutside(word string, sep byte) (before, after string, found bool) {
	if i := indexOutside(word, sep); i >= 0 {
		return word[:i], word[i+1:], true
	}
	return word, "", false
}

// splitOutside splits a word at every sep outside quotes and brackets.
func splitOutside(word string, sep byte) []string {
	var parts []string
	for {
		before, after, found := cutOutside(word, sep)
		parts = append(parts, before)
		if !found {
			return parts
		}
		word = after
	}
}

func indexOutside(word string, sep byte) int {
	depth := 0
	for i := 0; i < len(word); i++ {
		if depth == 0 && word[i] == sep {
			return i
		}
		switch word[i] {
		case '"':
			end := closingQuote(word, i)
			if end < 0 {
				return -1
			}
			i = end
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		}
	}
	return -1
}

// unquote returns what a word means: the text inside its quotes, or itself.
func unquote(word string) (string, error) {
	if !strings.HasPrefix(word, `"`) {
		return word, nil
	}
	text, err := strconv.Unquote(word)
	if err != nil {
		return "", errors.New("bad quoted text " + word)
	}
	return text, nil
}

// quote returns the word that means text: text itself if it is plain.
func quote(text string) string {
	if isPlain(text) {
		return text
	}
	return strconv.QuoteToASCII(text)
}

// isPlain reports whether text needs no quotes as a word or as a member of a
// list.
func isPlain(text string) bool {
	for i := 0; i < len(text); i++ {
		c := text[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && (i == 0 || !strings.ContainsRune("_.-", rune(c))) {
			return false
		}
	}
	return text != ""
}

// sortedWords is a form of words in which their order and that of member lists
// is lost.
func sortedWords(words []string) string {
	sorted := slices.Clone(words)
	for i, w := range sorted {
		if list, ok := strings.CutPrefix(w, "members="); ok {
			entries := splitOutside(list, ',')
			slices.Sort(entries)
			sorted[i] = "members=" + strings.Join(entries, ",")
		}
	}
	slices.Sort(sorted)
	return strings.Join(sorted, " ")
}
