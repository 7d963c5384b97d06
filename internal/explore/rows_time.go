package explore

import (
	"slices"

	"rota/internal/group"
)

func parkedRows() []row {
	join, syncs := a[group.Join](), a[group.Sync]()
	return []row{
		{id: "PK1-join", says: "a JoinGroup that is sent again replaces the first, which is answered NOT_COORDINATOR", when: all(join, known, other(true, 16))},
		{id: "PK1-sync", says: "a SyncGroup that is sent again does likewise", when: all(syncs, known, other(false, 16))},
		{id: "PK2", says: "the end of the join phase answers every JoinGroup", when: all(event(group.JoinCompleted), other(true, 0))},
		{id: "PK3-join", says: "a new rebalance keeps those that wait to join", when: all(event(group.RebalanceSuperseded), either(other(false, 27), join))},
		{id: "PK3-sync", says: "a new rebalance answers every SyncGroup REBALANCE_IN_PROGRESS", when: all(event(group.RebalanceSuperseded), other(false, 27))},
		{id: "PK4-join", says: "a member that is removed has its JoinGroup answered UNKNOWN_MEMBER_ID", when: either(all(event(group.MemberLeft), other(true, 25)), all(event(group.MemberExpired), other(true, 25)))},
		{id: "PK4-sync", says: "a member that is removed has its SyncGroup answered UNKNOWN_MEMBER_ID", when: all(event(group.MemberLeft), other(false, 25))},
		{id: "PK5-join", says: "a static member that is replaced: FENCED_INSTANCE_ID", when: all(event(group.MemberReplaced), other(true, 82))},
		{id: "PK5-sync", says: "likewise for SyncGroup", when: all(event(group.MemberReplaced), other(false, 82))},
		{id: "PK6", says: "the plan answers every SyncGroup", when: all(event(group.AssignmentInstalled), other(false, 0))},
		{id: "PK7-join", says: "an unload answers JoinGroups NOT_COORDINATOR", when: all(event(group.GroupUnloaded), other(true, 16))},
		{id: "PK7-sync", says: "an unload answers SyncGroups NOT_COORDINATOR", when: all(event(group.GroupUnloaded), other(false, 16))},
		{id: "PK8", says: "a client that has gone away still counts as joined", tests: []string{"group TestScenarios"}},
		{id: "PK9", says: "one request at a time on a connection, answers in order", tests: []string{"wire TestRepliesLeaveInTheOrderOfRequests"}},
	}
}

func recordRows() []row {
	tombstone := func(c *Call) bool {
		return slices.ContainsFunc(c.Batches, func(b group.Batch) bool {
			return slices.ContainsFunc(b.Records, func(r group.Record) bool { return r.Value == nil && len(r.Key) > 1 && r.Key[1] == 2 })
		})
	}
	return []row{
		{id: "RC1", says: "a JoinGroup makes the group: a record without members, generation 0", when: all(a[group.Join](), event(group.GroupCreated), func(c *Call) bool { return len(c.Batches) == 1 })},
		{id: "RC2", says: "the group becomes empty: a record without members, the type is kept", when: all(event(group.GroupEmptied), func(c *Call) bool { return len(c.Batches) > 0 && c.After.Type != "" })},
		{id: "RC3", says: "the plan: a record with all members and assignments", when: all(event(group.AssignmentInstalled), func(c *Call) bool { return len(c.Batches) == 1 })},
		{id: "RC4", says: "a static restart in a Stable group: a record with the new id", when: all(event(group.MemberReplaced), to(group.Stable), func(c *Call) bool { return len(c.Batches) == 1 })},
		{id: "RC5", says: "deleted or expired: a tombstone", when: all(event(group.GroupDeleted), tombstone)},
		{id: "RC6", says: "the end of a join phase with members writes nothing", when: all(event(group.JoinCompleted), to(group.CompletingRebalance), func(c *Call) bool { return len(c.Batches) == 0 })},
		{id: "RC7", says: "a plan that does not fit: UNKNOWN_SERVER_ERROR for all that sync, and a rebalance", when: all(cause(group.RebalanceStarted, group.CauseAssignmentTooLarge), code(-1))},
		{id: "RC8", says: "generations of two leader epochs lie apart", tests: []string{"group TestGenerationsOfEpochsAreApart"}, when: all(event(group.JoinCompleted), func(c *Call) bool { return c.After.Generation-c.Before.Generation >= 1000 })},
		{id: "RC9", says: "any error of an append: the shard ends, NOT_COORDINATOR for all that wait", tests: []string{"coordinator TestFailedAppendLoadsTheShardAgain", "coordinator TestWriterThatRefusesEndsTheShard", "coordinator TestFailedFlush"}},
	}
}

