package web

import (
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"time"

	"rota/internal/display"
	"rota/internal/story"
)

// functions are what templates can call.
func functions() template.FuncMap {
	return template.FuncMap{
		"text":    text,
		"num":     num,
		"bytes":   byteText,
		"clock":   clock,
		"iso":     iso,
		"took":    func(m story.Millis) string { return story.Took(time.Duration(m)) },
		"age":     ageText,
		"seconds": secondsText,
		"ranges":  story.Ranges,
		"cause":   causeText,
		"tint":    causeClass,
		"host":    func(s string) string { return text(strings.TrimPrefix(s, "/")) },
		"plural":  plural,
		"bar":     bar,
		"rate":    func(r *float64) string { return strconv.FormatFloat(*r, 'f', 1, 64) },
		"meaning": func(state string) string { return stateMeaning[state] },
		"phase":   phaseWord,
	}
}

// text makes text of strangers harmless to a reader: what does not print as
// itself is escaped. html/template makes it harmless to the browser.
func text(s string) string { return display.One(s, 300) }

// num writes a number in groups of three digits.
func num(v any) string {
	s := fmt.Sprint(v)
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	var b strings.Builder
	for i, r := range s {
		if i > 0 && (len(s)-i)%3 == 0 {
			b.WriteString("\u2009")
		}
		b.WriteRune(r)
	}
	return sign + b.String()
}

// byteText writes a size.
func byteText(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	f, i := float64(n), 0
	for f >= 1024 && i < len(units)-1 {
		f /= 1024
		i++
	}
	if i == 0 || f >= 100 {
		return strconv.FormatFloat(f, 'f', 0, 64) + " " + units[i]
	}
	return strconv.FormatFloat(f, 'f', 1, 64) + " " + units[i]
}

// clock writes a time for readers without JavaScript; with it, it becomes "12 s
// ago" in the reader's own time zone.
func clock(ms int64) string {
	if ms <= 0 {
		return "unknown"
	}
	return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04:05 UTC")
}

func iso(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }

// secondsText writes a latency in seconds.
func secondsText(s float64) string {
	d := time.Duration(s * float64(time.Second))
	switch {
	case d == 0:
		return "0"
	case d < time.Millisecond:
		return strconv.FormatInt(d.Microseconds(), 10) + " us"
	case d < time.Second:
		return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'g', 3, 64) + " ms"
	}
	return strconv.FormatFloat(d.Seconds(), 'g', 3, 64) + " s"
}

// ageText writes how old something is: short, for tables.
func ageText(m story.Millis) string {
	d := time.Duration(m)
	days, hours, minutes := int(d.Hours())/24, int(d.Hours())%24, int(d.Minutes())%60
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%dd%dh", days, hours)
	case d >= time.Hour:
		return fmt.Sprintf("%dh%dm", int(d.Hours()), minutes)
	case d >= time.Minute:
		return fmt.Sprintf("%dm%ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return story.Took(d)
}

func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return num(n) + " " + one + "s"
}

// bar is the width of a bar, of 100, for v where most is the largest.
func bar(v, most int64) float64 {
	if v <= 0 || most <= 0 {
		return 0
	}
	return max(float64(v)*100/float64(most), 1.5)
}

// phaseWord is the state of a group in one plain word.
func phaseWord(state string) string {
	switch state {
	case "PreparingRebalance":
		return "joining"
	case "CompletingRebalance":
		return "assigning"
	}
	return strings.ToLower(state)
}
