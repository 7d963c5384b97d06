package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/rotatest"
)

// ran is how a command ended.
type ran struct {
	out, err string
	code     int
}

// at runs a command against a broker.
func at(t *testing.T, b *rotatest.Broker, input string, args ...string) ran {
	t.Helper()
	return command(t, input, append(args, "--brokers", b.Addr())...)
}

func command(t *testing.T, input string, args ...string) ran {
	t.Helper()
	var out, errs bytes.Buffer
	code := run(t.Context(), args, strings.NewReader(input), &out, &errs)
	return ran{out.String(), errs.String(), code}
}

// good wants success and returns what was printed.
func good(t *testing.T, b *rotatest.Broker, input string, args ...string) string {
	t.Helper()
	r := at(t, b, input, args...)
	if r.code != 0 {
		t.Fatalf("rota %s: exit code %d, %s", strings.Join(args, " "), r.code, r.err)
	}
	return r.out
}

func wants(t *testing.T, got, want string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func parse[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return v
}

func TestTopicCommands(t *testing.T) {
	b := rotatest.Start(t)
	wants(t, good(t, b, "", "topic", "create", "a", "b", "-p", "2", "-c", "retention.ms=5000"), "a created\nb created\n")
	wants(t, good(t, b, "", "topic", "create", "a", "c", "--if-not-exists"), "a is there already\nc created\n")
	wants(t, good(t, b, "", "topic", "create", "d", "--dry-run"), "d would be created\n")
	wants(t, good(t, b, "", "topic", "list"), "TOPIC  PARTITIONS  REPLICAS\na               2         1\nb               2         1\nc               1         1\n")
	good(t, b, "one\n", "produce", "a", "-p", "1")
	out := good(t, b, "", "topic", "describe", "a")
	for _, want := range []string{"topic a: 2 partitions, replicas 1, 1 records, ", "  retention.ms=5000 (topic)\n", "          1       1  1         1            0    1  "} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	wants(t, good(t, b, "", "topic", "alter", "a", "-p", "3", "-c", "segment.bytes=1048576", "--unset", "retention.ms"), "a altered: 2 settings, 3 partitions\n")
	type details struct {
		Topics []struct {
			Name       string
			Partitions int
			Settings   []struct{ Name, Value, Source string }
			Details    []struct{ Partition, Leader, End int }
		}
	}
	d := parse[details](t, good(t, b, "", "topic", "describe", "a", "--json")).Topics[0]
	if d.Partitions != 3 || len(d.Settings) != 1 || d.Settings[0].Name != "segment.bytes" || d.Settings[0].Source != "topic" || len(d.Details) != 3 || d.Details[1].End != 1 {
		t.Errorf("describe says %+v", d)
	}
	wants(t, good(t, b, "", "topic", "delete", "a", "zzz", "--if-exists"), "a deleted\nzzz is not there\n")
	wants(t, good(t, b, "", "topic", "delete", "b", "c"), "b deleted\nc deleted\n")
	wants(t, good(t, b, "", "topic", "list"), "TOPIC  PARTITIONS  REPLICAS\n")
}

func TestRecordsFromFilesAndPipes(t *testing.T) {
	b := rotatest.Start(t, rotatest.Topic("t", 1))
	wants(t, good(t, b, "k1:v1\nv2\nk3:\n", "produce", "t", "-K", ":", "-Z", "-H", "h=x", "-z", "zstd"), "3 records written to t\n")
	file := filepath.Join(t.TempDir(), "whole")
	if err := os.WriteFile(file, []byte("two\nlines\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	wants(t, good(t, b, "", "produce", "t", file, "-f", "whole", "-k", "file", "--json"), `{"topic":"t","partition":0,"offset":3}`+"\n")
	wants(t, good(t, b, "", "consume", "t", "-f", `%p:%o %k=%v %h\n`), "0:0 k1=v1 h=x\n0:1 =v2 h=x\n0:2 k3= h=x\n0:3 file=two\nlines\n \n")
	wants(t, good(t, b, "", "consume", "t", "--from", "offset:1", "-n", "1"), "v2\n")
	wants(t, good(t, b, "", "consume", "t", "--from", "last:2", "-f", `%o\n`), "2\n3\n")
	wants(t, good(t, b, "", "consume", "t", "--from", "end"), "")
	wants(t, good(t, b, "", "consume", "t", "--from", "1h", "-f", `%o\t`), "0\t1\t2\t3\t")
}

// What consume prints as JSON, produce reads back: the same records, whatever
// bytes they are of.
func TestRecordsAsJSON(t *testing.T) {
	b := rotatest.Start(t, rotatest.Topic("from", 1), rotatest.Topic("to", 1))
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.Addr()), kgo.DefaultProduceTopic("from"))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	stamp := time.UnixMilli(1700000000123)
	records := []*kgo.Record{
		{Key: []byte("k"), Value: []byte("v"), Timestamp: stamp, Headers: []kgo.RecordHeader{{Key: "h", Value: []byte("\xff")}, {Key: "null"}}},
		{Key: []byte{0xfe, 0xff}, Timestamp: stamp},
		{Value: []byte("<b>\x1b[31m\u202e\u009b \"quoted\"\n"), Timestamp: stamp},
		{Key: []byte{}, Value: []byte{}, Timestamp: stamp},
	}
	if err := cl.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	lines := good(t, b, "", "consume", "from", "--json")
	if strings.ContainsAny(lines, "\x1b<>\u202e\u009b") {
		t.Errorf("not safe for a terminal: %q", lines)
	}
	wants(t, good(t, b, lines, "produce", "to", "-f", "json"), "4 records written to to\n")
	again := good(t, b, "", "consume", "to", "--json")
	wants(t, strings.ReplaceAll(again, `"topic":"to"`, `"topic":"from"`), lines)
}

func TestConsumeInAGroup(t *testing.T) {
	b := rotatest.Start(t, rotatest.Topic("t", 1))
	good(t, b, "1\n2\n3\n4\n5\n", "produce", "t")
	wants(t, good(t, b, "", "consume", "t", "-g", "g", "-n", "2"), "1\n2\n")
	wants(t, good(t, b, "", "consume", "t", "-g", "g", "-n", "2"), "3\n4\n")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out, errs bytes.Buffer
	done := make(chan int, 1)
	commit := b.On(kmsg.OffsetCommit).Hold()
	go func() {
		done <- run(ctx, []string{"consume", "t", "-g", "g", "--brokers", b.Addr()}, strings.NewReader(""), &out, &errs)
	}()
	// Its end comes while the commit of what was printed is on its way.
	commit.Wait()
	b.Group("g").WaitState("Stable")
	cancel()
	commit.Release()
	if code := <-done; code != 0 || out.String() != "5\n" {
		t.Errorf("code %d, printed %q, %s", code, out.String(), errs.String())
	}
	b.Group("g").WaitState("Empty")
	if text := good(t, b, "", "group", "describe", "g"); !strings.Contains(text, "lag 0 (ok)") {
		t.Errorf("what was printed is not committed:\n%s", text)
	}
}

func TestGroupCommands(t *testing.T) {
	b := rotatest.Start(t, rotatest.Topic("t", 2))
	good(t, b, strings.Repeat("x\n", 10), "produce", "t", "-p", "0")
	good(t, b, strings.Repeat("x\n", 4), "produce", "t", "-p", "1")
	good(t, b, "", "consume", "t", "-g", "g", "-n", "14")
	wants(t, good(t, b, "", "group", "reset", "g", "--to", "start"), "TOPIC  PARTITION  BEFORE  AFTER  LAG\nt              0      10      0   10\nt              1       4      0    4\n")
	type reset struct {
		DryRun     bool `json:"dry_run"`
		Partitions []struct{ Partition, Before, After, Lag int }
	}
	got := parse[reset](t, good(t, b, "", "group", "reset", "g", "--to", "by:-3", "-t", "t:0", "--execute", "--json"))
	if len(got.Partitions) != 1 || got.Partitions[0].After != 7 || got.DryRun {
		t.Errorf("reset says %+v", got)
	}
	type list struct {
		Groups []struct {
			Group, State         string
			Members, Partitions  int
			Lag                  int
			LagTime              *float64 `json:"lag_ms"`
			ProtocolType         string   `json:"protocol_type"`
			RebalancesInLastHour *int     `json:"rebalances_last_hour"`
		}
	}
	l := parse[list](t, good(t, b, "", "group", "list", "--json")).Groups
	if len(l) != 1 || l[0].Group != "g" || l[0].State != "Empty" || l[0].Lag != 3 || l[0].Partitions != 2 || l[0].LagTime == nil || *l[0].LagTime <= 0 {
		t.Errorf("list says %+v", l)
	}
	// Another group, elsewhere in the same partition, and one that is not behind.
	good(t, b, "", "group", "reset", "more", "--to", "start", "-t", "t", "--execute")
	good(t, b, "", "group", "reset", "done", "--to", "end", "-t", "t", "--execute")
	l = parse[list](t, good(t, b, "", "group", "list", "--json")).Groups
	if len(l) != 3 || l[0].Group != "done" || l[0].LagTime != nil || l[2].Lag != 14 || *l[2].LagTime < *l[1].LagTime {
		t.Errorf("list says %+v", l)
	}
	good(t, b, "", "group", "delete", "more", "done")
	out := good(t, b, "", "group", "describe", "g")
	if !strings.Contains(out, "group g: Empty, 0 members, lag 3 (stopped)") || !strings.Contains(out, "  t              0          7   10    3  ") {
		t.Errorf("describe says\n%s", out)
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.Addr()), kgo.ConsumerGroup("g"), kgo.ConsumeTopics("t"), kgo.ClientID("me"))
	if err != nil {
		t.Fatal(err)
	}
	b.Group("g").WaitStable(1)
	if out := good(t, b, "", "group", "describe", "g"); !strings.Contains(out, "me      me-") || !strings.Contains(out, "t:0,1") {
		t.Errorf("describe says\n%s", out)
	}
	fails(t, at(t, b, "", "group", "reset", "g", "--to", "end", "--execute"), 1, `group g has 1 member`, "stop them first")
	fails(t, at(t, b, "", "group", "delete", "g"), 1, `delete group "g"`, "it has members")
	cl.Close()
	b.Group("g").WaitState("Empty")
	wants(t, good(t, b, "", "group", "delete", "g"), "g deleted\n")
	fails(t, at(t, b, "", "group", "describe", "g"), 1, "there is no such group", "rota group list")
	fails(t, at(t, b, "", "explain", "never"), 1, "there is no such group", "rota group list")
}

