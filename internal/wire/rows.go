package wire

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/api"
	"rota/internal/meter"
)

// row is what a connection needs to know of one API.
type row struct {
	api.API
	produce bool
	budget  func(*Server) *budget
	// layouts holds the compiled shape of each version from Min on, once it
	// has been asked for: hardly anybody speaks them all.
	layouts []atomic.Pointer[layout]
	// requests keeps decoded requests of the APIs that are called most.
	requests sync.Pool
	reset    func(kmsg.Request)
	// latency is how long calls took, from their arrival until their reply was
	// written.
	latency meter.Durations
}

// layout is what a request of one version looks like.
type layout struct {
	parts    []part
	flexible bool
}

func newRows(table []api.API) []*row {
	top := slices.MaxFunc(table, func(a, b api.API) int { return int(a.Key) - int(b.Key) }).Key
	rows := make([]*row, top+1)
	for _, a := range table {
		r := &row{API: a, produce: a.Key == kmsg.Produce, reset: resets[a.Key]}
		r.layouts = make([]atomic.Pointer[layout], a.Max-a.Min+1)
		r.budget = func(s *Server) *budget { return &s.group }
		if a.Class == api.OverlapsData {
			r.budget = func(s *Server) *budget { return &s.data }
		}
		rows[a.Key] = r
	}
	return rows
}

// layout returns the layout of a version that is served.
func (r *row) layout(version int16) *layout {
	slot := &r.layouts[version-r.Min]
	l := slot.Load()
	if l == nil {
		req := r.Key.Request()
		req.SetVersion(version)
		l = &layout{compile(r.Key, version), req.IsFlexible()}
		slot.Store(l) // whoever else made one made the same
	}
	return l
}

// serves says whether requests of the version are decoded. ApiVersions is
// answered at any version.
func (r *row) serves(version int16) bool { return version >= r.Min && version <= r.Max }

// request returns an empty request of the version.
func (r *row) request(version int16) kmsg.Request {
	req, ok := r.requests.Get().(kmsg.Request)
	if !ok {
		req = r.Key.Request()
	}
	req.SetVersion(version)
	return req
}

// recycle takes a request back whose call has been answered.
func (r *row) recycle(req kmsg.Request) {
	if r.reset == nil || req == nil {
		return
	}
	r.reset(req)
	r.requests.Put(req)
}

// resets empties requests for their next use, all but the memory of their
// largest array. Decoding writes only the fields of its version, so nothing
// else may be left.
var resets = map[kmsg.Key]func(kmsg.Request){
	kmsg.Produce: func(r kmsg.Request) {
		if r, ok := r.(*kmsg.ProduceRequest); ok {
			*r = kmsg.ProduceRequest{Topics: emptied(r.Topics)}
		}
	},
	kmsg.Fetch: func(r kmsg.Request) {
		if r, ok := r.(*kmsg.FetchRequest); ok {
			*r = kmsg.FetchRequest{Topics: emptied(r.Topics)}
		}
	},
	kmsg.OffsetCommit: func(r kmsg.Request) {
		if r, ok := r.(*kmsg.OffsetCommitRequest); ok {
			*r = kmsg.OffsetCommitRequest{Topics: emptied(r.Topics)}
		}
	},
	kmsg.JoinGroup: func(r kmsg.Request) {
		if r, ok := r.(*kmsg.JoinGroupRequest); ok {
			*r = kmsg.JoinGroupRequest{Protocols: emptied(r.Protocols)}
		}
	},
	kmsg.SyncGroup: func(r kmsg.Request) {
		if r, ok := r.(*kmsg.SyncGroupRequest); ok {
			*r = kmsg.SyncGroupRequest{GroupAssignment: emptied(r.GroupAssignment)}
		}
	},
	kmsg.Heartbeat: func(r kmsg.Request) {
		if r, ok := r.(*kmsg.HeartbeatRequest); ok {
			*r = kmsg.HeartbeatRequest{}
		}
	},
}

// emptied returns s without elements, or nil if it is too large to be kept.
func emptied[T any](s []T) []T {
	const most = 256
	if cap(s) > most {
		return nil
	}
	clear(s)
	return s[:0]
}
