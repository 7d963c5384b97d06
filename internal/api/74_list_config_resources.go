package api

import (
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ListConfigResources (key 74), versions 0-1: lists what DescribeConfigs can
// be asked about.
//
//	v0: subscriptions of client metrics, of which there are none (KIP-714)
//	v1: ResourceTypes: topics, brokers, broker loggers, client metrics and groups; none means all (KIP-1142)
//
// Groups are listed if settings were made for them, and there are none to
// make. Another type is refused with UNSUPPORTED_VERSION.
//
// Not done: throttling.
func listConfigResourcesAPI() API {
	return API{Key: kmsg.ListConfigResources, Min: 0, Max: 1, Class: Alone, Handle: listConfigResources}
}

func listConfigResources(s *Server, c *Call) {
	req := requestOf[*kmsg.ListConfigResourcesRequest](c)
	resp := &kmsg.ListConfigResourcesResponse{Version: c.Version}
	if c.Version == 0 {
		c.Answer.Reply(resp)
		return
	}
	list := func(kind kmsg.ConfigResourceType, name string) {
		resp.ConfigResources = append(resp.ConfigResources, kmsg.ListConfigResourcesResponseConfigResource{Name: name, Type: int8(kind)})
	}
	node := strconv.Itoa(int(s.Broker.Config.NodeID))
	for _, kind := range wantedResources(req.ResourceTypes) {
		switch kind {
		case kmsg.ConfigResourceTypeTopic:
			for _, t := range s.Broker.Catalog.View().Topics() {
				list(kind, t.Name)
			}
		case kmsg.ConfigResourceTypeBroker, kmsg.ConfigResourceTypeBrokerLogger:
			list(kind, node)
		case kmsg.ConfigResourceTypeClientMetrics, kmsg.ConfigResourceTypeGroupConfig:
		default:
			c.Answer.Reply(&kmsg.ListConfigResourcesResponse{Version: c.Version, ErrorCode: kerr.UnsupportedVersion.Code})
			return
		}
	}
	c.Answer.Reply(resp)
}

// wantedResources lists each type that is asked for once, all if none is.
func wantedResources(types []int8) []kmsg.ConfigResourceType {
	if len(types) == 0 {
		return []kmsg.ConfigResourceType{
			kmsg.ConfigResourceTypeTopic, kmsg.ConfigResourceTypeBroker, kmsg.ConfigResourceTypeBrokerLogger,
			kmsg.ConfigResourceTypeClientMetrics, kmsg.ConfigResourceTypeGroupConfig,
		}
	}
	var wanted []kmsg.ConfigResourceType
	for _, t := range types {
		if kind := kmsg.ConfigResourceType(t); !slices.Contains(wanted, kind) {
			wanted = append(wanted, kind)
		}
	}
	return wanted
}
