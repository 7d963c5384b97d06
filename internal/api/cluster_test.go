package api_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/broker"
)

func TestDescribeLogDirsInEveryVersion(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		c := r.client("c")
		topic := r.topic("t", 3)
		batch := batchOf("some", "values")
		for range 4 {
			c.produced(9, topic, 1, batch)
		}
		size := int64(4 * len(batch))
		r.check(r.store.Settle(context.Background()))
		c.produced(9, topic, 1, batch)
		size += int64(len(batch))
		eachVersion(r, kmsg.DescribeLogDirs, func(v int16) {
			req := kmsg.NewPtrDescribeLogDirsRequest()
			req.Topics = []kmsg.DescribeLogDirsRequestTopic{{Topic: "t", Partitions: []int32{1, 0, 7}}, {Topic: "nosuch", Partitions: []int32{0}}}
			dir := kmsg.NewDescribeLogDirsResponseDir()
			dir.Dir = "memory"
			dir.Topics = []kmsg.DescribeLogDirsResponseDirTopic{{
				Topic: "t", Partitions: []kmsg.DescribeLogDirsResponseDirTopicPartition{{Partition: 1, Size: size}, {Partition: 0}},
			}}
			equal(t, ask[*kmsg.DescribeLogDirsResponse](c, v, req), &kmsg.DescribeLogDirsResponse{Dirs: []kmsg.DescribeLogDirsResponseDir{dir}})

			req.Topics = nil
			resp := ask[*kmsg.DescribeLogDirsResponse](c, v, req)
			counts := map[string]int{}
			for _, t := range resp.Dirs[0].Topics {
				counts[t.Topic] = len(t.Partitions)
			}
			if diff := cmp.Diff(map[string]int{"t": 3, broker.OffsetsTopic: int(r.broker.OffsetsPartitions())}, counts); diff != "" {
				t.Errorf("v%d: partitions of all topics (-want +got):\n%s", v, diff)
			}
		})
	})
}

func TestAlterReplicaLogDirsInEveryVersion(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.topic("t", 1)
		c := r.client("c")
		eachVersion(r, kmsg.AlterReplicaLogDirs, func(v int16) {
			req := kmsg.NewPtrAlterReplicaLogDirsRequest()
			req.Dirs = []kmsg.AlterReplicaLogDirsRequestDir{
				{Dir: "memory", Topics: []kmsg.AlterReplicaLogDirsRequestDirTopic{{Topic: "t", Partitions: []int32{0, 1}}}},
				{Dir: "/elsewhere", Topics: []kmsg.AlterReplicaLogDirsRequestDirTopic{{Topic: "t", Partitions: []int32{0}}}},
			}
			equal(t, ask[*kmsg.AlterReplicaLogDirsResponse](c, v, req), &kmsg.AlterReplicaLogDirsResponse{
				Topics: []kmsg.AlterReplicaLogDirsResponseTopic{
					{Topic: "t", Partitions: []kmsg.AlterReplicaLogDirsResponseTopicPartition{{Partition: 0}, {Partition: 1, ErrorCode: 3}}},
					{Topic: "t", Partitions: []kmsg.AlterReplicaLogDirsResponseTopicPartition{{Partition: 0, ErrorCode: 57}}},
				},
			})
		})
	})
}

func TestReassignmentsInEveryVersion(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.topic("t", 1)
		c := r.client("c")
		tests := []struct {
			name      string
			partition int32
			replicas  []int32
			code      int16
		}{
			{"to stay", 0, []int32{1}, 0},
			{"to cancel", 0, nil, 85},
			{"to another broker", 0, []int32{2}, 39},
			{"to a second broker", 0, []int32{1, 2}, 39},
			{"to a broker twice", 0, []int32{1, 1}, 39},
			{"to no broker", 0, []int32{}, 39},
			{"of no partition", 1, []int32{1}, 3},
		}
		eachVersion(r, kmsg.AlterPartitionAssignments, func(v int16) {
			for _, test := range tests {
				req := kmsg.NewPtrAlterPartitionAssignmentsRequest()
				req.Topics = []kmsg.AlterPartitionAssignmentsRequestTopic{{
					Topic:      "t",
					Partitions: []kmsg.AlterPartitionAssignmentsRequestTopicPartition{{Partition: test.partition, Replicas: test.replicas}},
				}}
				resp := ask[*kmsg.AlterPartitionAssignmentsResponse](c, v, req)
				if got := resp.Topics[0].Partitions[0].ErrorCode; resp.ErrorCode != 0 || got != test.code {
					t.Errorf("v%d %s: error %d, want %d", v, test.name, got, test.code)
				}
			}
		})
		list := kmsg.NewPtrListPartitionReassignmentsRequest()
		equal(t, ask[*kmsg.ListPartitionReassignmentsResponse](c, 0, list), &kmsg.ListPartitionReassignmentsResponse{})
	})
}