// fails wants an exit code, and an error of one line with a hint.
func fails(t *testing.T, r ran, code int, want, hint string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(r.err), "\n")
	if r.code != code || len(lines) > 2 || !strings.HasPrefix(lines[0], "rota: ") || !strings.Contains(lines[0], want) {
		t.Errorf("exit code %d, %q; want %d and %q", r.code, r.err, code, want)
	}
	if hint != "" && (len(lines) != 2 || !strings.Contains(lines[1], hint)) {
		t.Errorf("said %q; want the hint %q", r.err, hint)
	}
	if r.out != "" {
		t.Errorf("a failure printed %q", r.out)
	}
}

func TestErrorsAreOneLineWithAHint(t *testing.T) {
	b := rotatest.Start(t, rotatest.Topic("t", 1))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := l.Addr().String()
	l.Close()
	fails(t, command(t, "", "topic", "list", "--brokers", nobody), 1, "no broker answers at "+nobody, "--brokers or ROTA_BROKERS")
	fails(t, at(t, b, "", "topic", "create", "t"), 1, "TOPIC_ALREADY_EXISTS", "--if-not-exists")
	fails(t, at(t, b, "", "topic", "describe", "x"), 1, `topic "x"`, "rota topic list")
	fails(t, at(t, b, "", "topic", "create", "x", "-c", "nonsense=1"), 1, "nonsense", "")
	fails(t, at(t, b, "v\n", "produce", "x"), 1, "UNKNOWN_TOPIC_OR_PARTITION", "rota topic list")
	fails(t, at(t, b, "v\n", "produce", "t", "-p", "7"), 1, "no partition 7", "1 partition")
	fails(t, at(t, b, "{\n", "produce", "t", "-f", "json"), 1, "standard input, line 1", "docs/CLI.md")
	fails(t, at(t, b, "", "consume", "x"), 1, "UNKNOWN_TOPIC_OR_PARTITION", "rota topic list")
	fails(t, at(t, b, "", "topic", "alter", "t"), 2, "nothing to alter", "rota --help")
	fails(t, at(t, b, "", "consume", "t", "-f", "%z"), 2, "--format knows", "rota --help")
	fails(t, at(t, b, "", "consume", "t", "--from", "yesterday"), 2, "yesterday", "rota --help")
	fails(t, at(t, b, "", "consume", "t", "-g", "g", "-p", "0"), 2, "--partition does not go with --group", "rota --help")
	fails(t, at(t, b, "", "consume", "t", "-g", ""), 2, "--group is empty", "rota --help")
	fails(t, at(t, b, "", "events", "--kind", "member-lost"), 2, `no kind "member-lost"`, "rota --help")
	fails(t, at(t, b, "", "group", "list", "--state", "sleeping"), 2, `no state "sleeping"`, "rota --help")
	fails(t, command(t, "", "topic", "list", "--brokers", ""), 2, "--brokers is empty", "rota --help")
	fails(t, at(t, b, "", "topic", "list", "--timeout", "0s"), 2, "--timeout", "rota --help")
	fails(t, at(t, b, "", "topic", "frobnicate"), 2, "frobnicate", "rota --help")
}