func timerRows() []row {
	return []row{
		{id: "TM1", says: "a session expires: the member goes", when: all(ticks, cause(group.MemberExpired, group.CauseSessionExpired))},
		{id: "TM1-preparing", says: "likewise while a rebalance is prepared, which may end by that", when: all(ticks, in(group.PreparingRebalance), cause(group.MemberExpired, group.CauseSessionExpired))},
		{id: "TM2", says: "a member whose request is open does not expire", tests: []string{"group TestStallEvictsNobody", "group TestPlanThatIsNotDurableHoldsSessions", "explore TestWorlds"}},
		{id: "TM3", says: "a new member that has waited for too long: UNKNOWN_MEMBER_ID", when: all(ticks, cause(group.MemberExpired, group.CauseNewMemberTimeout), other(true, 25))},
		{id: "TM4", says: "an id that was handed out expires", when: all(ticks, event(group.PendingExpired))},
		{id: "TM5", says: "the join deadline", when: all(ticks, in(group.PreparingRebalance), event(group.JoinCompleted))},
		{id: "TM6", says: "the sync deadline removes all that have not synced", when: all(ticks, cause(group.MemberDropped, group.CauseSyncDeadline))},
		{id: "TM7", says: "the sync deadline is gone once all have synced", when: all(a[group.Sync](), in(group.Stable), code(0), func(c *Call) bool {
			unsynced := func(f *Facts) int {
				n := 0
				for _, m := range f.Members {
					if m.Unsynced {
						n++
					}
				}
				return n
			}
			return unsynced(c.Before) == 1 && unsynced(c.After) == 0
		})},
		{id: "TM8", says: "a broker that was late evicts nobody: sessions begin anew", when: isA[forgiven]},
		{id: "TM9", says: "what is refused is no sign of life", tests: []string{"group TestScenarios", "explore TestWorlds"}},
		{id: "TM10", says: "a load gives every member a session in full", when: all(ticks, event(group.GroupLoaded), to(group.Stable))},
		{id: "TM11", says: "a load of a group over its limit starts a rebalance", when: all(ticks, event(group.GroupLoaded), cause(group.RebalanceStarted, group.CauseGroupFull))},
	}
}

