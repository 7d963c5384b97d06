package api

// groupAPIs are the APIs of the group coordinator.
func groupAPIs() []API {
	return []API{
		offsetCommitAPI(),
		offsetFetchAPI(),
		joinGroupAPI(),
		heartbeatAPI(),
		leaveGroupAPI(),
		syncGroupAPI(),
		describeGroupsAPI(),
		listGroupsAPI(),
		deleteGroupsAPI(),
		offsetDeleteAPI(),
	}
}
