package web

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"

	"rota/internal/survey"
)

//go:embed templates/*.html
var templateFiles embed.FS

//go:embed assets
var assetFiles embed.FS

// view is what one page shows.
type view struct {
	// Title is the page's, Nav the part of the navigation that it belongs to,
	// Main the template of its main part, Data what that template gets.
	Title, Nav, Main string
	Data             any
	// Live says that the page changes while it is looked at.
	Live bool
}

// show makes the view of a request.
type show func(*http.Request) (*view, error)

// shows lists the pages by path.
func (s *Server) shows() map[string]show {
	return map[string]show{
		"/{$}":    s.showGroups,
		"/group":  s.showGroup,
		"/topics": s.showTopics,
		"/topic":  s.showTopic,
		"/broker": s.showBroker,
	}
}

// pages holds the templates, which are parsed when the first page is asked for.
type pages struct {
	parsed func() *template.Template
}

func newPages() *pages {
	return &pages{parsed: sync.OnceValue(func() *template.Template {
		return template.Must(template.New("").Funcs(functions()).ParseFS(templateFiles, "templates/*.html"))
	})}
}

// main renders the main part of a view.
func (p *pages) main(v *view) ([]byte, error) {
	var b bytes.Buffer
	err := p.parsed().ExecuteTemplate(&b, v.Main, v.Data)
	return b.Bytes(), err
}

// layout is what the frame around the main part gets.
type layout struct {
	*view
	Content template.HTML
	// Live is the address of the stream that keeps the page up to date.
	Stream string
	About  *About
}

// page serves one page.
func (s *Server) page(show show) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, err := show(r)
		status := http.StatusOK
		if err != nil {
			status = statusOf(err)
			v = errorView(err, r)
		}
		s.write(w, r, status, v)
	}
}

// write sends a whole page.
func (s *Server) write(w http.ResponseWriter, r *http.Request, status int, v *view) {
	main, err := s.pages.main(v)
	var b bytes.Buffer
	if err == nil {
		l := layout{view: v, Content: template.HTML(main), About: &s.c.About} //nolint:gosec // it comes from a template
		if v.Live {
			l.Stream = "/live?" + url.Values{"page": {r.URL.RequestURI()}}.Encode()
		}
		err = s.pages.parsed().ExecuteTemplate(&b, "layout.html", l)
	}
	if err != nil {
		s.c.Log.Error("a page cannot be put together; this is a bug", "path", r.URL.Path, "err", err)
		http.Error(w, "this page cannot be put together", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // whoever asked is gone
}

func errorView(err error, r *http.Request) *view {
	title := "Not found"
	if !errors.Is(err, survey.ErrUnknown) {
		title = "Not now"
	}
	return &view{Title: title, Main: "error.html", Data: map[string]any{
		"Title": title, "What": err.Error(), "Name": r.FormValue("id") + r.FormValue("name"),
		// A group that is being loaded, or that a member is about to make, comes.
		"Path": r.URL.RequestURI(),
	}, Live: true}
}

func (s *Server) notFound(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "this page only reads", http.StatusMethodNotAllowed)
		return
	}
	v := errorView(survey.ErrUnknown, r)
	v.Live = false
	s.write(w, r, http.StatusNotFound, v)
}

var assetTypes = map[string]string{
	".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
}

// asset serves an embedded file.
func (s *Server) asset(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	b, err := assetFiles.ReadFile("assets/" + path.Base(name))
	kind := assetTypes[path.Ext(name)]
	if err != nil || kind == "" {
		s.notFound(w, r)
		return
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "max-age=60")
	_, _ = w.Write(b) // whoever asked is gone
}

// find returns the page of a path with its query, for a stream.
func (s *Server) find(page string) (show, *http.Request, error) {
	u, err := url.ParseRequestURI(page)
	if err != nil || !strings.HasPrefix(page, "/") {
		return nil, nil, fmt.Errorf("%w: page is a path of this site", errBadRequest)
	}
	key := u.Path
	if key == "/" {
		key = "/{$}"
	}
	show, ok := s.shows()[key]
	if !ok {
		return nil, nil, survey.ErrUnknown
	}
	return show, &http.Request{Method: http.MethodGet, URL: &url.URL{Path: u.Path, RawQuery: u.RawQuery}}, nil
}
