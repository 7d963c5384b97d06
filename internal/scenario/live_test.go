package scenario_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"rota"
	"rota/internal/scenario"
)

var (
	brokerAddr = flag.String("broker", "", "play every file that can be against the broker at this address")
	isKafka    = flag.Bool("kafka", false, "that broker is not Rota: leave out choices of ours")
	scale      = flag.Float64("scale", 1, "times are multiplied by this; the broker's settings must be as well")
)

// TestPlayOverTCP plays conversations over real sockets and in real time: such
// as wait for nothing but the initial delay.
func TestPlayOverTCP(t *testing.T) {
	settings := (&scenario.File{}).Settings(1)
	settings["group.initial.rebalance.delay.ms"] = "1000"
	broker, err := rota.Start(t.Context(), rota.Config{Properties: settings})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := broker.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, name := range []string{
		"classic/newcomer_before_the_plan", "classic/leader_rejoins", "classic/static_leader_restarts",
		"classic/leave_several", "offsets/commit_checks", "offsets/describe_states", "offsets/delete_a_group",
		"reports/b12", "reports/b23",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := parseFile(t, "../group/testdata/"+name+".scenario")
			playLive(t, broker.Addr(), file, scenario.Options{Prefix: t.Name(), Slack: 30 * time.Second})
		})
	}
}

// TestPlayAgainst plays the files against a broker that is already running,
// with its settings as Kafka has them by default:
//
//	go test ./internal/scenario -run PlayAgainst$ -broker localhost:9092 -kafka -v
//
// Files that need other settings are left out.
func TestPlayAgainst(t *testing.T) {
	if *brokerAddr == "" {
		t.Skip("no -broker")
	}
	defaults := (&scenario.File{}).Settings(*scale)
	paths, err := filepath.Glob("../group/testdata/*/*.scenario")
	if err != nil {
		t.Fatal(err)
	}
	for i, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			file := parseFile(t, path)
			if settings := file.Settings(*scale); !maps.Equal(settings, defaults) {
				t.Skip("needs other settings:", settings)
			}
			playLive(t, *brokerAddr, file, scenario.Options{
				Scale: *scale, Kafka: *isKafka, Prefix: fmt.Sprintf("scenario-%d-%d-", os.Getpid(), i),
			})
		})
	}
}

func parseFile(t *testing.T, path string) *scenario.File {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file, err := scenario.Parse(path, text)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func playLive(t *testing.T, addr string, file *scenario.File, o scenario.Options) {
	t.Helper()
	if reason := scenario.Unplayable(file, o); reason != "" {
		t.Skip(reason)
	}
	happened, err := scenario.Play(t.Context(), addr, file, o)
	if err != nil {
		t.Error(err)
	}
	if happened != nil {
		if diff := scenario.Diff(file, happened); diff != "" {
			t.Errorf("not as written (-) but so (+):\n%s", diff)
		}
	}
}
