package api

import (
	"math"

	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/broker"
	"rota/internal/catalog"
)

// DescribeLogDirs (key 35), versions 1-5: the folder that holds the data, how
// much room it has, and how much each partition takes in it (KIP-113).
//
//	v1: clients throttle themselves
//	v2: flexible
//	v3: ErrorCode of the whole response
//	v4: TotalBytes and UsableBytes (KIP-827)
//	v5: IsCordoned (KIP-1066)
//
// A partition's size is that of its batches, in segments and in the tail.
// Topics and partitions that do not exist are left out. A broker in memory
// names its folder "memory".
//
// Not done: throttling.
func describeLogDirsAPI() API {
	return API{Key: kmsg.DescribeLogDirs, Min: 1, Max: 5, Class: Alone, Handle: describeLogDirs}
}

func describeLogDirs(s *Server, c *Call) {
	req := requestOf[*kmsg.DescribeLogDirsRequest](c)
	dir := kmsg.NewDescribeLogDirsResponseDir()
	dir.Dir = s.Broker.Config.LogDir
	dir.TotalBytes, dir.UsableBytes = known(s.Broker.Store.Total()), known(s.Broker.Store.Free())
	view := s.Broker.Catalog.View()
	if req.Topics == nil {
		for _, t := range view.Topics() {
			dir.Topics = append(dir.Topics, logSizes(s.Broker, view, t.Name, everyPartition(t)))
		}
	}
	for i := range req.Topics {
		t := &req.Topics[i]
		if sizes := logSizes(s.Broker, view, t.Topic, t.Partitions); len(sizes.Partitions) > 0 {
			dir.Topics = append(dir.Topics, sizes)
		}
	}
	c.Answer.Reply(&kmsg.DescribeLogDirsResponse{Version: c.Version, Dirs: []kmsg.DescribeLogDirsResponseDir{dir}})
}

// logSizes describes those of the partitions that exist.
func logSizes(b *broker.Broker, view *catalog.View, topic string, partitions []int32) kmsg.DescribeLogDirsResponseDirTopic {
	answer := kmsg.DescribeLogDirsResponseDirTopic{Topic: topic}
	for _, p := range partitions {
		_, log, err := b.Partition(view, broker.TopicRef{Name: topic}, p)
		if err != nil {
			continue
		}
		answer.Partitions = append(answer.Partitions, kmsg.DescribeLogDirsResponseDirTopicPartition{Partition: p, Size: log.Size()})
	}
	return answer
}

// everyPartition lists the partitions of a topic.
func everyPartition(t *catalog.Topic) []int32 {
	all := make([]int32, t.Partitions)
	for i := range all {
		all[i] = int32(i)
	}
	return all
}

// known is a number of bytes, -1 if there is none that means something.
func known(bytes int64, err error) int64 {
	if err != nil || bytes == math.MaxInt64 {
		return -1
	}
	return bytes
}
