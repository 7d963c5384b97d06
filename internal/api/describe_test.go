package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// describe asks for one group.
func describe(c *client, version int16, group string) kmsg.DescribeGroupsResponseGroup {
	c.Helper()
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Groups = []string{group}
	resp := ask[*kmsg.DescribeGroupsResponse](c, version, req)
	if len(resp.Groups) != 1 {
		c.Fatalf("%d groups described, want 1", len(resp.Groups))
	}
	return resp.Groups[0]
}

// deleteOffsets asks to delete a group's offsets.
func deleteOffsets(c *client, group string, topics ...named) *kmsg.OffsetDeleteResponse {
	c.Helper()
	req := kmsg.NewPtrOffsetDeleteRequest()
	req.Group = group
	for _, n := range topics {
		t := kmsg.NewOffsetDeleteRequestTopic()
		t.Topic = n.topic
		for _, p := range n.partitions {
			t.Partitions = append(t.Partitions, kmsg.OffsetDeleteRequestTopicPartition{Partition: p})
		}
		req.Topics = append(req.Topics, t)
	}
	return ask[*kmsg.OffsetDeleteResponse](c, 0, req)
}

// list asks for groups in a form that compares well: "id type state group-type".
func list(c *client, version int16, states, types []string) []string {
	c.Helper()
	req := kmsg.NewPtrListGroupsRequest()
	req.StatesFilter, req.TypesFilter = states, types
	resp := ask[*kmsg.ListGroupsResponse](c, version, req)
	if resp.ErrorCode != 0 {
		c.Fatalf("list: error %d", resp.ErrorCode)
	}
	lines := []string{}
	for _, g := range resp.Groups {
		lines = append(lines, strings.TrimRight(fmt.Sprintf("%s %q %s %s", g.Group, g.ProtocolType, g.GroupState, g.GroupType), " "))
	}
	slices.Sort(lines)
	return lines
}

// deleteGroups asks to delete groups and returns their errors by id.
func deleteGroups(c *client, version int16, groups ...string) map[string]int16 {
	c.Helper()
	req := kmsg.NewPtrDeleteGroupsRequest()
	req.Groups = groups
	codes := map[string]int16{}
	for _, g := range ask[*kmsg.DeleteGroupsResponse](c, version, req).Groups {
		if _, twice := codes[g.Group]; twice {
			c.Errorf("group %s was answered twice", g.Group)
		}
		codes[g.Group] = g.ErrorCode
		if version >= 3 && (g.ErrorCode == 0) != (g.ErrorMessage == nil) {
			c.Errorf("group %s: error %d with message %v", g.Group, g.ErrorCode, g.ErrorMessage)
		}
	}
	return codes
}

const noOperations = -1 << 31

// groupOperations are the bits of read, delete, describe, describe configs and
// alter configs.
const groupOperations = 1<<3 | 1<<6 | 1<<8 | 1<<10 | 1<<11

// B37, O24: what each version says of a group in each state.
func TestDescribeGroupsInEveryVersion(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.topic("t", 1)
		a, b, x := r.client("c1"), r.client("c2"), r.client("admin")
		ma, mb := pair(a, b, "g")
		want := func(state, protocol string) *kmsg.DescribeGroupsResponse {
			g := kmsg.NewDescribeGroupsResponseGroup()
			g.Group, g.State, g.ProtocolType, g.Protocol = "g", state, "consumer", protocol
			return &kmsg.DescribeGroupsResponse{Groups: []kmsg.DescribeGroupsResponseGroup{g}}
		}
		one := func(v int16, operations bool) *kmsg.DescribeGroupsResponse {
			req := kmsg.NewPtrDescribeGroupsRequest()
			req.Groups, req.IncludeAuthorizedOperations = []string{"g"}, operations
			return ask[*kmsg.DescribeGroupsResponse](x, v, req)
		}

		stable := want("Stable", "range")
		stable.Groups[0].Members = []kmsg.DescribeGroupsResponseGroupMember{
			{MemberID: ma.id, ClientID: "c1", ClientHost: "/127.0.0.1", ProtocolMetadata: []byte("sub a"), MemberAssignment: []byte("part a")},
			{MemberID: mb.id, ClientID: "c2", ClientHost: "/127.0.0.1", ProtocolMetadata: []byte("sub b"), MemberAssignment: []byte("part b")},
		}
		eachVersion(r, kmsg.DescribeGroups, func(v int16) {
			equal(t, one(v, false), stable)
			if v >= 3 {
				asked := *stable
				asked.Groups = slices.Clone(stable.Groups)
				asked.Groups[0].AuthorizedOperations = groupOperations
				equal(t, one(v, true), &asked)
			}
		})

		// A third one joins and waits: members are shown, what they offer is not.
		newcomer := r.client("c3")
		newcomer.enter(joinRequest("g", "", []byte("sub c")))
		newcomer.parked()
		preparing := one(5, false)
		if g := preparing.Groups[0]; len(g.Members) != 3 || g.State != "PreparingRebalance" || g.Protocol != "" || g.ProtocolType != "consumer" {
			t.Errorf("preparing: %+v", g)
		}
		for _, m := range preparing.Groups[0].Members {
			if len(m.ProtocolMetadata) != 0 || len(m.MemberAssignment) != 0 {
				t.Errorf("preparing: member %+v has metadata or an assignment", m)
			}
		}
	})
}