func TestDescribeProducersListsWhatTheLogRemembers(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		topic := r.topic("t", 2)
		c := r.client("c")
		c.produced(9, topic, 0, producerBatch(7, 2, 0, "a", "b"))
		c.produced(9, topic, 0, producerBatch(7, 2, 2, "c"))
		c.produced(9, topic, 0, producerBatch(9, 0, 0, "d"))
		req := kmsg.NewPtrDescribeProducersRequest()
		req.Topics = []kmsg.DescribeProducersRequestTopic{{Topic: "t", Partitions: []int32{0, 1, 2}}}
		equal(t, ask[*kmsg.DescribeProducersResponse](c, 0, req), &kmsg.DescribeProducersResponse{
			Topics: []kmsg.DescribeProducersResponseTopic{{Topic: "t", Partitions: []kmsg.DescribeProducersResponseTopicPartition{
				{Partition: 0, ActiveProducers: []kmsg.DescribeProducersResponseTopicPartitionActiveProducer{
					{ProducerID: 7, ProducerEpoch: 2, LastSequence: 2, LastTimestamp: 1000, CoordinatorEpoch: -1, CurrentTxnStartOffset: -1},
					{ProducerID: 9, ProducerEpoch: 0, LastSequence: 0, LastTimestamp: 1000, CoordinatorEpoch: -1, CurrentTxnStartOffset: -1},
				}},
				{Partition: 1},
				{Partition: 2, ErrorCode: 3},
			}}},
		})
	})
}

func TestDescribeQuorumInEveryVersion(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		c := r.client("c")
		eachVersion(r, kmsg.DescribeQuorum, func(v int16) {
			before := r.cat.Bounds().HighWatermark
			r.topic("t"+string('0'+rune(v)), 1)
			req := kmsg.NewPtrDescribeQuorumRequest()
			req.Topics = []kmsg.DescribeQuorumRequestTopic{
				{Topic: "__cluster_metadata", Partitions: []kmsg.DescribeQuorumRequestTopicPartition{{Partition: 0}, {Partition: 1}}},
			}
			resp := ask[*kmsg.DescribeQuorumResponse](c, v, req)
			log, none := resp.Topics[0].Partitions[0], resp.Topics[0].Partitions[1]
			if none.ErrorCode != 3 || none.LeaderID != -1 {
				t.Errorf("v%d: another partition is %+v, want error 3", v, none)
			}
			if log.LeaderID != 1 || log.LeaderEpoch != r.cat.Bounds().Epoch || log.HighWatermark <= before || len(log.CurrentVoters) != 1 || len(log.Observers) != 0 {
				t.Errorf("v%d: the log is %+v", v, log)
			}
			if voter := log.CurrentVoters[0]; voter.ReplicaID != 1 || voter.LogEndOffset != log.HighWatermark || v >= 1 && voter.LastCaughtUpTimestamp <= 0 {
				t.Errorf("v%d: the voter is %+v", v, voter)
			}
			if v >= 2 && (len(resp.Nodes) != 1 || resp.Nodes[0].Listeners[0].Host != "broker.test" || resp.Nodes[0].Listeners[0].Port != 9092) {
				t.Errorf("v%d: the nodes are %+v", v, resp.Nodes)
			}
		})
	})
}