func commitRows() []row {
	commits := a(func(r *group.Commit) bool { return len(r.Offsets) > 0 })
	anonymous := a(func(r *group.Commit) bool { return r.Generation < 0 && r.MemberID == "" && r.InstanceID == nil })
	nobodys := a(func(r *group.Commit) bool { return r.Generation < 0 })
	version := func(from, below int16) cond {
		return a(func(r *group.Commit) bool { return r.Version >= from && r.Version < below })
	}
	return []row{
		{id: "C0", says: "no right to the group or the topic; an unknown topic or partition: refused before the group is asked", tests: []string{"api TestOffsetCommitRefusesPartitionsOneByOne"}},
		{id: "C1", says: "no such group, no generation: a simple group", when: all(commits, nobodys, unknown, code(0), event(group.GroupCreated))},
		{id: "C2-8", says: "no such group, a generation, version 8 and before: ILLEGAL_GENERATION", when: all(commits, version(0, 9), unknown, code(22))},
		{id: "C2-9", says: "the same from version 9 on: GROUP_ID_NOT_FOUND", when: all(commits, version(9, 99), unknown, code(69))},
		{id: "C3", says: "Dead: COORDINATOR_NOT_AVAILABLE", tests: []string{"group TestUnloadAnswersInTheOrderOfArrival"}},
		{id: "C4", says: "Empty, no generation: taken", when: all(commits, nobodys, exists, in(group.Empty), code(0))},
		{id: "C4-claims", says: "the same, whatever member or instance it claims to be", when: all(commits, nobodys, not(anonymous), exists, in(group.Empty), code(0))},
		{id: "C5-identity", says: "the identity check fails: its error", when: all(commits, not(anonymous), exists, either(code(25), code(82)))},
		{id: "C5-generation", says: "a member, another generation: ILLEGAL_GENERATION", when: all(commits, known, not(current), code(22))},
		{id: "C5-none", says: "a member without a generation, in a live group: ILLEGAL_GENERATION", when: all(commits, nobodys, known, code(22))},
		{id: "C5-empty", says: "Empty, a generation: UNKNOWN_MEMBER_ID", when: all(commits, not(nobodys), exists, in(group.Empty), code(25))},
		{id: "C6", says: "nobody in particular, a live group: UNKNOWN_MEMBER_ID", when: all(commits, anonymous, not(in(group.Empty)), code(25))},
		{id: "C7", says: "CompletingRebalance: REBALANCE_IN_PROGRESS", when: all(commits, known, current, in(group.CompletingRebalance), code(27))},
		{id: "C8", says: "PreparingRebalance takes the old generation", when: all(commits, known, current, in(group.PreparingRebalance), code(0))},
		{id: "C9", says: "what is taken keeps the session, also if every partition is refused", when: all(commits, known, current, code(12))},
		{id: "C10", says: "metadata that is too long: OFFSET_METADATA_TOO_LARGE for that partition, the others are stored", when: func(c *Call) bool {
			b, ok := c.Body.(group.Committed)
			return ok && slices.Contains(b.Codes, 12) && slices.Contains(b.Codes, 0)
		}},
		{id: "C11", says: "a smaller offset replaces a larger one", tests: []string{"group TestScenarios"}},
		{id: "C12", says: "a retention of its own", when: all(a(func(r *group.Commit) bool { return r.Retention >= 0 && r.Version <= 4 }), code(0))},
		{id: "C13", says: "the timestamp of version 1", never: "OffsetCommit 0 and 1 are not served; the rules keep the field for the record format"},
		{id: "C14", says: "a commit too large for a batch: INVALID_COMMIT_OFFSET_SIZE", when: all(commits, code(28))},
		{id: "C15", says: "an append that fails: NOT_COORDINATOR, the value before stays", tests: []string{"coordinator TestNothingAcknowledgedIsLostAndAllIsAnswered", "coordinator TestFailedFlush"}},
		{id: "C16", says: "topic ids in place of names (version 10)", tests: []string{"api TestOffsetsByTopicID"}},
	}
}

func fetchRows() []row {
	fetches := a[group.FetchOffsets]()
	offset := func(f func(o *group.FetchedOffset) bool) cond {
		return func(c *Call) bool {
			b, ok := c.Body.(group.FetchedOffsets)
			return ok && slices.ContainsFunc(b.Offsets, func(o group.FetchedOffset) bool { return f(&o) })
		}
	}
	none := offset(func(o *group.FetchedOffset) bool { return o.Offset == -1 && o.Code == 0 })
	every := a(func(r *group.FetchOffsets) bool { return r.All })
	return []row{
		{id: "OF1-group", says: "no such group: -1 and no error", when: all(fetches, unknown, none)},
		{id: "OF1-offset", says: "nothing committed: -1 and no error", when: all(fetches, exists, none)},
		{id: "OF2", says: "committed: offset, leader epoch, metadata", when: all(fetches, offset(func(o *group.FetchedOffset) bool { return o.Offset >= 0 }))},
		{id: "OF3", says: "a stable answer is asked for and a transaction is open: UNSTABLE_OFFSET_COMMIT", when: all(fetches, offset(func(o *group.FetchedOffset) bool { return o.Code == 88 }))},
		{id: "OF4", says: "the same without asking for a stable one: the value before", when: all(fetches, func(c *Call) bool { return c.Before.Open > 0 }, offset(func(o *group.FetchedOffset) bool { return o.Code == 0 }))},
		{id: "OF5-none", says: "all, of no such group: nothing and no error", when: all(every, unknown, code(0))},
		{id: "OF5", says: "all: what is committed", when: all(every, exists, func(c *Call) bool { return len(answer[group.FetchedOffsets](c).Offsets) > 0 })},
		{id: "OF6", says: "an error of the group in each version's own place", tests: []string{"api TestWhenTheCoordinatorDoesNotServe", "api TestFetchOfSeveralGroupsFailsOneByOne"}},
		{id: "OF7", says: "a fetch does not overtake the commits before it", tests: []string{"coordinator TestReadsWaitForTheirOwnGroup", "explore TestWorlds"}},
		{id: "OF8", says: "an offset that was stored for another topic id", never: "offsets are recorded without topic ids (record version 3), as a choice; those of deleted topics are removed when the topic is"},
	}
}