// Names that a stranger chose do nothing to a terminal, and JSON holds them as
// they are.
func TestHostileNamesAreHarmless(t *testing.T) {
	b := rotatest.Start(t, rotatest.Topic("t", 1))
	hostile := "g\x1b[2J\x07\r\n\u202eevil\u2066\u009b31m<script>alert(1)</script>\u200b"
	join := func(instance, client string) *kgo.Client {
		cl, err := kgo.NewClient(kgo.SeedBrokers(b.Addr()), kgo.ConsumerGroup(hostile), kgo.ConsumeTopics("t"), kgo.ClientID(client), kgo.InstanceID(instance))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(cl.Close)
		return cl
	}
	cl := join(hostile+"1", strings.Repeat("long", 40)+hostile)
	b.Group(hostile).WaitStable(1)
	leave := kmsg.NewPtrLeaveGroupRequest()
	leave.Group = hostile
	of := kmsg.NewLeaveGroupRequestMember()
	of.InstanceID, of.Reason = new(hostile+"1"), new(strings.Repeat(hostile, 32<<10/len(hostile)))
	leave.Members = append(leave.Members, of)
	if _, err := cl.Request(t.Context(), leave); err != nil {
		t.Fatal(err)
	}
	told := func() bool { return strings.Contains(at(t, b, "", "events", "--json").out, `"member-left"`) }
	for end := time.Now().Add(20 * time.Second); !told(); {
		if time.Now().After(end) {
			t.Fatal("the history does not tell that the member has left")
		}
	}
	safe := func(args ...string) string {
		t.Helper()
		r := at(t, b, "", args...)
		for _, text := range []string{r.out, r.err} {
			for _, c := range text {
				if c != '\n' && (c < ' ' || c >= 0x7f && c < 0xa0 || c == '\u202e' || c == '\u2066' || c == '\u200b') {
					t.Errorf("rota %q printed %q", args, text)
					break
				}
			}
		}
		return r.out + r.err
	}
	for _, args := range [][]string{
		{"group", "list"},
		{"group", "describe", hostile},
		{"explain", hostile},
		{"timeline", hostile},
		{"events"},
		{"group", "reset", hostile, "--to", "end"},
		{"topic", "describe", hostile},
		{"consume", hostile},
		{"produce", hostile},
		{"group", "list", "--json"},
		{"group", "describe", hostile, "--json"},
		{"explain", hostile, "--json"},
		{"events", "--json"},
	} {
		if text := safe(args...); len(text) > 40_000 {
			t.Errorf("rota %s printed %d bytes", args[0], len(text))
		}
	}
	type list struct{ Groups []struct{ Group string } }
	text := safe("group", "list", "--json")
	if strings.Contains(text, "<script>") {
		t.Errorf("HTML is left in %q", text)
	}
	if l := parse[list](t, text).Groups; len(l) != 1 || l[0].Group != hostile {
		t.Errorf("list says %q", l)
	}
	safe("group", "delete", hostile)
}

