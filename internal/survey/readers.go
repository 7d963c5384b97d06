package survey

import "context"

// Readers lists the groups that have committed offsets of a topic; Partitions and
// Lag are those of the topic. Errors: those of Groups.
func (s *Source) Readers(ctx context.Context, topic string) ([]Group, error) {
	all, code, err := s.Coordinator.Overview(ctx)
	if err != nil {
		return nil, err
	}
	if code != 0 {
		return nil, ErrLoading
	}
	ends := s.ends()
	var list []Group
	for i := range all {
		v := &all[i]
		g := Group{ID: v.ID, State: v.State.String(), SinceMillis: v.SinceMillis, Generation: v.Generation, Members: v.MemberCount}
		for j := range v.Offsets {
			o := &v.Offsets[j]
			if o.Topic != topic {
				continue
			}
			g.Partitions++
			if b, ok := ends.of(o.Topic, o.Partition); ok {
				g.Lag += behind(o.Offset, b)
			}
		}
		if g.Partitions > 0 {
			list = append(list, g)
		}
	}
	return list, nil
}
