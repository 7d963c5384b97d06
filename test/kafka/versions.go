package kafka

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// absence is why Rota does not serve requests that Kafka serves.
type absence struct {
	why  string
	keys []kmsg.Key
}

var absences = []absence{
	{"there is no authentication", []kmsg.Key{
		kmsg.SASLHandshake, kmsg.SASLAuthenticate, kmsg.CreateDelegationToken, kmsg.RenewDelegationToken,
		kmsg.ExpireDelegationToken, kmsg.DescribeDelegationToken, kmsg.AlterUserSCRAMCredentials,
	}},
	{"there are no quotas", []kmsg.Key{kmsg.AlterClientQuotas}},
	{"there is one broker, which is its own controller", []kmsg.Key{
		kmsg.UnregisterBroker, kmsg.UnregisterController, kmsg.AddRaftVoter, kmsg.RemoveRaftVoter,
	}},
	{"groups speak the classic protocol", []kmsg.Key{kmsg.ConsumerGroupHeartbeat, kmsg.ConsumerGroupDescribe}},
	{"there are no share groups", []kmsg.Key{
		kmsg.ShareGroupHeartbeat, kmsg.ShareGroupDescribe, kmsg.ShareFetch, kmsg.ShareAcknowledge, kmsg.InitializeShareGroupState,
		kmsg.ReadShareGroupState, kmsg.WriteShareGroupState, kmsg.DeleteShareGroupState, kmsg.ReadShareGroupStateSummary,
		kmsg.DescribeShareGroupOffsets, kmsg.AlterShareGroupOffsets, kmsg.DeleteShareGroupOffsets,
	}},
	{"there are no streams groups; Streams works in classic ones", []kmsg.Key{
		kmsg.StreamsGroupHeartbeat, kmsg.StreamsGroupDescribe, kmsg.StreamsGroupTopologyDescriptionUpdate,
	}},
}

// served is what a broker says that it serves.
func served(ctx context.Context, addr string) ([]kmsg.ApiVersionsResponseApiKey, error) {
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr))
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	resp, err := kmsg.NewPtrApiVersionsRequest().RequestWith(ctx, cl)
	if err != nil {
		return nil, err
	}
	return resp.ApiKeys, nil
}

// versions compares what is served: the part of the page about it, and what
// nothing explains.
func versions(ours, theirs []kmsg.ApiVersionsResponseApiKey) (page string, unexplained []string) {
	find := func(list []kmsg.ApiVersionsResponseApiKey, key int16) *kmsg.ApiVersionsResponseApiKey {
		if i := slices.IndexFunc(list, func(k kmsg.ApiVersionsResponseApiKey) bool { return k.ApiKey == key }); i >= 0 {
			return &list[i]
		}
		return nil
	}
	absent := make([][]string, len(absences))
	same := 0
	for _, k := range theirs {
		our := find(ours, k.ApiKey)
		at := slices.IndexFunc(absences, func(a absence) bool { return slices.Contains(a.keys, kmsg.Key(k.ApiKey)) })
		switch {
		case our != nil && our.MinVersion == k.MinVersion && our.MaxVersion == k.MaxVersion:
			same++
		case our != nil:
			unexplained = append(unexplained, fmt.Sprintf("%s: Rota serves %d-%d, Kafka %d-%d", nameOf(k.ApiKey), our.MinVersion, our.MaxVersion, k.MinVersion, k.MaxVersion))
		case at < 0:
			unexplained = append(unexplained, fmt.Sprintf("%s: Kafka serves %d-%d", nameOf(k.ApiKey), k.MinVersion, k.MaxVersion))
		default:
			absent[at] = append(absent[at], nameOf(k.ApiKey))
		}
	}
	for _, k := range ours {
		if find(theirs, k.ApiKey) == nil {
			unexplained = append(unexplained, nameOf(k.ApiKey)+": Kafka does not serve it")
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n## Requests\n\nApache Kafka %s names %d requests in ApiVersions. Rota serves %d of them, in the same versions. The others:\n\n", Version, len(theirs), same)
	for i, names := range absent {
		if len(names) > 0 {
			fmt.Fprintf(&b, "- %s: %s\n", absences[i].why, strings.Join(names, ", "))
		}
	}
	b.WriteString("\nVersions that Kafka has built and serves only with `unstable.api.versions.enable`, such as InitProducerID v6 (two-phase\n" +
		"commit, KIP-939), Rota does not serve.\n")
	for _, u := range unexplained {
		fmt.Fprintf(&b, "- not explained: %s\n", u)
	}
	return b.String(), unexplained
}

func nameOf(key int16) string { return fmt.Sprintf("%s (%d)", kmsg.NameForKey(key), key) }
