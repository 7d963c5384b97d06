package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"rota/internal/admin"
)

// place says where in a partition: start, end, last:N, offset:N, by:N, a time,
// or a duration before now.
type place struct {
	kind string
	n    int64
	at   time.Time
}

// placeHelp describes a place in help texts.
const placeHelp = "start, end, last:N, offset:N, a time as 2006-01-02T15:04:05Z, or how long ago as 90m"

// UnmarshalText reads a place.
func (p *place) UnmarshalText(text []byte) error {
	s := string(text)
	kind, number, found := strings.Cut(s, ":")
	switch {
	case s == "start" || s == "end":
		p.kind = s
		return nil
	case found && (kind == "last" || kind == "offset" || kind == "by"):
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil || n < 0 && kind != "by" {
			return fmt.Errorf("%q is not a number of records", number)
		}
		p.kind, p.n = kind, n
		return nil
	}
	p.kind = "time"
	if ago, err := time.ParseDuration(s); err == nil && ago >= 0 {
		p.n = int64(ago)
		return nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02"} {
		if at, err := time.ParseInLocation(layout, s, time.Local); err == nil {
			p.at = at
			return nil
		}
	}
	return fmt.Errorf("%q is none of %s", s, placeHelp)
}

// time is when, for a place in time.
func (p *place) time() time.Time {
	if p.at.IsZero() {
		return time.Now().Add(-time.Duration(p.n))
	}
	return p.at
}

// resolve turns the place into an offset of each partition, within its bounds.
// by is what by:N counts from.
func (p *place) resolve(ctx context.Context, cluster *admin.Cluster, of map[string][]int32, by map[admin.TopicPartition]int64) (map[admin.TopicPartition]int64, error) {
	starts, err := cluster.Offsets(ctx, of, admin.Start)
	if err != nil {
		return nil, err
	}
	ends, err := cluster.Offsets(ctx, of, admin.End)
	if err != nil {
		return nil, err
	}
	var timed map[admin.TopicPartition]admin.At
	if p.kind == "time" {
		if timed, err = cluster.Offsets(ctx, of, p.time().UnixMilli()); err != nil {
			return nil, err
		}
	}
	offsets := make(map[admin.TopicPartition]int64, len(ends))
	for tp, end := range ends {
		start := starts[tp]
		for _, at := range []admin.At{start, end, timed[tp]} {
			if at.Err != nil {
				return nil, at.Err
			}
		}
		to := p.n
		switch p.kind {
		case "start":
			to = start.Offset
		case "end":
			to = end.Offset
		case "last":
			to = end.Offset - p.n
		case "by":
			from, known := by[tp]
			if !known {
				continue
			}
			to = from + p.n
		case "time":
			if to = timed[tp].Offset; to < 0 { // nothing is as young
				to = end.Offset
			}
		}
		offsets[tp] = min(max(to, start.Offset), end.Offset)
	}
	return offsets, nil
}
