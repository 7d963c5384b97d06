package kafka

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

const groups = "consumer.group.ConsumerGroupCommand"

// commit gives a group without members offset n in partitions 0 and 1 of t.
func (b *bench) commit(group string, n int64) {
	b.Helper()
	var o kadm.Offsets
	o.AddOffset("t", 0, n, -1)
	o.AddOffset("t", 1, n, -1)
	if err := b.admin.CommitAllOffsets(b.Context(), group, o); err != nil {
		b.Fatal(err)
	}
}

// offset is what the group has committed for partition 0 of t.
func (b *bench) offset(group string) int64 {
	b.Helper()
	offsets, err := b.admin.FetchOffsets(b.Context(), group)
	if err != nil {
		b.Fatal(err)
	}
	o, ok := offsets.Lookup("t", 0)
	if !ok {
		return -1
	}
	return o.At
}

func TestToolsGroups(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.fill("t", 2, 10)
	b.commit("idle", 3)
	member, err := kgo.NewClient(kgo.SeedBrokers(b.broker.Addr), kgo.ConsumeTopics("t"), kgo.ConsumerGroup("busy"), kgo.ClientID("me"),
		kgo.DisableAutoCommit(), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.Balancers(kgo.RangeBalancer()))
	if err != nil {
		t.Fatal(err)
	}
	defer member.Close()
	ctx, cancel := context.WithTimeout(t.Context(), ready)
	defer cancel()
	for n := 0; n < 20; {
		f := member.PollFetches(ctx)
		if err := f.Err(); err != nil {
			t.Fatal(err)
		}
		n += f.NumRecords()
	}
	if err := member.CommitUncommittedOffsets(ctx); err != nil {
		t.Fatal(err)
	}

	b.use(groups, words("--list"), `^busy$`, `^idle$`)
	b.use(groups, words("--list --state"), `^busy\s+Stable`, `^idle\s+Empty`)
	b.use(groups, words("--list --state stable"), `^busy\s`, `!^idle`)
	b.use(groups, words("--describe --group busy"), `^busy\s+t\s+0\s+10\s+10\s+0\s+\S+\s+/127.0.0.1\s+me`)
	b.use(groups, words("--describe --group idle"), `^idle\s+t\s+1\s+3\s+10\s+7\s+-\s+-\s+-`)
	b.use(groups, words("--describe --group busy --members --verbose"), `^busy\s+\S+\s+/127.0.0.1\s+me\s+2\s.*\st(\(0,1\)|:0,1)`)
	b.use(groups, words("--describe --group busy --state"), `^busy\s+127.0.0.1:\d+\s+\(1\)\s+range\s+Stable\s+1`)
	b.use(groups, words("--describe --all-groups --state"), `^idle\s`, `^busy\s`)
}

func TestToolsResetOffsets(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.fill("t", 2, 10)
	b.commit("g", 3)
	base := "--reset-offsets --group g --topic t "
	b.use(groups, words(base+"--to-earliest --dry-run"), `^g\s+t\s+0\s+0`)
	if got := b.offset("g"); got != 3 {
		t.Errorf("a dry run committed %d", got)
	}
	for _, form := range []struct {
		option string
		want   int64
	}{
		{"--to-earliest", 0},
		{"--to-offset 5", 5},
		{"--shift-by -2", 3},
		{"--to-datetime 1970-01-01T00:00:06.000Z", 6},
		{"--to-latest", 10},
		{"--by-duration P10D", 10}, // all records are older: the end
		{"--to-current", 10},
	} {
		b.use(groups, words(base+form.option+" --execute"), `^g\s+t\s+0\s+`)
		if got := b.offset("g"); got != form.want {
			t.Errorf("%s committed %d, want %d", form.option, got, form.want)
		}
	}
	exported := b.use(groups, words("--reset-offsets --group g --topic t:0 --to-offset 4 --dry-run --export"), `^"?t"?,0,4$`)
	file := filepath.Join(b.dir, "reset.csv")
	if err := os.WriteFile(file, []byte(exported), 0o644); err != nil {
		t.Fatal(err)
	}
	b.use(groups, append(words("--reset-offsets --group g --execute --from-file"), file), `^g\s+t\s+0\s+4`)
	if got := b.offset("g"); got != 4 {
		t.Errorf("from a file committed %d, want 4", got)
	}
	b.use(groups, words("--delete-offsets --group g --topic t:0"), `t\s+0\s+Successful`)
	if got := b.offset("g"); got != -1 {
		t.Errorf("offset %d is still there", got)
	}
	b.use(groups, words("--delete --group g"), `Deletion of requested consumer groups \('g'\) was successful`)
	b.use(groups, words("--list"), `!^g$`)
}

// What is in the offsets topic is read by the formatters that come with Kafka.
func TestToolsOffsetsTopic(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.fill("t", 2, 1)
	b.commit("idle", 3)
	member, err := kgo.NewClient(kgo.SeedBrokers(b.broker.Addr), kgo.ConsumeTopics("t"), kgo.ConsumerGroup("busy"), kgo.InstanceID("one"),
		kgo.DisableAutoCommit(), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.Balancers(kgo.RangeBalancer()))
	if err != nil {
		t.Fatal(err)
	}
	defer member.Close()
	ctx, cancel := context.WithTimeout(t.Context(), ready)
	defer cancel()
	if err := member.PollFetches(ctx).Err(); err != nil {
		t.Fatal(err)
	}
	const console = "consumer.ConsoleConsumer"
	read := "--topic __consumer_offsets --from-beginning --timeout-ms 8000 --formatter " + tools + "consumer."
	b.use(console, words(read+"OffsetsMessageFormatter"),
		`"group":"idle","topic":"t","partition":0\}.*"offset":3`, `"group":"idle","topic":"t","partition":1\}.*"offset":3`)
	b.use(console, words(read+"GroupMetadataMessageFormatter"),
		`"group":"busy"\}.*"protocolType":"consumer","generation":1,"protocol":"range"`, `"groupInstanceId":"one"`)
}