func TestDescribeGroupsWithoutMembers(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.topic("t", 1)
		c := r.client("c")
		alone(c, "left", "t").leave()
		c.must(8, commitRequest("simple", commit{topic: "t", offset: 1}))
		eachVersion(r, kmsg.DescribeGroups, func(v int16) {
			req := kmsg.NewPtrDescribeGroupsRequest()
			req.Groups, req.IncludeAuthorizedOperations = []string{"left", "simple", "absent", ""}, v >= 3
			want := kmsg.NewPtrDescribeGroupsResponse()
			for _, line := range []kmsg.DescribeGroupsResponseGroup{
				{Group: "left", State: "Empty", ProtocolType: "consumer", AuthorizedOperations: groupOperations},
				{Group: "simple", State: "Empty", AuthorizedOperations: groupOperations},
				// O23: what is unknown is Dead, and from v6 on not found.
				{Group: "absent", State: "Dead", AuthorizedOperations: groupOperations},
				{Group: "", State: "Dead", AuthorizedOperations: groupOperations},
			} {
				if v >= 6 && line.State == "Dead" {
					line.ErrorCode, line.ErrorMessage, line.AuthorizedOperations = 69, new("There is no group of that id."), noOperations
				}
				want.Groups = append(want.Groups, line)
			}
			equal(t, ask[*kmsg.DescribeGroupsResponse](c, v, req), want)
		})
		none := ask[*kmsg.DescribeGroupsResponse](c, 5, kmsg.NewPtrDescribeGroupsRequest())
		if len(none.Groups) != 0 {
			t.Errorf("nothing was asked for, and %+v answered", none.Groups)
		}
	})
}

// B37 step 5: the instance id of a static member, from v4 on.
func TestDescribeStaticMember(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		c := r.client("c")
		req := joinRequest("g", "", []byte("sub"))
		req.InstanceID = new("i1")
		id := ask[*kmsg.JoinGroupResponse](c, 7, req).MemberID
		if resp := ask[*kmsg.SyncGroupResponse](c, 4, syncRequest("g", id, 1)); resp.ErrorCode != 0 {
			t.Fatalf("sync: error %d", resp.ErrorCode)
		}
		for v, want := range map[int16]*string{3: nil, 4: new("i1"), 6: new("i1")} {
			d := describe(c, v, "g")
			if len(d.Members) != 1 {
				t.Fatalf("v%d: %d members", v, len(d.Members))
			}
			if diff := cmp.Diff(want, d.Members[0].InstanceID); diff != "" {
				t.Errorf("v%d: instance id (-want +got):\n%s", v, diff)
			}
		}
	})
}

// O25 and the fields of each version.
func TestListGroupsFilters(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.topic("t", 1)
		c := r.client("c")
		alone(c, "stable", "t")
		alone(r.client("d"), "left", "t").leave()
		c.must(8, commitRequest("simple", commit{topic: "t", offset: 1}))

		const stable, left, simple = `stable "consumer" Stable classic`, `left "consumer" Empty classic`, `simple "" Empty classic`
		tests := []struct {
			name          string
			version       int16
			states, types []string
			want          []string
		}{
			{"v0", 0, nil, nil, []string{`left "consumer"`, `simple ""`, `stable "consumer"`}},
			{"v3", 3, nil, nil, []string{`left "consumer"`, `simple ""`, `stable "consumer"`}},
			{"v4 has states", 4, nil, nil, []string{`left "consumer" Empty`, `simple "" Empty`, `stable "consumer" Stable`}},
			{"v5 has types", 5, nil, nil, []string{left, simple, stable}},
			{"a state with space around", 5, []string{" stable "}, nil, []string{stable}},
			{"a type in capitals", 5, nil, []string{"CLASSIC"}, []string{left, simple, stable}},
			{"an unknown type", 5, nil, []string{"bogus"}, []string{}},
			{"an unknown state", 4, []string{"bogus"}, nil, []string{}},
			{"one of several states", 5, []string{"Dead", "EMPTY"}, []string{"consumer", "classic"}, []string{left, simple}},
			{"both must match", 5, []string{"Stable"}, []string{"share"}, []string{}},
		}
		for _, test := range tests {
			if diff := cmp.Diff(test.want, list(c, test.version, test.states, test.types)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.name, diff)
			}
		}
	})
}