func TestUpdateFeaturesInEveryVersion(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		c := r.client("c")
		eachVersion(r, kmsg.UpdateFeatures, func(v int16) {
			req := kmsg.NewPtrUpdateFeaturesRequest()
			equal(t, ask[*kmsg.UpdateFeaturesResponse](c, v, req), &kmsg.UpdateFeaturesResponse{})
			req.FeatureUpdates = []kmsg.UpdateFeaturesRequestFeatureUpdate{{Feature: "metadata.version", MaxVersionLevel: 25, UpgradeType: 1}}
			message := new("This broker does not have the feature metadata.version.")
			refused := &kmsg.UpdateFeaturesResponse{ErrorCode: 95, ErrorMessage: message}
			equal(t, ask[*kmsg.UpdateFeaturesResponse](c, v, req), refused)

			// One that could be made is not made beside one that cannot.
			good := kmsg.UpdateFeaturesRequestFeatureUpdate{Feature: "transaction.version", MaxVersionLevel: 2, UpgradeType: 1}
			req.FeatureUpdates = append([]kmsg.UpdateFeaturesRequestFeatureUpdate{good}, req.FeatureUpdates...)
			equal(t, ask[*kmsg.UpdateFeaturesResponse](c, v, req), refused)
			req.FeatureUpdates = req.FeatureUpdates[:1]
			want := &kmsg.UpdateFeaturesResponse{}
			if v < 2 {
				want.Results = []kmsg.UpdateFeaturesResponseResult{{Feature: "transaction.version"}}
			}
			equal(t, ask[*kmsg.UpdateFeaturesResponse](c, v, req), want)
		})
	})
}

// The level of transaction.version falls and rises as an operator says, and
// stays over a restart.
func TestTransactionVersionIsAFeature(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		c := r.client("c")
		update := func(level int16, kind int8, dry bool) int16 {
			req := kmsg.NewPtrUpdateFeaturesRequest()
			req.ValidateOnly = dry
			req.FeatureUpdates = []kmsg.UpdateFeaturesRequestFeatureUpdate{{Feature: "transaction.version", MaxVersionLevel: level, UpgradeType: kind}}
			return ask[*kmsg.UpdateFeaturesResponse](c, 2, req).ErrorCode
		}
		const upgrade, safeDowngrade, unsafeDowngrade = 1, 2, 3
		for _, s := range []struct {
			level int16
			kind  int8
			dry   bool
			code  int16
			then  int16
		}{
			{3, upgrade, false, 95, 2},
			{-1, unsafeDowngrade, false, 95, 2},
			{1, upgrade, false, 95, 2},
			{1, 0, false, 95, 2},
			{1, safeDowngrade, true, 0, 2},
			{2, upgrade, false, 0, 2},
			{1, safeDowngrade, false, 0, 1},
			{2, unsafeDowngrade, false, 95, 1},
			{0, unsafeDowngrade, false, 0, 0},
			{2, upgrade, false, 0, 2},
			{1, safeDowngrade, false, 0, 1},
		} {
			if code := update(s.level, s.kind, s.dry); code != s.code {
				t.Errorf("to %d by %d: error %d, want %d", s.level, s.kind, code, s.code)
			}
			checkFeatures(t, c.versions(4, apiVersionsRequest("test", "1")), s.then)
		}
		r.restart()
		c = r.client("c")
		checkFeatures(t, c.versions(4, apiVersionsRequest("test", "1")), 1)
	})
}

// resource is one entry of ListConfigResources.
type resource struct {
	Type kmsg.ConfigResourceType
	Name string
}

func TestListConfigResources(t *testing.T) {
	inBubble(t, map[string]string{"node.id": "7"}, func(r *rig) {
		r.topic("b", 1)
		r.topic("a", 1)
		topics := []resource{{2, broker.OffsetsTopic}, {2, "a"}, {2, "b"}}
		all := append(topics, resource{4, "7"}, resource{8, "7"})
		for _, test := range []struct {
			name    string
			version int16
			types   []int8
			code    int16
			want    []resource
		}{
			{"v0 has client metrics only", 0, nil, 0, nil},
			{"all", 1, nil, 0, all},
			{"topics, named twice", 1, []int8{2, 2}, 0, topics},
			{"brokers and groups", 1, []int8{4, 32}, 0, []resource{{4, "7"}}},
			{"client metrics", 1, []int8{16}, 0, nil},
			{"unknown", 1, []int8{2, 3}, 35, nil},
		} {
			req := kmsg.NewPtrListConfigResourcesRequest()
			req.ResourceTypes = test.types
			resp := ask[*kmsg.ListConfigResourcesResponse](r.client("c"), test.version, req)
			var got []resource
			for _, c := range resp.ConfigResources {
				got = append(got, resource{kmsg.ConfigResourceType(c.Type), c.Name})
			}
			if diff := cmp.Diff(test.want, got); diff != "" || resp.ErrorCode != test.code {
				t.Errorf("%s: error %d (-want +got):\n%s", test.name, resp.ErrorCode, diff)
			}
		}
	})
}
