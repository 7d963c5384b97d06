package api

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/broker"
)

// AlterReplicaLogDirs (key 34), versions 1-2: moves partitions to another
// folder. This broker has one: to stay in it is granted, any other one is
// refused with LOG_DIR_NOT_FOUND.
//
//	v1: clients throttle themselves
//	v2: flexible
//
// Not done: a second folder.
func alterReplicaLogDirsAPI() API {
	return API{Key: kmsg.AlterReplicaLogDirs, Min: 1, Max: 2, Class: Alone, Handle: alterReplicaLogDirs}
}

func alterReplicaLogDirs(s *Server, c *Call) {
	req := requestOf[*kmsg.AlterReplicaLogDirsRequest](c)
	resp := &kmsg.AlterReplicaLogDirsResponse{Version: c.Version}
	view := s.Broker.Catalog.View()
	for _, dir := range req.Dirs {
		for _, t := range dir.Topics {
			answer := kmsg.AlterReplicaLogDirsResponseTopic{Topic: t.Topic}
			for _, p := range t.Partitions {
				entry := kmsg.AlterReplicaLogDirsResponseTopicPartition{Partition: p}
				if dir.Dir != s.Broker.Config.LogDir {
					entry.ErrorCode = kerr.LogDirNotFound.Code
				} else if _, _, err := s.Broker.Partition(view, broker.TopicRef{Name: t.Topic}, p); err != nil {
					entry.ErrorCode = err.Code
				}
				answer.Partitions = append(answer.Partitions, entry)
			}
			resp.Topics = append(resp.Topics, answer)
		}
	}
	c.Answer.Reply(resp)
}
