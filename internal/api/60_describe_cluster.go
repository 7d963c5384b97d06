package api

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// DescribeCluster (key 60), versions 0-2: the cluster's id, its brokers and
// which of them takes changes (KIP-700).
//
//	v1: EndpointType: 1 for brokers, 2 for controllers (KIP-919)
//	v2: IncludeFencedBrokers (KIP-1073)
//
// Not done: throttling.
func describeClusterAPI() API {
	return API{Key: kmsg.DescribeCluster, Min: 0, Max: 2, Class: Alone, Handle: describeCluster}
}

// The endpoint types of DescribeCluster.
const (
	brokerEndpoint     = 1
	controllerEndpoint = 2
)

func describeCluster(s *Server, c *Call) {
	req := requestOf[*kmsg.DescribeClusterRequest](c)
	resp := &kmsg.DescribeClusterResponse{
		Version:                     c.Version,
		EndpointType:                brokerEndpoint,
		ControllerID:                -1,
		ClusterAuthorizedOperations: notAsked,
	}
	if c.Version >= 1 && req.EndpointType != brokerEndpoint {
		r := refuse(kerr.UnsupportedEndpointType, "There are endpoints of type 1 (brokers) and 2 (controllers) only.")
		if req.EndpointType == controllerEndpoint {
			r = refuse(kerr.MismatchedEndpointType, "This is the endpoint of a broker, not of a controller.")
		}
		resp.ErrorCode, resp.ErrorMessage = r.code, r.message
		c.Answer.Reply(resp)
		return
	}
	node := s.Broker.Config.NodeID
	resp.ClusterID = s.Broker.Catalog.ClusterID()
	resp.ControllerID = node
	resp.Brokers = []kmsg.DescribeClusterResponseBroker{{NodeID: node, Host: c.Listener.Host, Port: c.Listener.Port}}
	if req.IncludeClusterAuthorizedOperations {
		resp.ClusterAuthorizedOperations = clusterOperations
	}
	c.Answer.Reply(resp)
}