func TestCompletion(t *testing.T) {
	b := rotatest.Start(t, rotatest.Topic("orders", 1), rotatest.Topic("other", 1))
	t.Setenv("ROTA_BROKERS", b.Addr())
	words := func(typed ...string) string {
		t.Helper()
		r := command(t, "", append([]string{"__complete", "--"}, typed...)...)
		if r.code != 0 || r.err != "" {
			t.Fatalf("exit code %d, %s", r.code, r.err)
		}
		var list []string
		for line := range strings.Lines(r.out) {
			word, _, _ := strings.Cut(line, "\t")
			list = append(list, word)
		}
		return strings.Join(list, " ")
	}
	wants(t, words("to"), "topic")
	wants(t, words("topic", "d"), "describe delete")
	wants(t, words("topic", "describe", "o"), "orders other")
	wants(t, words("topic", "describe", "orders", "ot"), "other")
	wants(t, words("produce", "orders", ""), "")
	wants(t, words("produce", "--comp"), "--compression")
	wants(t, words("produce", "--compression", "z"), "zstd")
	wants(t, words("consume", "--brokers", "127.0.0.1:1", "o"), "")
	wants(t, words("completion", ""), "bash zsh fish")
	if all := words(""); strings.Contains(all, "__complete") || !strings.Contains(all, "explain") {
		t.Errorf("the commands are %s", all)
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if r := command(t, "", "completion", shell); r.code != 0 || !strings.Contains(r.out, "__complete -- ") {
			t.Errorf("%s: %q", shell, r.out)
		}
	}
}

// A name that a shell would run is not offered to it.
func TestCompletionOffersNoShellCode(t *testing.T) {
	b := rotatest.Start(t, rotatest.Topic("t", 1))
	t.Setenv("ROTA_BROKERS", b.Addr())
	for _, id := range []string{"$(touch x)", "a;b", "plain", "-rf"} {
		if r := command(t, "", "group", "reset", "--to", "start", "-t", "t", "--execute", "--", id); r.code != 0 {
			t.Fatal(r.err)
		}
	}
	wants(t, command(t, "", "__complete", "--", "group", "describe", "").out, "plain\tgroup\n")
}
