package api

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/broker"
)

// DescribeConfigs (key 32), versions 1-4: the settings of topics and of the
// broker, what they are set to and by whom.
//
//	v1: Source and ConfigSynonyms in place of IsDefault (KIP-226)
//	v2: clients throttle themselves
//	v3: ConfigType, and Documentation if asked for (KIP-569)
//	v4: flexible
//
// Of groups, client metrics and broker loggers there is nothing to set: they
// are answered with no settings.
//
// Not done: throttling.
func describeConfigsAPI() API {
	return API{Key: kmsg.DescribeConfigs, Min: 1, Max: 4, Class: Alone, Handle: describeConfigs}
}

func describeConfigs(s *Server, c *Call) {
	req := requestOf[*kmsg.DescribeConfigsRequest](c)
	resp := &kmsg.DescribeConfigsResponse{Version: c.Version, Resources: make([]kmsg.DescribeConfigsResponseResource, len(req.Resources))}
	for i := range req.Resources {
		r, answer := &req.Resources[i], &resp.Resources[i]
		answer.ResourceType, answer.ResourceName = r.ResourceType, r.ResourceName
		answer.Configs = []kmsg.DescribeConfigsResponseResourceConfig{}
		entries, err := configsOf(s.Broker, r.ResourceType, r.ResourceName)
		if err != nil {
			refused := s.refusal(err)
			answer.ErrorCode, answer.ErrorMessage = refused.code, refused.message
			continue
		}
		for _, e := range entries {
			if r.ConfigNames != nil && !slices.Contains(r.ConfigNames, e.Name) {
				continue
			}
			answer.Configs = append(answer.Configs, describedConfig(e, req))
		}
	}
	c.Answer.Reply(resp)
}

// configsOf lists the settings of what a request names.
func configsOf(b *broker.Broker, kind kmsg.ConfigResourceType, name string) ([]broker.ConfigEntry, error) {
	switch kind {
	case kmsg.ConfigResourceTypeTopic:
		if err := broker.CheckTopicName(name); err != nil {
			return nil, err
		}
		t, ok := b.Catalog.View().Topic(name)
		if !ok {
			return nil, broker.Refuse(kerr.UnknownTopicOrPartition, "There is no topic of that name.")
		}
		return b.DescribeTopic(t), nil
	case kmsg.ConfigResourceTypeBroker:
		return b.DescribeBroker(name != ""), checkNode(b, name, true)
	case kmsg.ConfigResourceTypeBrokerLogger:
		return nil, checkNode(b, name, false)
	case kmsg.ConfigResourceTypeGroupConfig, kmsg.ConfigResourceTypeClientMetrics:
		if name == "" {
			return nil, broker.Refuse(kerr.InvalidRequest, "The name of the resource is empty.")
		}
		return nil, nil
	case kmsg.ConfigResourceTypeUnknown:
	}
	return nil, unknownResource(kind)
}

// checkNode refuses what is not the id of this broker, or "" for all brokers
// where that makes sense.
func checkNode(b *broker.Broker, name string, all bool) error {
	if b.OwnNode(name) || all && name == "" {
		return nil
	}
	return broker.Refuse(kerr.InvalidRequest, "This is broker %d, and the request names another one.", b.Config.NodeID)
}

func unknownResource(kind kmsg.ConfigResourceType) error {
	return broker.Refuse(kerr.InvalidRequest, "There are no settings of resources of type %d.", int8(kind))
}

func describedConfig(e broker.ConfigEntry, req *kmsg.DescribeConfigsRequest) kmsg.DescribeConfigsResponseResourceConfig {
	d := kmsg.DescribeConfigsResponseResourceConfig{
		Name:       e.Name,
		Value:      e.Value,
		ReadOnly:   e.ReadOnly,
		IsDefault:  e.Source == broker.Default,
		Source:     kmsg.ConfigSource(e.Source),
		ConfigType: kmsg.ConfigType(e.Kind),
	}
	if req.IncludeSynonyms {
		d.ConfigSynonyms = make([]kmsg.DescribeConfigsResponseResourceConfigConfigSynonym, len(e.Synonyms))
		for i := range e.Synonyms {
			v := &e.Synonyms[i]
			d.ConfigSynonyms[i] = kmsg.DescribeConfigsResponseResourceConfigConfigSynonym{
				Name: v.Name, Value: &v.Value, Source: kmsg.ConfigSource(v.Source),
			}
		}
	}
	if req.IncludeDocumentation {
		d.Documentation = &e.Doc
	}
	return d
}
