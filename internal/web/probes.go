package web

import "net/http"

// livez answers whether the process should be left alone.
func (s *Server) livez(w http.ResponseWriter, _ *http.Request) {
	select {
	case <-s.c.Failed:
		http.Error(w, "the broker cannot serve any more; its log says why", http.StatusServiceUnavailable)
	default:
		sayOK(w)
	}
}

// readyz answers whether clients should be sent here.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	select {
	case <-s.ended:
		http.Error(w, "the broker is stopping", http.StatusServiceUnavailable)
		return
	default:
	}
	if !s.c.Survey.Ready() {
		http.Error(w, "groups are still being loaded", http.StatusServiceUnavailable)
		return
	}
	s.livez(w, r)
}

func sayOK(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte("ok\n")) // whoever asked is gone
}