func deleteOffsetsRows() []row {
	deletes := a[group.DeleteOffsets]()
	return []row{
		{id: "OD1", says: "no such group: GROUP_ID_NOT_FOUND", when: all(deletes, unknown, code(69))},
		{id: "OD2", says: "a live group of another type than consumer: NON_EMPTY_GROUP", when: all(deletes, code(68))},
		{id: "OD3", says: "a topic that members subscribe to: GROUP_SUBSCRIBED_TO_TOPIC", when: all(deletes, in(group.Stable), code(86))},
		{id: "OD4", says: "topics that are not known count as subscribed to", when: all(deletes, code(86), func(c *Call) bool { return !c.Before.Subscribed })},
		{id: "OD5", says: "any other topic: a tombstone", when: all(deletes, code(0), func(c *Call) bool { return len(c.Batches) == 1 })},
		{id: "OD6", says: "nothing to delete: no error, no record", when: all(deletes, exists, code(0), func(c *Call) bool { return len(c.Batches) == 0 }), tests: []string{"group TestNothingIsDeletedTwice"}},
		{id: "OD7", says: "an unknown topic or partition", tests: []string{"api TestOffsetDelete"}},
	}
}

func deleteRows() []row {
	deletes := a[group.Delete]()
	return []row{
		{id: "DG1", says: "no such group: GROUP_ID_NOT_FOUND", when: all(deletes, unknown, code(69))},
		{id: "DG2", says: "a live group: NON_EMPTY_GROUP", when: all(deletes, code(68))},
		{id: "DG3", says: "Empty: gone with its offsets", when: all(deletes, exists, code(0), func(c *Call) bool { return c.Before.Committed > 0 && c.After.Committed == 0 && !c.After.Exists })},
		{id: "DG4", says: "Empty with an id that was handed out: gone as well", when: all(deletes, code(0), func(c *Call) bool { return len(c.Before.Pending) > 0 })},
		{id: "DG5", says: "a group named twice", tests: []string{"api TestDeleteGroups"}},
	}
}

func describeRows() []row {
	describes := func(v func(int16) bool) cond {
		return func(c *Call) bool { r, ok := c.Request.(group.Describe); return ok && v(r.Version) }
	}
	anyVersion := describes(func(int16) bool { return true })
	return []row{
		{id: "DE1-5", says: "no such group, version 5 and before: Dead and no error", when: all(describes(func(v int16) bool { return v < 6 }), unknown, code(0))},
		{id: "DE1-6", says: "the same from version 6 on: GROUP_ID_NOT_FOUND", when: all(describes(func(v int16) bool { return v >= 6 }), unknown, code(69))},
		{id: "DE2", says: "Stable: protocol, metadata, assignments", when: all(anyVersion, in(group.Stable), func(c *Call) bool { return answer[group.Described](c).ProtocolData != "" })},
		{id: "DE3-empty", says: "Empty: the type, no members", when: all(anyVersion, exists, in(group.Empty))},
		{id: "DE3-preparing", says: "PreparingRebalance: members without metadata", when: all(anyVersion, in(group.PreparingRebalance))},
		{id: "DE3-completing", says: "CompletingRebalance: members without metadata", when: all(anyVersion, in(group.CompletingRebalance)), tests: []string{"api TestDescribeGroupsInEveryVersion"}},
		{id: "LG1", says: "ListGroups: filters by state and type", tests: []string{"api TestListGroupsFilters"}},
		{id: "LG2", says: "ListGroups while a shard is loading: COORDINATOR_LOAD_IN_PROGRESS, no groups", tests: []string{"api TestWhileLoading"}},
	}
}

