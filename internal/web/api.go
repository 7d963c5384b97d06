package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"rota/internal/display"
	"rota/internal/lag"
	"rota/internal/survey"
)

// api lists the paths below /api/v1 that answer one JSON value.
func (s *Server) api() map[string]func(*http.Request) (any, error) {
	return map[string]func(*http.Request) (any, error){
		"groups":     s.apiGroups,
		"group":      func(r *http.Request) (any, error) { return s.c.Survey.GroupNamed(r.FormValue("id")) },
		"rebalances": s.apiRebalances,
		"lag":        s.apiLag,
		"topics":     s.apiTopics,
		"topic":      func(r *http.Request) (any, error) { return s.c.Survey.TopicNamed(r.FormValue("name")) },
		"broker":     func(*http.Request) (any, error) { return s.broker(true), nil },
	}
}

// answer writes what get returns.
func answer(get func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, err := get(r)
		if err != nil {
			writeError(w, statusOf(err), err.Error())
			return
		}
		writeJSON(w, http.StatusOK, v)
	}
}

// errBadRequest wraps what a request has wrong.
var errBadRequest = errors.New("bad request")

func statusOf(err error) int {
	switch {
	case errors.Is(err, survey.ErrUnknown):
		return http.StatusNotFound
	case errors.Is(err, survey.ErrLoading):
		return http.StatusServiceUnavailable
	case errors.Is(err, errBadRequest):
		return http.StatusBadRequest
	}
	return http.StatusInternalServerError
}

func writeError(w http.ResponseWriter, status int, why string) {
	writeJSON(w, status, map[string]string{"error": why})
}

// writeJSON writes a value, harmless for a terminal that shows it.
func writeJSON(w http.ResponseWriter, status int, v any) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	if err := e.Encode(v); err != nil {
		http.Error(w, "cannot be written as JSON", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(display.JSON(b.Bytes())) // whoever asked is gone
}

// groupList is the answer of /api/v1/groups.
type groupList struct {
	// Total is how many groups match, Groups those from offset on.
	Total  int            `json:"total"`
	Offset int            `json:"offset"`
	Groups []survey.Group `json:"groups"`
}

func (s *Server) apiGroups(r *http.Request) (any, error) {
	offset, limit, err := window(r.URL.Query())
	if err != nil {
		return nil, err
	}
	all, err := s.c.Survey.Groups(r.Context())
	if err != nil {
		return nil, err
	}
	all = chooseGroups(all, r.FormValue("q"), r.FormValue("state"))
	sortGroups(all, r.FormValue("sort"))
	shown := part(all, offset, limit)
	s.c.Survey.Date(shown)
	return groupList{len(all), offset, shown}, nil
}

// topicList is the answer of /api/v1/topics.
type topicList struct {
	Total  int            `json:"total"`
	Offset int            `json:"offset"`
	Topics []survey.Topic `json:"topics"`
}

func (s *Server) apiTopics(r *http.Request) (any, error) {
	offset, limit, err := window(r.URL.Query())
	if err != nil {
		return nil, err
	}
	all := chooseTopics(s.c.Survey.Topics(), r.FormValue("q"), r.FormValue("internal") != "false")
	sortTopics(all, r.FormValue("sort"))
	return topicList{len(all), offset, part(all, offset, limit)}, nil
}

// window reads offset and limit; without a limit there is none.
func window(q url.Values) (offset, limit int, err error) {
	offset, limit = 0, -1
	for name, into := range map[string]*int{"offset": &offset, "limit": &limit} {
		text := q.Get(name)
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return 0, 0, fmt.Errorf("%w: %s is a number from 0 on", errBadRequest, name)
		}
		*into = n
	}
	return offset, limit, nil
}

// part is the window of a list.
func part[T any](all []T, offset, limit int) []T {
	all = all[min(offset, len(all)):]
	if limit >= 0 {
		all = all[:min(limit, len(all))]
	}
	if all == nil {
		return []T{}
	}
	return all
}

// apiLag judges the partitions of a group.
func (s *Server) apiLag(r *http.Request) (any, error) {
	id := r.FormValue("group")
	list, err := s.lags.Group(id)
	if err != nil {
		return nil, err
	}
	return map[string]any{"group": id, "verdict": lag.Worst(list), "partitions": list}, nil
}

// apiRebalances tells the recent rebalances of a group, or one of them, with
// what is said of each on the page.
func (s *Server) apiRebalances(r *http.Request) (any, error) {
	id, key := r.FormValue("group"), r.FormValue("key")
	if key != "" {
		one, err := s.c.Survey.Rebalance(id, key)
		if err != nil {
			return nil, err
		}
		return told(one), nil
	}
	list := []toldRebalance{}
	for _, b := range s.c.Survey.Past(id) {
		list = append(list, told(&b))
	}
	return map[string]any{"group": id, "rebalances": list}, nil
}
