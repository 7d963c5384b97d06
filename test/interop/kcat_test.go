package interop

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"rota/test/install"
	"rota/test/report"
	"rota/test/rig"
)

// TestKcat uses kcat as people do: it writes, lists and reads in a group.
func TestKcat(t *testing.T) {
	if !report.Enabled() {
		t.Skip("INTEROP is not set: make interop sets it")
	}
	install.Lock.Lock()
	err := install.Need("kcat", "kcat")
	install.Lock.Unlock()
	if err != nil {
		report.Add(report.Outcome{Client: "kcat", Check: "set-up", Result: report.NotRun, Note: err.Error()})
		t.Skip(err)
	}
	const version = "1.7.1"
	b := rig.Start(t, settings...)
	kcat := func(t *report.T, input string, args ...string) string {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		cmd := exec.CommandContext(ctx, "kcat", append([]string{"-b", b.Addr}, args...)...)
		var out, errs bytes.Buffer
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &out, &errs
		if err := cmd.Run(); err != nil {
			t.Fatalf("kcat %s: %v: %s", strings.Join(args, " "), err, errs.String())
		}
		return out.String()
	}
	for _, codec := range codecNames {
		report.Check(t, "kcat", version, "codec "+codec, func(t *report.T) {
			topic := "kcat-" + codec
			var lines strings.Builder
			for i := range 100 {
				fmt.Fprintf(&lines, "key-%d:%s\n", i, strings.Repeat("v", i+1))
			}
			kcat(t, lines.String(), "-P", "-t", topic, "-z", codec, "-K", ":", "-p", "0")
			if got := kcat(t, "", "-C", "-t", topic, "-p", "0", "-e", "-q", "-K", ":"); got != lines.String() {
				t.Errorf("read %d bytes, wrote %d", len(got), lines.Len())
			}
		})
	}
	report.Check(t, "kcat", version, "list and query offsets", func(t *report.T) {
		if got := kcat(t, "", "-L"); !strings.Contains(got, `topic "kcat-none" with `) || !strings.Contains(got, "1 brokers:") {
			t.Errorf("-L says %s", got)
		}
		if got := kcat(t, "", "-Q", "-t", "kcat-none:0:-1"); !strings.Contains(got, "offset 100") {
			t.Errorf("-Q says %s", got)
		}
	})
	report.Check(t, "kcat", version, "a group resumes", func(t *report.T) {
		read := func(n int) string {
			return kcat(t, "", "-q", "-c", fmt.Sprint(n), "-X", "auto.offset.reset=earliest", "-f", "%k ", "-G", "kcat-group", "kcat-gzip")
		}
		if got := read(3); got != "key-0 key-1 key-2 " {
			t.Errorf("the first reads %s", got)
		}
		b.Restart()
		if got := read(2); got != "key-3 key-4 " {
			t.Errorf("the second reads %s", got)
		}
	})
}
