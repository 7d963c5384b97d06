package web

import (
	"unicode/utf8"

	"rota/internal/display"
)

// drawing is an SVG picture as a list of shapes. Colours are classes, so that
// the style sheet decides about light and dark.
type drawing struct {
	W, H int
	// Class is wide or narrow: each picture is laid out for both, and the style
	// sheet shows the one that fits.
	Class string
	// Title and Desc say in words what the picture shows.
	Title, Desc string
	Shapes      []shape
}

// shape is one element. Kind is rect, line, text or path.
type shape struct {
	Kind       string
	X, Y, W, H float64 // of a line: from X,Y to W,H
	R          float64 // radius of corners
	D          string  // of a path
	Class      string
	Text       string
	// Title is the tooltip, made harmless.
	Title string
	// Href makes a link of it.
	Href string
}

func (d *drawing) rect(x, y, w, h, r float64, class, title string) *shape {
	d.Shapes = append(d.Shapes, shape{Kind: "rect", X: x, Y: y, W: w, H: h, R: r, Class: class, Title: display.Prose(title)})
	return &d.Shapes[len(d.Shapes)-1]
}

func (d *drawing) line(x1, y1, x2, y2 float64, class string) {
	d.Shapes = append(d.Shapes, shape{Kind: "line", X: x1, Y: y1, W: x2, H: y2, Class: class})
}

func (d *drawing) path(p, class string) {
	d.Shapes = append(d.Shapes, shape{Kind: "path", D: p, Class: class})
}

func (d *drawing) text(x, y float64, class, text string) {
	d.Shapes = append(d.Shapes, shape{Kind: "text", X: x, Y: y, Class: class, Text: text})
}

// letter is about how wide a letter of the pictures is, in units of a drawing.
const letter = 6.6

// fit cuts text to a width. All of it is made harmless.
func fit(s string, width float64) string {
	most := max(int(width/letter), 1)
	s = display.One(s, 200)
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	runes := []rune(s)
	return string(runes[:max(most-1, 1)]) + "\u2026"
}

// widthOf is about how wide a text is.
func widthOf(s string) float64 { return letter * float64(utf8.RuneCountInString(s)) }
