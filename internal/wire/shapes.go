package wire

import "github.com/twmb/franz-go/pkg/kmsg"

// shapes holds the layout of every request that is served, in the language of
// shape.go. A test compares them with what kmsg encodes, in all versions.
var shapes = map[kmsg.Key]string{
	kmsg.Produce:                 "str?@3+ i16 i32 [ str@0-12 uuid@13+ [ i32 bytes? tags ] tags ] tags",
	kmsg.Fetch:                   "i32@0-14 i32 i32 i32@3+ i8@4+ i32@7+ i32@7+ [ str@0-12 uuid@13+ [ i32 i32@9+ i64 i32@12+ i64@5+ i32 tags ] tags ] [@7+ str@7-12 uuid@13+ [ i32 ] tags ] str@11+ tags",
	kmsg.ListOffsets:             "i32 i8@2+ [ str [ i32 i32@4+ i64 i32@0 tags ] tags ] i32@10+ tags",
	kmsg.Metadata:                "[?1 uuid@10+ str@0-9 str?@10+ tags ] bool@4+ bool@8-10 bool@8+ tags",
	kmsg.OffsetCommit:            "str i32@1+ str@1+ str?@7+ i64@2-4 [ str@0-9 uuid@10+ [ i32 i64 i64@1 i32@6+ str? tags ] tags ] tags",
	kmsg.OffsetFetch:             "str@0-7 [?2@0-7 str [ i32 ] tags ] [@8+ str str?@9+ i32@9+ [? str@8-9 uuid@10+ [ i32 ] tags ] tags ] bool@7+ tags",
	kmsg.FindCoordinator:         "str@0-3 i8@1+ [@4+ str ] tags",
	kmsg.JoinGroup:               "str i32 i32@1+ str str?@5+ str [ str bytes tags ] str?@8+ tags",
	kmsg.Heartbeat:               "str i32 str str?@3+ tags",
	kmsg.LeaveGroup:              "str str@0-2 [@3+ str str? str?@5+ tags ] tags",
	kmsg.SyncGroup:               "str i32 str str?@3+ str?@5+ str?@5+ [ str bytes tags ] tags",
	kmsg.DescribeGroups:          "[ str ] bool@3+ tags",
	kmsg.ListGroups:              "[@4+ str ] [@5+ str ] tags",
	kmsg.ApiVersions:             "str@3+ str@3+ str?@5+ i32@5+ tags",
	kmsg.CreateTopics:            "[ str i32 i16 [ i32 [ i32 ] tags ] [ str str? tags ] tags ] i32 bool@1+ tags",
	kmsg.DeleteTopics:            "[@0-5 str ] [@6+ str? uuid tags ] i32 tags",
	kmsg.DeleteRecords:           "[ str [ i32 i64 tags ] tags ] i32 tags",
	kmsg.InitProducerID:          "str? i32 i64@3+ i16@3+ tags",
	kmsg.OffsetForLeaderEpoch:    "i32@3+ [ str [ i32 i32@2+ i32 tags ] tags ] tags",
	kmsg.DescribeConfigs:         "[ i8 str [? str ] tags ] bool@1+ bool@3+ tags",
	kmsg.AlterConfigs:            "[ i8 str [ str str? tags ] tags ] bool tags",
	kmsg.CreatePartitions:        "[ str i32 [? [ i32 ] tags ] tags ] i32 bool tags",
	kmsg.DeleteGroups:            "[ str ] tags",
	kmsg.IncrementalAlterConfigs: "[ i8 str [ str i8 str? tags ] tags ] bool tags",
	kmsg.OffsetDelete:            "str [ str [ i32 ] ]",
	kmsg.DescribeCluster:         "bool i8@1+ bool@2+ tags",
}
