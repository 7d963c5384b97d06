package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"

	"rota/internal/storage"
)

// FetchedPartition is what a Fetch answers for one partition, beside the
// records.
type FetchedPartition struct {
	Topic TopicRef
	Index int32
	// Err is nil, an error of package storage, or a *kerr.Error.
	Err error
	// HighWatermark, LastStable and LogStart are -1 with an error.
	HighWatermark, LastStable, LogStart int64
	LeaderEpoch                         int32 // -1 if the log is not known
	Diverging                           *Divergence
	// Aborted is nil unless the isolation level is read_committed.
	Aborted []storage.Aborted

	asked *FetchPartition
}

// FetchReader reads the partitions of a Fetch, once its wait is over.
type FetchReader struct {
	f    *Fetch
	lend bool
	left int  // bytes of records that the answer may still have
	room int  // those of them that may be read
	any  bool // some partition has given records
}

// leastLent is from how many bytes on lending is worth its while.
const leastLent = 64 << 10

// mostBytes bounds the records of an answer, so that a connection's other
// requests do not wait for too long.
const mostBytes = 16 << 20

// Answers lists the partitions that the answer names, in order: all of them,
// or in an incremental session those with news. It is a list of what to Read.
func (f *Fetch) Answers() []*FetchPartition {
	chosen := make([]*FetchPartition, 0, len(f.parts))
	for i := range f.parts {
		if p := &f.parts[i]; !f.incremental || f.hasNews(p) {
			chosen = append(chosen, p)
		}
	}
	return chosen
}

// hasNews says whether there is anything that the consumer does not know.
func (f *Fetch) hasNews(p *FetchPartition) bool {
	n, err := f.available(p)
	if n > 0 || err != nil || p.diverging != nil {
		return true
	}
	b := p.log.Bounds()
	return b.HighWatermark != p.sentHW || b.Start != p.sentLogStart
}

// Reader returns a reader that reads at most limit bytes of records, but one
// batch in any case. One that may lend gives others to be read later.
func (f *Fetch) Reader(limit int, lend bool) *FetchReader {
	return &FetchReader{f: f, lend: lend, left: min(mostBytes, f.req.MaxBytes), room: limit}
}

// Lend returns the records of one partition as something that is to be read
// later, if that is worth it: they are many, and not in memory. If it is not,
// the stretch is nil, and Read must follow.
func (r *FetchReader) Lend(p *FetchPartition) (storage.Stretch, FetchedPartition) {
	if !r.lend || p.err != nil || p.diverging != nil || !p.log.Lends(p.Offset) {
		return nil, FetchedPartition{}
	}
	if n, err := r.f.available(p); err != nil || n < leastLent {
		return nil, FetchedPartition{}
	}
	// There was no room asked for to read these.
	limit := max(min(p.MaxBytes, r.left), 0)
	if limit < leastLent {
		r.room += limit
		return nil, FetchedPartition{}
	}
	st, info := p.log.Lend(p.Offset, storage.ReadOptions{MaxBytes: limit, Committed: r.f.req.Committed})
	if st == nil {
		r.room += limit
		return nil, FetchedPartition{}
	}
	out := FetchedPartition{Topic: p.Topic, Index: p.Index, LeaderEpoch: -1, asked: p}
	r.given(&out, info, st.Size())
	return st, out
}

// Read appends the records of one partition to dst. The first partition that
// has any gives one batch whatever the limits are: a consumer must get past a
// batch that is larger than them. When the limit is used up the others are
// empty.
func (r *FetchReader) Read(dst []byte, p *FetchPartition) ([]byte, FetchedPartition) {
	start := len(dst)
	out := FetchedPartition{Topic: p.Topic, Index: p.Index, Err: p.err, LeaderEpoch: -1, asked: p}
	var info storage.ReadInfo
	switch {
	case p.err != nil:
		if p.log != nil {
			out.LeaderEpoch = p.log.Bounds().Epoch
		}
	case p.diverging != nil:
		out.Diverging, info.Bounds = p.diverging, p.log.Bounds()
	default:
		dst, info, out.Err = p.log.Read(dst, p.Offset, storage.ReadOptions{
			MaxBytes:  max(min(p.MaxBytes, r.left, r.room), 0),
			Whole:     !r.any,
			Committed: r.f.req.Committed,
		})
	}
	n := len(dst) - start
	r.room -= n
	r.given(&out, info, n)
	return dst, out
}

// given notes that a partition gives n bytes of records.
func (r *FetchReader) given(out *FetchedPartition, info storage.ReadInfo, n int) {
	r.any = r.any || n > 0
	r.left -= n
	r.finish(out, info)
	if r.f.session != nil {
		r.f.session.sent(out.asked.key(), out.HighWatermark, out.LogStart, n > 0)
	}
}

// finish fills in the ends of the log.
func (r *FetchReader) finish(out *FetchedPartition, info storage.ReadInfo) {
	if isGone(out.Err) {
		// Whoever asks again learns whether the topic is gone or the broker.
		out.Err = kerr.NotLeaderForPartition
	}
	if out.Err != nil {
		out.HighWatermark, out.LastStable, out.LogStart = -1, -1, -1
		return
	}
	out.HighWatermark, out.LastStable, out.LogStart = info.HighWatermark, info.LastStable, info.Start
	out.LeaderEpoch = info.Epoch
	if r.f.req.Committed {
		out.Aborted = info.Aborted
		if out.Aborted == nil {
			out.Aborted = []storage.Aborted{}
		}
	}
}
