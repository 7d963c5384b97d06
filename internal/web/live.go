package web

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"net/http"
	"time"

	"rota/internal/story"
)

const (
	// maxViewers bounds the streams that are open at a time.
	maxViewers = 100
	// rest is the pause between two updates of a page.
	rest = 150 * time.Millisecond
	// beat is how often a page is looked at though nothing was heard, and
	// fastBeat how often while a group rebalances.
	beat     = 2 * time.Second
	fastBeat = 400 * time.Millisecond
	// sign is how often an idle stream says that it is alive.
	sign = 15 * time.Second
	// writeTime bounds one write to a viewer.
	writeTime = 10 * time.Second
)

// stream is an open answer of server-sent events.
type stream struct {
	w   http.ResponseWriter
	c   *http.ResponseController
	req *http.Request
}

// open begins a stream, or refuses it.
func (s *Server) open(w http.ResponseWriter, r *http.Request) (*stream, bool) {
	if s.viewers.Add(1) > maxViewers {
		s.viewers.Add(-1)
		writeError(w, http.StatusServiceUnavailable, "too many streams are open")
		return nil, false
	}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	st := &stream{w, http.NewResponseController(w), r}
	if st.send("retry: 2000\n\n") != nil {
		s.viewers.Add(-1)
		return nil, false
	}
	return st, true
}

// send writes and pushes it out.
func (st *stream) send(text string) error {
	if err := st.c.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return err
	}
	if _, err := st.w.Write([]byte(text)); err != nil {
		return err
	}
	return st.c.Flush()
}

// event is one event as the stream carries it.
func event(name string, data []byte) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "event: %s\n", name)
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		b.WriteString("data: ")
		b.Write(bytes.TrimSuffix(line, []byte("\r")))
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	return b.String()
}

// live keeps a page up to date: it sends its main part whenever that is no
// longer what was sent last.
func (s *Server) live(w http.ResponseWriter, r *http.Request) {
	show, req, err := s.find(r.FormValue("page"))
	if err != nil {
		writeError(w, statusOf(err), err.Error())
		return
	}
	st, ok := s.open(w, r)
	if !ok {
		return
	}
	defer s.viewers.Add(-1)
	heard := make(chan struct{}, 1)
	if s.c.History != nil {
		stop := s.c.History.Watch(func(*story.Event) {
			select {
			case heard <- struct{}{}:
			default:
			}
		})
		defer stop()
	}
	req = req.WithContext(r.Context())
	seed, last := maphash.MakeSeed(), uint64(0)
	silent := time.Now()
	for {
		v, err := show(req)
		if err != nil {
			v = errorView(err, req)
		}
		main, err := s.pages.main(v)
		if err != nil {
			return
		}
		if sum := maphash.Bytes(seed, main); sum != last {
			if st.send(event("main", main)) != nil {
				return
			}
			last, silent = sum, time.Now()
		} else if time.Since(silent) > sign {
			if st.send(": here\n\n") != nil {
				return
			}
			silent = time.Now()
		}
		if !s.pause(r, heard, moving(v)) {
			return
		}
	}
}

// pause waits until a page may have changed, and reports false when the stream
// is over.
func (s *Server) pause(r *http.Request, heard <-chan struct{}, moving bool) bool {
	wait := beat
	if moving {
		wait = fastBeat
	}
	for _, d := range []time.Duration{rest, wait - rest} {
		timer := time.NewTimer(d)
		var woken <-chan struct{}
		if d != rest {
			woken = heard
		}
		select {
		case <-timer.C:
		case <-woken:
			timer.Stop()
			return true
		case <-r.Context().Done():
			timer.Stop()
			return false
		case <-s.ended:
			timer.Stop()
			return false
		}
	}
	return true
}

// moving reports whether a page shows a rebalance under way.
func moving(v *view) bool {
	switch d := v.Data.(type) {
	case *groupData:
		return d.State == "PreparingRebalance" || d.State == "CompletingRebalance"
	case *groupsData:
		return d.Moving > 0
	}
	return false
}

// events streams the events of one group, or of all, as JSON.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	if s.c.History == nil {
		writeError(w, http.StatusNotFound, "no history is kept: rota.history.enable is false")
		return
	}
	only, one := r.FormValue("group"), r.URL.Query().Has("group")
	// Before the stream is open: whoever sees that it is misses nothing from then on.
	waiting := make(chan []byte, 1024)
	stop := s.c.History.Watch(func(e *story.Event) {
		if one && e.Group != only {
			return
		}
		select {
		case waiting <- e.AppendJSON(nil):
		default: // this reader is too slow; the topic has them all
		}
	})
	defer stop()
	st, ok := s.open(w, r)
	if !ok {
		return
	}
	defer s.viewers.Add(-1)
	alive := time.NewTicker(sign)
	defer alive.Stop()
	for {
		text := ": here\n\n"
		select {
		case b := <-waiting:
			text = event("event", b)
		case <-alive.C:
		case <-r.Context().Done():
			return
		case <-s.ended:
			return
		}
		if st.send(text) != nil {
			return
		}
	}
}