func coordinatorRows() []row {
	return []row{
		{id: "FC1", says: "version 0 to 3: one key; 4 and later: each key with its own answer", tests: []string{"api TestFindCoordinatorInEveryVersion"}},
		{id: "FC2", says: "a type of key that is not known: INVALID_REQUEST", tests: []string{"api TestFindCoordinatorInEveryVersion"}},
		{id: "FC3", says: "the topic of offsets does not exist yet: COORDINATOR_NOT_AVAILABLE", never: "it exists from the first start on, as a choice"},
		{id: "FC4", says: "the partition of a group", tests: []string{"schema TestPartitionOf"}},
	}
}

func retentionRows() []row {
	expires, forgets := a[group.Expire](), a[group.ForgetTopic]()
	drops := event(group.OffsetsExpired)
	keeps := func(c *Call) bool { return c.Before.Committed > 0 && c.After.Committed == c.Before.Committed }
	return []row{
		{id: "RT1", says: "a simple group: each offset from its own commit", when: all(expires, drops, func(c *Call) bool { return c.Before.Type == "" })},
		{id: "RT2", says: "an Empty group with a type: all, from when it became empty", when: all(expires, in(group.Empty), drops, func(c *Call) bool { return c.Before.Type != "" })},
		{id: "RT2-keeps", says: "until then they stay, however old", when: all(expires, in(group.Empty), keeps, func(c *Call) bool { return c.Before.Type != "" })},
		{id: "RT3", says: "a Stable group of consumers: offsets of topics that nobody subscribes to", when: all(expires, in(group.Stable), drops)},
		{id: "RT3-keeps", says: "those of subscribed topics stay", when: all(expires, in(group.Stable), keeps, func(c *Call) bool { return c.Before.Subscribed })},
		{id: "RT4-topics", says: "Stable, topics not known: nothing", when: all(expires, in(group.Stable), keeps, func(c *Call) bool { return !c.Before.Subscribed })},
		{id: "RT4-type", says: "Stable, another type: nothing", when: all(expires, in(group.Stable), keeps, func(c *Call) bool { return c.Before.Type != "consumer" })},
		{id: "RT4-rebalance", says: "PreparingRebalance, CompletingRebalance: nothing", when: all(expires, either(in(group.PreparingRebalance), in(group.CompletingRebalance)), keeps), tests: []string{"group TestRandomConversations"}},
		{id: "RT5", says: "a retention of its own counts instead", tests: []string{"group TestScenarios", "api TestRetentionOfACommit"}},
		{id: "RT6", says: "an offset of an open transaction blocks the expiry of its partition", tests: []string{"group TestOpenTransactionKeepsOffsetAndGroup"}},
		{id: "RT7", says: "Empty and nothing left: the group goes", when: all(expires, cause(group.GroupDeleted, group.CauseRetention))},
		{id: "RT8", says: "not while an id is handed out", when: all(expires, in(group.Empty), exists, func(c *Call) bool { return len(c.Before.Pending) > 0 && c.After.Exists })},
		{id: "TD1", says: "a topic is deleted: its offsets go in every group", when: all(forgets, func(c *Call) bool { return c.Before.Committed > c.After.Committed })},
		{id: "TD2", says: "those of a topic of that name with another id stay", tests: []string{"group TestForgetTopicGoesByID"}},
		{id: "TR1", says: "a tombstone of an offset removes the committed one and those of open transactions", tests: []string{"group TestApplyOffsets"}},
		{id: "TR2", says: "a tombstone of a group leaves its offsets: a simple group", when: all(ticks, event(group.GroupLoaded), func(c *Call) bool { return !c.After.Recorded && c.After.Committed > 0 })},
	}
}

