package coordinator

import (
	"github.com/twmb/franz-go/pkg/kerr"

	"rota/internal/group"
	"rota/internal/machine"
)

// The codes that the shell itself answers with.
var (
	codeUnknownServerError        = machine.Code(kerr.UnknownServerError.Code)
	codeCoordinatorLoadInProgress = machine.Code(kerr.CoordinatorLoadInProgress.Code)
	codeCoordinatorNotAvailable   = machine.Code(kerr.CoordinatorNotAvailable.Code)
	codeNotCoordinator            = machine.Code(kerr.NotCoordinator.Code)
	codeInvalidRequest            = machine.Code(kerr.InvalidRequest.Code)
	codeInvalidGroupID            = machine.Code(kerr.InvalidGroupID.Code)
	codeInvalidSessionTimeout     = machine.Code(kerr.InvalidSessionTimeout.Code)
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

// refusedBefore is the code of a request that is refused whatever its shard's
// state, or 0.
func refusedBefore(id string, req group.Request, c *group.Config) machine.Code {
	if id == "" && !takesEmptyID(req) {
		return codeInvalidGroupID
	}
	if j, ok := req.(group.Join); ok && (j.SessionTimeout < c.MinSessionTimeout || j.SessionTimeout > c.MaxSessionTimeout) {
		return codeInvalidSessionTimeout
	}
	return 0
}
