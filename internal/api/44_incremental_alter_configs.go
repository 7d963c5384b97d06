package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/broker"
)

// IncrementalAlterConfigs (key 44), versions 0-1: sets and unsets settings of
// topics and brokers one by one, adds to lists and takes away (KIP-339).
//
//	v1: flexible
//
// All changes of one resource are made, or none. Broker settings that only a
// start can change are refused with INVALID_REQUEST, topic settings that do
// not exist or whose value is wrong with INVALID_CONFIG.
//
// Not done: throttling.
func incrementalAlterConfigsAPI() API {
	return API{Key: kmsg.IncrementalAlterConfigs, Min: 0, Max: 1, Class: Alone, Handle: incrementalAlterConfigs}
}

func incrementalAlterConfigs(s *Server, c *Call) {
	req := requestOf[*kmsg.IncrementalAlterConfigsRequest](c)
	resp := &kmsg.IncrementalAlterConfigsResponse{Version: c.Version}
	for i, repeated := range distinct(req.Resources, func(r *kmsg.IncrementalAlterConfigsRequestResource) resource {
		return resource{r.ResourceType, r.ResourceName}
	}) {
		r := &req.Resources[i]
		answer := kmsg.IncrementalAlterConfigsResponseResource{ResourceType: r.ResourceType, ResourceName: r.ResourceName}
		a := broker.Alteration{ValidateOnly: req.ValidateOnly}
		for _, config := range r.Configs {
			a.Changes = append(a.Changes, broker.Change{Name: config.Name, Op: broker.Op(config.Op), Value: config.Value})
		}
		refused := s.alter(c.Context, resource{r.ResourceType, r.ResourceName}, repeated, a)
		answer.ErrorCode, answer.ErrorMessage = refused.code, refused.message
		resp.Resources = append(resp.Resources, answer)
	}
	c.Answer.Reply(resp)
}