func transactionRows() []row {
	commits := a[group.TxnCommit]()
	nobodys := a(func(r *group.TxnCommit) bool { return r.Generation < 0 })
	anonymous := a(func(r *group.TxnCommit) bool { return r.MemberID == "" && r.InstanceID == nil && r.Generation < 0 })
	version := func(from, below int16) cond {
		return a(func(r *group.TxnCommit) bool { return r.Version >= from && r.Version < below })
	}
	marker := func(control group.Control, f func(c *Call) bool) cond {
		return func(c *Call) bool { r, ok := c.Request.(applied); return ok && r.entry.Control == control && f(c) }
	}
	return []row{
		{id: "TX1", says: "what is taken is pending, in a batch of the producer's transaction", when: all(commits, code(0), func(c *Call) bool {
			return c.After.Open > c.Before.Open && c.After.Committed == c.Before.Committed
		})},
		{id: "TX2-new", says: "no such group, no generation: a simple group", when: all(nobodys, unknown, code(0), event(group.GroupCreated))},
		{id: "TX2-5", says: "no such group, a generation, version 5 and before: ILLEGAL_GENERATION", when: all(version(0, 6), unknown, code(22))},
		{id: "TX2-6", says: "the same from version 6 on: GROUP_ID_NOT_FOUND", tests: []string{"group TestTxnCommitOfAGenerationWithoutAGroup"}},
		{id: "TX3", says: "Dead: COORDINATOR_NOT_AVAILABLE", tests: []string{"group TestTxnCommitToAnUnloadedGroup"}},
		{id: "TX4", says: "Empty, no generation: taken", when: all(nobodys, exists, in(group.Empty), code(0))},
		{id: "TX5-identity", says: "the identity check fails: its error", when: all(commits, not(anonymous), exists, either(code(25), code(82)))},
		{id: "TX5-generation", says: "a member, another generation: ILLEGAL_GENERATION", when: all(commits, known, not(current), code(22))},
		{id: "TX6", says: "nobody in particular, a live group: taken", when: all(anonymous, not(in(group.Empty)), code(0))},
		{id: "TX7", says: "CompletingRebalance: taken", when: all(commits, known, current, in(group.CompletingRebalance), code(0))},
		{id: "TX8", says: "it does not keep the session", tests: []string{"group TestScenarios"}},
		{id: "TX9", says: "metadata that is too long: OFFSET_METADATA_TOO_LARGE for that partition, the others are stored", when: all(commits, func(c *Call) bool {
			codes := answer[group.Committed](c).Codes
			return slices.Contains(codes, 12) && slices.Contains(codes, 0)
		})},
		{id: "TX10", says: "loading: COORDINATOR_LOAD_IN_PROGRESS, before version 2 COORDINATOR_NOT_AVAILABLE", tests: []string{"group TestRefuse"}},
		{id: "TX11", says: "the transaction must be open until the commit is in the log", tests: []string{"coordinator TestNoCommitLandsBehindItsMarker", "api TestTxnOffsetCommitsFollowEachOtherWithoutAPause"}},
		{id: "TX12", says: "a marker commits what is newer than what is committed", when: marker(group.ControlCommit, func(c *Call) bool { return c.After.Open < c.Before.Open })},
		{id: "TX13", says: "a marker drops what was aborted", when: marker(group.ControlAbort, func(c *Call) bool { return c.After.Open < c.Before.Open })},
		{id: "TX14", says: "a marker acts in every state of the group", when: marker(group.ControlCommit, func(c *Call) bool {
			return c.After.Open < c.Before.Open && c.Before.State == group.PreparingRebalance.String()
		})},
		{id: "TX15", says: "a marker without anything open is nothing", tests: []string{"group TestApplyOffsets"}},
	}
}

