package kafka

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"rota/test/report"
	"rota/test/rig"
)

// The commands of rota are clients like any other: they do on Apache Kafka what
// the protocol allows, and say what is missing.
func TestCommandsOnKafka(t *testing.T) {
	needsInterop(t)
	b := Start(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*ready)
	defer cancel()
	type use struct {
		input string
		args  string
		code  int
		want  []string // patterns of what is printed, "!" in front of one that must not be there
	}
	check := func(name string, u use) {
		t.Helper()
		report.Check(t, "rota's commands", "on Apache Kafka "+Version, name, func(t *report.T) {
			cmd := exec.CommandContext(ctx, rig.Binary(t), append(strings.Fields(u.args), "--brokers", b.Addr, "--timeout", "60s")...)
			var out, errs bytes.Buffer
			cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(u.input), &out, &errs
			if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
				t.Fatal(err)
			}
			text := out.String() + errs.String()
			if code := cmd.ProcessState.ExitCode(); code != u.code {
				t.Errorf("exit code %d, want %d\n%s", code, u.code, text)
			}
			for _, w := range u.want {
				pattern, absent := strings.CutPrefix(w, "!")
				if regexp.MustCompile(`(?m)`+pattern).MatchString(text) == absent {
					t.Errorf("wanted %q in\n%s", w, text)
				}
			}
			if strings.Contains(u.args, "--json") && u.code == 0 && !json.Valid([]byte(strings.SplitN(out.String(), "\n{\"", 2)[0])) {
				t.Errorf("not JSON:\n%s", out.String())
			}
		})
	}
	check("topic create", use{args: "topic create made other -p 3 -c retention.ms=1000000", want: []string{`^made created$`}})
	check("topic list", use{args: "topic list", want: []string{`^made +3 +1$`}})
	check("topic alter", use{args: "topic alter made -p 4 -c max.message.bytes=12345 --unset retention.ms"})
	check("produce", use{args: "produce made -K : -H h=x -z lz4", input: "a:1\nb:2\nc:3\n", want: []string{`^3 records written to made$`}})
	check("topic describe", use{args: "topic describe made", want: []string{`^topic made: 4 partitions, replicas 1, 3 records, \d`, `max.message.bytes=12345 \(topic\)`, `!retention.ms`}})
	check("consume", use{args: `consume made -f %k=%v/%h\n`, want: []string{`^a=1/h=x$`, `^c=3/h=x$`}})
	check("consume json", use{args: "consume made --json -n 1", want: []string{`"topic":"made"`}})
	check("consume in a group", use{args: "consume made -g readers -n 3 -f %v;", want: []string{`1;`, `3;`}})
	check("group list", use{args: "group list", want: []string{`^readers +Empty +consumer +0 +[1-3] +0 +- +-$`, `missing: rebalances`}})
	check("group describe", use{args: "group describe readers", want: []string{`^group readers: Empty, 0 members, lag 0 \(ok\)`}})
	check("group reset, dry", use{args: "group reset readers --to start", want: []string{`add --execute`}})
	check("group reset", use{args: "group reset readers --to start --execute --json", want: []string{`"dry_run": false`}})
	check("group list json", use{args: "group list --json", want: []string{`"lag": 3,`, `"lag_ms": \d+`, `"rebalances_last_hour": null`, `"missing"`}})
	check("explain", use{args: "explain readers", want: []string{`Group "readers" is Empty with 0 members`, `Missing: rebalances`}})
	check("timeline", use{args: "timeline readers", want: []string{`missing: rebalances`}})
	check("events", use{args: "events", code: 1, want: []string{`keeps no history`, `rota watch`}})

	member, err := kgo.NewClient(kgo.SeedBrokers(b.Addr), kgo.ConsumerGroup("classic"), kgo.ConsumeTopics("made"), kgo.ClientID("me"))
	if err != nil {
		t.Fatal(err)
	}
	defer member.Close()
	member.PollFetches(ctx)
	check("group with a member", use{args: "group describe classic", want: []string{`group classic: Stable, 1 member,`, `^  me +me-\S+ +- +/127.0.0.1 +made:0-3$`}})
	check("group delete, refused", use{args: "group delete classic", code: 1, want: []string{`NON_EMPTY_GROUP`, `it has members`}})
	check("watch", use{args: "group list --state Stable", want: []string{`^classic +Stable`, `!readers`}})
	check("group delete", use{args: "group delete readers", want: []string{`^readers deleted$`}})
	check("group that is gone", use{args: "group describe readers", code: 1, want: []string{`there is no such group`}})
	check("topic delete", use{args: "topic delete made other", want: []string{`^other deleted$`}})
}
