package api

import "github.com/twmb/franz-go/pkg/kmsg"

// ListPartitionReassignments (key 46), version 0: lists the partitions that
// are on their way to other brokers (KIP-455). There is one broker, and the
// list is empty.
//
// Not done: throttling; the timeout, since nothing takes time.
func listPartitionReassignmentsAPI() API {
	return API{Key: kmsg.ListPartitionReassignments, Min: 0, Max: 0, Class: Alone, Handle: listPartitionReassignments}
}

func listPartitionReassignments(_ *Server, c *Call) {
	c.Answer.Reply(&kmsg.ListPartitionReassignmentsResponse{Version: c.Version})
}
