package web

import (
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"rota/internal/survey"
)

// perPage is how many lines a list shows at a time.
const perPage = 100

// list is what every list has: its filter, its order and its pages.
type list struct {
	Path    string
	Query   string
	Sort    string
	Page    int
	Pages   int
	Total   int // that match
	Of      int // in all
	filters url.Values
}

// newList reads what a request asks of a list.
func newList(r *http.Request, filters ...string) *list {
	q := r.URL.Query()
	l := &list{Path: r.URL.Path, Query: q.Get("q"), Sort: q.Get("sort"), filters: url.Values{}}
	l.Page, _ = strconv.Atoi(q.Get("page")) // anything but a number is the first
	for _, name := range append(filters, "q", "sort") {
		if v := q.Get(name); v != "" {
			l.filters.Set(name, v)
		}
	}
	return l
}

// turn sets the number of lines and returns the part to show.
func turn[T any](l *list, all []T, of int) []T {
	l.Total, l.Of = len(all), of
	l.Pages = max((len(all)+perPage-1)/perPage, 1)
	l.Page = min(max(l.Page, 1), l.Pages)
	return part(all, (l.Page-1)*perPage, perPage)
}

// link is the list with one thing changed.
func (l *list) link(name, value string) string {
	q := maps.Clone(l.filters)
	q.Set(name, value)
	if value == "" {
		q.Del(name)
	}
	if len(q) == 0 {
		return l.Path
	}
	return l.Path + "?" + q.Encode()
}

// SortLink sorts by a column, the other way round if that is how it is sorted.
func (l *list) SortLink(column string) string {
	by := column
	switch {
	case l.Sort == "-"+column:
	case l.Sort == column, column != "id" && column != "name" && column != "state":
		by = "-" + column
	}
	return l.link("sort", by)
}

// Sorted is "ascending" or "descending" for the column that the list is sorted by.
func (l *list) Sorted(column string) string {
	switch {
	case l.Sort == column, l.Sort == "" && (column == "id" || column == "name"):
		return "ascending"
	case l.Sort == "-"+column:
		return "descending"
	}
	return "none"
}

// PageLink is another page of the list.
func (l *list) PageLink(page int) string { return l.link("page", strconv.Itoa(page)) }

// Next and Before are the pages beside this one, 0 if there is none.
func (l *list) Next() int {
	if l.Page < l.Pages {
		return l.Page + 1
	}
	return 0
}

// Before is the page before this one.
func (l *list) Before() int { return l.Page - 1 }

// StateLink filters by state; the state that is chosen is let go.
func (l *list) StateLink(state string) string {
	if strings.EqualFold(l.filters.Get("state"), state) {
		state = ""
	}
	return l.link("state", state)
}

// State is the state that is chosen.
func (l *list) State() string { return l.filters.Get("state") }

// groupsData is what the list of groups shows.
type groupsData struct {
	*list
	Groups []survey.Group
	// Of all groups.
	States     map[string]int
	Moving     int // in a rebalance
	Members    int
	Lag        int64
	Rebalances int
	// MostLag is the largest on this page.
	MostLag int64
}

func (s *Server) showGroups(r *http.Request) (*view, error) {
	all, err := s.c.Survey.Groups(r.Context())
	if err != nil {
		return nil, err
	}
	d := &groupsData{list: newList(r, "state"), States: map[string]int{}}
	for i := range all {
		g := &all[i]
		d.States[g.State]++
		d.Members += g.Members
		d.Lag += g.Lag
		d.Rebalances += g.Rebalances
	}
	d.Moving = d.States["PreparingRebalance"] + d.States["CompletingRebalance"]
	of := len(all)
	all = chooseGroups(all, d.Query, d.State())
	sortGroups(all, d.Sort)
	d.Groups = turn(d.list, all, of)
	s.c.Survey.Date(d.Groups)
	for i := range d.Groups {
		d.MostLag = max(d.MostLag, d.Groups[i].Lag)
	}
	return &view{Title: "Groups", Nav: "groups", Main: "groups.html", Data: d, Live: true}, nil
}
