package explore

import (
	"fmt"
	"slices"
	"strings"
)

// report is one entry of the list of public fault reports: what users of
// Kafka-compatible brokers have run into.
type report struct {
	id, kind, says string
	// waits says what the entry needs that does not exist yet.
	waits string
}

const (
	for848   = "groups of the next protocol (KIP-848) are not built yet"
	forShare = "share groups are not built yet"
)

// reports is the list, in the order of its numbers.
var reports = []report{
	{"B01", "join and sync", "a consumer that arrives between the leader's join and its sync is left without partitions", ""},
	{"B03", "join and sync", "a member goes away during a rebalance, and the others hang", ""},
	{"B04", "join and sync", "the first request of a member that has tried again is never answered", ""},
	{"B05", "join and sync", "a follower's harmless rejoin costs it its assignment, or starts a rebalance", ""},
	{"B06", "member ids", "two consumers with one client id are taken for one member", ""},
	{"B07", "member ids", "an id that never comes back blocks the rebalance", ""},
	{"B09", "static members", "a static member that restarts during a rebalance is left without partitions", ""},
	{"B10", "static members", "a static leader that restarts does not know that it leads", ""},
	{"B12", "static members", "two processes with one instance id push each other out", ""},
	{"B13", "static members", "a consumer with an instance id cannot commit to an empty group", ""},
	{"B14", "timers", "clients of JoinGroup 0 are thrown out again and again", ""},
	{"B16", "timers", "a member that has been dropped causes one more rebalance when its old timer fires", ""},
	{"B17", "timers", "a member that heartbeats but never syncs leaves the group hanging", ""},
	{"B18", "timers", "members that heartbeat during a long rebalance are thrown out", ""},
	{"B19", "offsets", "offsets vanish right after a commit: a retention of 0 and of -1 are mixed up", ""},
	{"B21", "offsets", "offsets of a group without members cannot be deleted", ""},
	{"B22", "offsets", "a topic is made anew, and the group goes on at the old one's offset", ""},
	{"B23", "offsets", "resetting offsets from outside works only sometimes", ""},
	{"B24", "offsets", "a commit is answered before it is stored", ""},
	{"B25", "offsets", "the leader epoch of an offset gets lost, partitions are missing in answers", ""},
	{"B26", "transactions", "a stable answer is not given in the grouped form of OffsetFetch", ""},
	{"B27", "transactions", "a transaction that ends during a rebalance leaves its offsets unstable for ever", ""},
	{"B29", "transactions", "a plain commit is overwritten by an older one of a transaction", ""},
	{"B30", "transactions", "a group that has nothing but an open transaction is swept away", ""},
	{"B32", "loading", "while the coordinator loads, clients are told that it is another broker", ""},
	{"B33", "loading", "after a move all members are unknown, and the group rebalances for nothing", ""},
	{"B35", "loading", "a deleted group comes back after a restart", ""},
	{"B36", "loading", "an empty group changes its type over a restart; offsets of old records expire at once", ""},
	{"B37", "describe and list", "tools show members without topics", ""},
	{"B39", "encoding", "the first ApiVersions of a newer client is answered in a form that it cannot read", ""},
	{"B40", "encoding", "an older client concludes that there is no compression", ""},
	{"B41", "encoding", "a Fetch is answered with records that are null", ""},
	{"B43", "encoding", "an old client reads \"no offset\" where there is an error of the group", ""},
	{"B44", "encoding", "all topics and no topics are mixed up", ""},
	{"B46", "encoding", "null and empty strings are mixed up", ""},
	{"B47", "encoding", "bytes that belong to clients are read, rewritten or repaired", ""},
	{"B48", "encoding", "the batch form of FindCoordinator names no coordinator", ""},
	{"B50", "encoding", "group ids with unusual letters break stores and tools", ""},
	{"B51", "topics", "the first use of a topic that does not exist fails for good, or makes it where it must not", ""},
	{"B52", "encoding", "partitions that were never committed are missing in an OffsetFetch", ""},
	{"B53", "fetch and produce", "a fetch of a session in which nothing has changed returns at once", ""},
	{"B54", "fetch and produce", "a batch that is larger than the limits of a fetch stalls the consumer", ""},
	{"B56", "fetch and produce", "idempotent producers see duplicates and gaps that are none", ""},
	{"B57", "compaction", "after compaction the coordinator cannot load", ""},
	{"B58", "compaction", "transactional offsets vanish by compaction", ""},
	{"B60", "limits", "a few bytes that claim to be many make the broker reserve memory", ""},
	{"B61", "limits", "the record of a group grows over the limit", ""},
	{"B62", "next protocol", "a member that was fenced cannot come back under its id", for848},
	{"B63", "next protocol", "clients that make their own member id are refused", for848},
	{"B65", "share groups", "acknowledgements in a fetch count twice", forShare},
	{"B66", "share groups", "the end of a session leaves its records locked", forShare},
}

// reportsPage writes the table. tested are the tests of each entry; missing
// are entries that have neither tests nor a reason to wait.
func reportsPage(tested map[string][]string) (text string, missing []string) {
	var b strings.Builder
	b.WriteString(`# Public fault reports, and what replays them

Generated by ` + "`make docs`" + `; ` + "`go test ./internal/explore`" + ` fails when it is out of date, or when an entry has neither a test
nor a reason to wait. The entries are faults that users of Kafka-compatible brokers have reported in public. Scenario files
name their source; Go tests name the entry in the comment above them.

| Entry | Kind | What went wrong there | Replayed here by |
|---|---|---|---|
`)
	for i := range reports {
		r := &reports[i]
		by := slices.Clone(tested[r.id])
		slices.Sort(by)
		how := strings.Join(slices.Compact(by), ", ")
		switch {
		case r.waits != "" && how == "":
			how = "waits: " + r.waits
		case r.waits != "":
			how += "; the rest waits: " + r.waits
		case how == "":
			missing = append(missing, r.id+": "+r.says)
			how = "**untested**"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", r.id, r.kind, r.says, how)
	}
	return b.String(), missing
}
