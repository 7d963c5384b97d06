package group

import "slices"

// consumerType is the protocol type whose subscriptions a broker can read.
const consumerType = "consumer"

// deleteOffsets runs an OffsetDelete (KIP-496): offsets of topics that nobody
// in the group subscribes to.
func (g *Group) deleteOffsets(t Ticket, r *DeleteOffsets) {
	refused := codeNone
	switch {
	case g.id == "":
		refused = codeInvalidGroupID
	case !g.Exists():
		refused = codeGroupIDNotFound
	case g.state != Empty && g.protocolType != consumerType:
		refused = codeNonEmptyGroup
	}
	if refused != codeNone {
		g.reply(t, DependsStep, DeletedOffsets{Code: refused})
		return
	}
	answer := DeletedOffsets{Codes: make([]Code, len(r.Partitions))}
	var gone []TopicPartition
	for i, tp := range r.Partitions {
		if g.subscribesTo(tp.Topic) {
			answer.Codes[i] = codeGroupSubscribedToTopic
		} else if g.log.holdsOffset(tp) {
			gone = append(gone, tp)
		}
	}
	slices.SortFunc(gone, comparePartitions)
	g.appendTombstones(slices.Compact(gone))
	g.reply(t, DependsStep, answer)
}

// subscribesTo reports whether a member subscribes to the topic. While a
// consumer group's topics are not known it may be any.
func (g *Group) subscribesTo(topic string) bool {
	if g.subscribed == nil {
		return g.protocolType == consumerType
	}
	_, ok := g.subscribed[topic]
	return ok
}

// forgetTopic removes the offsets of a topic that was deleted, save those that
// name another topic of that name by its id. The group stays.
func (g *Group) forgetTopic(t Ticket, r *ForgetTopic) {
	var gone []TopicPartition
	for _, tp := range g.allPartitions() {
		if tp.Topic == r.Topic && !g.holdsOtherID(tp, r.ID) {
			gone = append(gone, tp)
		}
	}
	g.appendTombstones(gone)
	g.reply(t, DependsStep, Forgotten{})
}

// holdsOtherID reports whether an offset of the partition, committed or open,
// was stored for a topic with another id.
func (g *Group) holdsOtherID(tp TopicPartition, id [16]byte) bool {
	other := func(o offset, ok bool) bool { return ok && o.TopicID != [16]byte{} && o.TopicID != id }
	if o, ok := g.log.committed.get(tp); other(o, ok) {
		return true
	}
	if g.log.unstable[tp] == 0 {
		return false
	}
	for _, offsets := range g.log.open {
		if o, ok := offsets[tp]; other(o, ok) {
			return true
		}
	}
	return false
}

// allPartitions lists the partitions that have an offset, committed or open,
// by topic and partition.
func (g *Group) allPartitions() []TopicPartition {
	list := append(g.log.committed.partitions(), sortedPartitions(g.log.unstable)...)
	slices.SortFunc(list, comparePartitions)
	return slices.Compact(list)
}

// delete runs one group's part of a DeleteGroups.
func (g *Group) delete(t Ticket) {
	code := codeNone
	switch {
	case !g.Exists():
		code = codeGroupIDNotFound
	case g.state != Empty:
		code = codeNonEmptyGroup
	default:
		g.bury(CauseOperator)
	}
	g.reply(t, DependsStep, Deleted{Code: code})
}

// bury removes an empty group and all it holds. What is left does not exist.
func (g *Group) bury(why Cause) {
	if g.state != Empty {
		panic("group: burial in state " + g.state.String())
	}
	g.emit(GroupDeleted).Cause = why
	g.appendTombstones(g.allPartitions())
	g.appendGroupTombstone()
	for _, p := range g.pendingInOrder() {
		g.dropPending(p)
	}
	g.since, g.generation, g.skipTo, g.forgotten = 0, 0, 0, [2]int32{}
	g.protocolType, g.subscribed = "", nil
}
