package coordinator

import (
	"github.com/twmb/franz-go/pkg/kerr"

	"rota/internal/group"
)

// The codes that the shell itself answers with.
var (
	codeUnknownServerError        = group.Code(kerr.UnknownServerError.Code)
	codeCoordinatorLoadInProgress = group.Code(kerr.CoordinatorLoadInProgress.Code)
	codeCoordinatorNotAvailable   = group.Code(kerr.CoordinatorNotAvailable.Code)
	codeNotCoordinator            = group.Code(kerr.NotCoordinator.Code)
	codeInvalidGroupID            = group.Code(kerr.InvalidGroupID.Code)
	codeInvalidSessionTimeout     = group.Code(kerr.InvalidSessionTimeout.Code)
)

// takesEmptyID reports whether a request may name the group "". Those that
// only keep and show offsets may: consumers without a group once used it.
func takesEmptyID(req group.Request) bool {
	switch req.(type) {
	case group.Commit, group.FetchOffsets, group.Describe, group.Delete:
		return true
	}
	return false
}

// mayWrite reports whether a request can put records into the log. A
// Heartbeat and the requests that only read go on while it takes none.
func mayWrite(req group.Request) bool {
	switch req.(type) {
	case group.Heartbeat, group.FetchOffsets, group.Describe:
		return false
	}
	return true
}

// refusedBefore is the code of a request that is refused whatever its shard's
// state, or 0.
func refusedBefore(id string, req group.Request, c *group.Config) group.Code {
	if id == "" && !takesEmptyID(req) {
		return codeInvalidGroupID
	}
	if j, ok := req.(group.Join); ok && (j.SessionTimeout < c.MinSessionTimeout || j.SessionTimeout > c.MaxSessionTimeout) {
		return codeInvalidSessionTimeout
	}
	return 0
}