func loadRows() []row {
	loads := all(ticks, event(group.GroupLoaded))
	applies := func(f func(e *group.Entry, c *Call) bool) cond {
		return func(c *Call) bool { r, ok := c.Request.(applied); return ok && f(&r.entry, c) }
	}
	kind := func(e *group.Entry) byte {
		if len(e.Key) < 2 {
			return 0xff
		}
		return e.Key[1]
	}
	return []row{
		{id: "LO1-stable", says: "a group record with members: Stable", when: all(loads, to(group.Stable))},
		{id: "LO1-empty", says: "a group record without members: Empty", when: all(loads, to(group.Empty), func(c *Call) bool { return c.After.Recorded })},
		{id: "LO2", says: "offsets alone: a simple group", when: all(loads, func(c *Call) bool { return !c.After.Recorded && c.After.Committed > 0 })},
		{id: "LO3", says: "an offset: the last one counts", when: applies(func(e *group.Entry, c *Call) bool {
			return kind(e) == 1 && e.Value != nil && c.Before.Committed == c.After.Committed && c.Before.Committed > 0
		})},
		{id: "LO4", says: "a tombstone of an offset", when: applies(func(e *group.Entry, c *Call) bool {
			return kind(e) == 1 && e.Value == nil && c.Before.Committed > c.After.Committed
		})},
		{id: "LO5", says: "a tombstone of nothing", when: applies(func(e *group.Entry, c *Call) bool {
			return e.Value == nil && !c.Before.Exists && e.Control == group.ControlNone && len(e.Key) > 0
		})},
		{id: "LO6", says: "a group record replaces the one before", when: applies(func(e *group.Entry, c *Call) bool { return kind(e) == 2 && e.Value != nil && c.Before.Recorded })},
		{id: "LO7", says: "a tombstone of a group", when: applies(func(e *group.Entry, c *Call) bool {
			return kind(e) == 2 && e.Value == nil && c.Before.Recorded && !c.After.Recorded
		})},
		{id: "LO8", says: "an offset in a transaction: open", when: applies(func(e *group.Entry, c *Call) bool { return e.ProducerID >= 0 && c.After.Open > c.Before.Open })},
		{id: "LO9-commit", says: "a marker commits it", when: applies(func(e *group.Entry, c *Call) bool {
			return e.Control == group.ControlCommit && c.Before.Open > c.After.Open
		}), tests: []string{"group TestApplyOffsets"}},
		{id: "LO9-abort", says: "a marker drops it", when: applies(func(e *group.Entry, c *Call) bool {
			return e.Control == group.ControlAbort && c.Before.Open > c.After.Open
		}), tests: []string{"group TestApplyOffsets"}},
		{id: "LO10", says: "an unknown type is skipped", tests: []string{"coordinator TestReplay", "schema TestGroupOf"}},
		{id: "LO11", says: "a known type that cannot be read: the load fails, NOT_COORDINATOR", when: func(c *Call) bool { r, ok := c.Request.(applied); return ok && r.err != nil }},
		{id: "LO12", says: "what was not recorded is forgotten: ids, rebalances, requests", when: all(loads, func(c *Call) bool {
			return len(c.After.Pending) == 0 && c.After.State != group.PreparingRebalance.String()
		})},
		{id: "LO13", says: "all versions of the records", tests: []string{"schema TestGroupValueBytes", "schema TestOffsetValueBytes"}},
		{id: "LO14", says: "orders to lead and to resign that come twice or late", tests: []string{"coordinator TestLeadershipOrdersAreIdempotent"}},
		{id: "UN1", says: "unload: what is parked is answered NOT_COORDINATOR", when: all(event(group.GroupUnloaded), either(other(true, 16), other(false, 16)))},
		{id: "UN2", says: "unload: what waits for the log is answered NOT_COORDINATOR", tests: []string{"coordinator TestMove", "coordinator TestFailedFlush"}},
		{id: "UN3", says: "an error in one group does not stop the others", tests: []string{"coordinator TestPanicInTheUnload"}},
	}
}
