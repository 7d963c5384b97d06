package group

// Refuse returns the answer that refuses req with code c as a whole, in the
// form that its API prescribes: what the shell sends while a shard is loading
// or not led here, and for a group id that is not allowed. A Heartbeat while
// loading (COORDINATOR_LOAD_IN_PROGRESS) is answered with no error and a Sync
// with REBALANCE_IN_PROGRESS, a TxnCommit before version 2 with
// COORDINATOR_NOT_AVAILABLE: its clients do not know the other. Expire and ForgetTopic come from the shell
// itself, which is not refused anything: the answer is nil.
func Refuse(req Request, c Code) Response {
	switch r := req.(type) {
	case Join:
		return refusal(c, echoed(r.MemberID, c))
	case Sync:
		if c == codeCoordinatorLoadInProgress {
			c = codeRebalanceInProgress
		}
		return Synced{Code: c}
	case Heartbeat:
		if c == codeCoordinatorLoadInProgress {
			c = codeNone
		}
		return Beat{Code: c}
	case Leave:
		return Left{Code: c}
	case Commit:
		return Committed{Codes: repeat(c, len(r.Offsets))}
	case TxnCommit:
		if r.Version < 2 && c == codeCoordinatorLoadInProgress {
			c = codeCoordinatorNotAvailable
		}
		return Committed{Codes: repeat(c, len(r.Offsets))}
	case FetchOffsets:
		return FetchedOffsets{Code: c}
	case DeleteOffsets:
		return DeletedOffsets{Code: c}
	case Delete:
		return Deleted{Code: c}
	case Describe:
		return Described{Code: c}
	}
	return nil
}

func repeat(c Code, n int) []Code {
	codes := make([]Code, n)
	for i := range codes {
		codes[i] = c
	}
	return codes
}

// echoed is the member id in the answer to a Join that never reached its
// group: the request's own if the refusal is about the request, else none.
func echoed(id string, c Code) string {
	if c == codeCoordinatorNotAvailable || c == codeInvalidGroupID || c == codeInvalidSessionTimeout {
		return id
	}
	return ""
}