// O21, O22, B35: deletion of groups, over a restart.
func TestDeleteGroups(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.topic("t", 2)
		r.topic("u", 1)
		c := r.client("c")
		eachVersion(r, kmsg.DeleteGroups, func(v int16) {
			group, live := fmt.Sprint("g", v), fmt.Sprint("live", v)
			c.must(8, commitRequest(group, commit{topic: "t", offset: 1}, commit{topic: "t", partition: 1, offset: 2}, commit{topic: "u", offset: 3}))
			m := alone(r.client("m"), live, "t")
			m.must(8, by(m, commitRequest(live, commit{topic: "t", offset: 9})))

			got := deleteGroups(c, v, group, "absent", live, group)
			if diff := cmp.Diff(map[string]int16{group: 0, "absent": 69, live: 68}, got); diff != "" {
				t.Errorf("v%d (-want +got):\n%s", v, diff)
			}
			gone := func() {
				t.Helper()
				for _, line := range list(r.client("lister"), 0, nil, nil) {
					if strings.HasPrefix(line, group+" ") {
						t.Errorf("v%d: %s is still listed", v, line)
					}
				}
				x := r.client("x")
				if code, all := x.offsets(8, group, nil); code != 0 || len(all) != 0 {
					t.Errorf("v%d: error %d, offsets %+v, want none", v, code, all)
				}
				if got := x.offset(group, "t", 1); got != -1 {
					t.Errorf("v%d: offset %d, want -1", v, got)
				}
				if got := x.offset(live, "t", 0); got != 9 {
					t.Errorf("v%d: the other group's offset is %d, want 9", v, got)
				}
			}
			gone()
			r.restart()
			gone()
			c = r.client("c")
		})
	})
}

// O20, B21: which offsets may be deleted.
func TestOffsetDelete(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.topic("t", 1)
		r.topic("u", 1)
		c := r.client("c")
		topicsOf := func(resp *kmsg.OffsetDeleteResponse) []string {
			lines := []string{fmt.Sprint("top ", resp.ErrorCode)}
			for _, topic := range resp.Topics {
				for _, p := range topic.Partitions {
					lines = append(lines, fmt.Sprintf("%s-%d %d", topic.Topic, p.Partition, p.ErrorCode))
				}
			}
			return lines
		}
		expect := func(name string, resp *kmsg.OffsetDeleteResponse, want ...string) {
			t.Helper()
			if diff := cmp.Diff(want, topicsOf(resp), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}

		// A group that only stores offsets.
		c.must(8, commitRequest("g", commit{topic: "t", offset: 1}, commit{topic: "u", offset: 1}))
		expect("simple group", deleteOffsets(c, "g", named{"t", []int32{0}}), "top 0", "t-0 0")
		if got := c.offset("g", "t", 0); got != -1 {
			t.Errorf("the deleted offset is %d", got)
		}
		if got := c.offset("g", "u", 0); got != 1 {
			t.Errorf("the other offset is %d, want 1", got)
		}

		// A live consumer group keeps the topics that it subscribes to.
		m := alone(r.client("m"), "g2", "t")
		m.must(8, by(m, commitRequest("g2", commit{topic: "t", offset: 5}, commit{topic: "u", offset: 6})))
		expect("live group",
			deleteOffsets(c, "g2", named{"t", []int32{0}}, named{"u", []int32{0, 99}}, named{"nosuch", []int32{0}}),
			"top 0", "t-0 86", "u-0 0", "u-99 3", "nosuch-0 3")
		if got := c.offset("g2", "u", 0); got != -1 {
			t.Errorf("the offset of the topic that nobody subscribes to is %d", got)
		}

		// Of another protocol nobody knows the subscriptions.
		connect := joinRequest("g3", "", []byte("x"))
		connect.ProtocolType = "connect"
		aloneWith(r.client("n"), connect, nil)
		expect("connect", deleteOffsets(c, "g3", named{"t", []int32{0}}), "top 68")

		expect("unknown group", deleteOffsets(c, "absent", named{"t", []int32{0}}), "top 69")
		expect("unknown group, no such topic", deleteOffsets(c, "absent", named{"nosuch", []int32{0}}), "top 69")
		expect("no group id", deleteOffsets(c, "", named{"t", []int32{0}}), "top 24")
		expect("nothing named", deleteOffsets(c, "g"), "top 0")
	})
}
