package web

import (
	"cmp"
	"slices"
	"strings"

	"rota/internal/survey"
)

// chooseGroups keeps the groups whose id holds q and that are in the state.
// "rebalancing" is both states of a rebalance.
func chooseGroups(all []survey.Group, q, state string) []survey.Group {
	if q == "" && state == "" {
		return all
	}
	q = strings.ToLower(q)
	return slices.DeleteFunc(all, func(g survey.Group) bool {
		match := state == "" || strings.EqualFold(g.State, state) ||
			state == "rebalancing" && (g.State == "PreparingRebalance" || g.State == "CompletingRebalance")
		return !match || q != "" && !strings.Contains(strings.ToLower(g.ID), q)
	})
}

// sortGroups sorts by a column, "-" before it for the largest first. Ties, and
// unknown columns, are by id.
func sortGroups(all []survey.Group, by string) {
	order(all, by, map[string]func(a, b *survey.Group) int{
		"id":         func(a, b *survey.Group) int { return cmp.Compare(a.ID, b.ID) },
		"state":      func(a, b *survey.Group) int { return cmp.Compare(a.State, b.State) },
		"members":    func(a, b *survey.Group) int { return cmp.Compare(a.Members, b.Members) },
		"lag":        func(a, b *survey.Group) int { return cmp.Compare(a.Lag, b.Lag) },
		"rebalances": func(a, b *survey.Group) int { return cmp.Compare(a.Rebalances, b.Rebalances) },
		"last":       func(a, b *survey.Group) int { return cmp.Compare(lastOf(a), lastOf(b)) },
	})
}

func lastOf(g *survey.Group) int64 {
	if g.Last == nil {
		return 0
	}
	return g.Last.StartedMillis
}

// chooseTopics keeps the topics whose name holds q.
func chooseTopics(all []survey.Topic, q string, internal bool) []survey.Topic {
	q = strings.ToLower(q)
	return slices.DeleteFunc(all, func(t survey.Topic) bool {
		return t.Internal && !internal || !strings.Contains(strings.ToLower(t.Name), q)
	})
}

func sortTopics(all []survey.Topic, by string) {
	order(all, by, map[string]func(a, b *survey.Topic) int{
		"name":       func(a, b *survey.Topic) int { return cmp.Compare(a.Name, b.Name) },
		"partitions": func(a, b *survey.Topic) int { return cmp.Compare(a.Partitions, b.Partitions) },
		"records":    func(a, b *survey.Topic) int { return cmp.Compare(a.Records, b.Records) },
		"bytes":      func(a, b *survey.Topic) int { return cmp.Compare(a.Bytes, b.Bytes) },
	})
}

// order sorts a list that is in its natural order.
func order[T any](all []T, by string, columns map[string]func(a, b *T) int) {
	name, down := strings.CutPrefix(by, "-")
	compare, ok := columns[name]
	if !ok {
		return
	}
	slices.SortStableFunc(all, func(a, b T) int {
		if down {
			return compare(&b, &a)
		}
		return compare(&a, &b)
	})
}
