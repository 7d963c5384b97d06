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

// transactionAPIs are the APIs of the transaction coordinator.
func transactionAPIs() []API {
	return []API{
		addPartitionsToTxnAPI(),
		addOffsetsToTxnAPI(),
		endTxnAPI(),
		writeTxnMarkersAPI(),
		txnOffsetCommitAPI(),
		describeTransactionsAPI(),
		listTransactionsAPI(),
	}
}
