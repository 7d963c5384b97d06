package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/broker"
)

// AlterConfigs (key 33), versions 0-2: replaces all that is set on a topic or
// a broker. What the request does not name goes back to its default.
// IncrementalAlterConfigs is the better way.
//
//	v1: clients throttle themselves
//	v2: flexible
//
// Broker settings that only a start can change are refused with
// INVALID_REQUEST, topic settings that do not exist or whose value is wrong
// with INVALID_CONFIG.
//
// Not done: throttling.
func alterConfigsAPI() API {
	return API{Key: kmsg.AlterConfigs, Min: 0, Max: 2, Class: Alone, Handle: alterConfigs}
}

func alterConfigs(s *Server, c *Call) {
	req := requestOf[*kmsg.AlterConfigsRequest](c)
	resp := &kmsg.AlterConfigsResponse{Version: c.Version}
	for i, repeated := range distinct(req.Resources, func(r *kmsg.AlterConfigsRequestResource) resource {
		return resource{r.ResourceType, r.ResourceName}
	}) {
		r := &req.Resources[i]
		answer := kmsg.AlterConfigsResponseResource{ResourceType: r.ResourceType, ResourceName: r.ResourceName}
		a := broker.Alteration{Replace: true, ValidateOnly: req.ValidateOnly}
		for _, config := range r.Configs {
			a.Changes = append(a.Changes, broker.Change{Name: config.Name, Op: broker.Set, Value: config.Value})
		}
		refused := s.alter(c.Context, resource{r.ResourceType, r.ResourceName}, repeated, a)
		answer.ErrorCode, answer.ErrorMessage = refused.code, refused.message
		resp.Resources = append(resp.Resources, answer)
	}
	c.Answer.Reply(resp)
}

// resource names what has settings.
type resource struct {
	kind kmsg.ConfigResourceType
	name string
}

// alter changes the settings of one resource; the zero refusal says that it
// was done.
func (s *Server) alter(ctx context.Context, r resource, repeated bool, a broker.Alteration) refusal {
	if repeated {
		return duplicate("resource")
	}
	if err := alterResource(ctx, s.Broker, r, a); err != nil {
		return s.refusal(err)
	}
	return refusal{}
}

func alterResource(ctx context.Context, b *broker.Broker, r resource, a broker.Alteration) error {
	switch r.kind {
	case kmsg.ConfigResourceTypeTopic:
		return b.AlterTopic(ctx, r.name, a)
	case kmsg.ConfigResourceTypeBroker:
		if err := checkNode(b, r.name, true); err != nil {
			return err
		}
		return b.AlterBroker(ctx, r.name != "", a)
	case kmsg.ConfigResourceTypeGroupConfig, kmsg.ConfigResourceTypeClientMetrics, kmsg.ConfigResourceTypeBrokerLogger:
		if len(a.Changes) == 0 {
			return nil
		}
		return broker.Refuse(kerr.InvalidConfig, "Resources of type %d have no settings here.", int8(r.kind))
	case kmsg.ConfigResourceTypeUnknown:
	}
	return unknownResource(r.kind)
}
