package group

import (
	"bytes"

	"rota/internal/schema"
)

// topicSet is a set of topic names; nil if it is not known.
type topicSet map[string]struct{}

// subscriptions are the topics that members subscribe to, as far as a broker
// can tell: nil unless the group consists of consumers whose metadata can be
// read.
func (g *Group) subscriptions() topicSet {
	if g.protocolType != consumerType {
		return nil
	}
	set := topicSet{}
	var last []byte
	for _, m := range g.order {
		metadata := m.metadata(g.protocolName)
		if last != nil && bytes.Equal(metadata, last) {
			continue // members of one program mostly say the same
		}
		topics, err := schema.SubscribedTopics(metadata)
		if err != nil {
			return nil
		}
		for _, topic := range topics {
			set[topic] = struct{}{}
		}
		last = metadata
	}
	return set
}
