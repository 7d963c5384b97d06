package config

import (
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rota"
	"rota/internal/broker"
)

const fileText = `# all of it
data-dir: /var/lib/rota
insecure: true
web: off
listeners:
  inside:  {listen: "0.0.0.0:9092", advertise: "kafka:9092"}
  outside:
    listen: 0.0.0.0:9094
    advertise: localhost:9094
settings:
  num.partitions: 6
  log.retention.hours: 72
`

// sources are layers with one file, rota.yaml.
func sources(text string, env []string, flags ...string) Sources {
	s := Sources{Environ: env, ReadFile: func(name string) ([]byte, error) {
		if name != "rota.yaml" {
			return nil, os.ErrNotExist
		}
		return []byte(text), nil
	}}
	for _, f := range flags {
		name, value, _ := strings.Cut(f, " ")
		s.Flags = append(s.Flags, Given{name, value})
	}
	return s
}

// lines prints what holds.
func lines(l *Loaded) []string {
	var out []string
	for _, v := range l.Values() {
		out = append(out, v.Key+" = "+v.Value+" ("+v.Origin+")")
	}
	return out
}

func TestLoad(t *testing.T) {
	for _, tt := range []struct {
		name string
		from Sources
		want []string
	}{
		{"nothing", sources("", nil), []string{
			"listeners.default.listen = 127.0.0.1:9092 (default)",
			"data-dir = ./rota-data (default)", "web = 127.0.0.1:9390 (default)", "insecure = false (default)",
		}},
		{"file", sources(fileText, []string{"ROTA_CONFIG=rota.yaml"}), []string{
			"listeners.inside.advertise = kafka:9092 (rota.yaml:6)", "listeners.inside.listen = 0.0.0.0:9092 (rota.yaml:6)",
			"listeners.outside.advertise = localhost:9094 (rota.yaml:9)", "listeners.outside.listen = 0.0.0.0:9094 (rota.yaml:8)",
			"data-dir = /var/lib/rota (rota.yaml:2)", "web = off (rota.yaml:4)", "insecure = true (rota.yaml:3)",
			"settings.log.retention.hours = 72 (rota.yaml:12)", "settings.num.partitions = 6 (rota.yaml:11)",
		}},
		{
			"all layers", sources(fileText, []string{
				"ROTA_DATA_DIR=/env", "ROTA_SET_NUM_PARTITIONS=7", "ROTA_SET_LOG_RETENTION_HOURS=1", "ROTA_LISTEN=outside=127.0.0.1:1",
				"ROTA_INSECURE=false", "ROTA_SERVICE_HOST=10.0.0.1", "ROTA_PORT_9092_TCP_ADDR=10.0.0.1", "ROTA_BROKERS=x:1", "PATH=/bin",
			}, "config rota.yaml", "set num.partitions=8", "listen inside=127.0.0.1:2", "web 127.0.0.1:3"),
			[]string{
				"listeners.inside.advertise = kafka:9092 (rota.yaml:6)", "listeners.inside.listen = 127.0.0.1:2 (--listen)",
				"listeners.outside.advertise = localhost:9094 (rota.yaml:9)", "listeners.outside.listen = 127.0.0.1:1 (ROTA_LISTEN)",
				"data-dir = /env (ROTA_DATA_DIR)", "web = 127.0.0.1:3 (--web)", "insecure = false (ROTA_INSECURE)",
				"settings.log.retention.hours = 1 (ROTA_SET_LOG_RETENTION_HOURS)", "settings.num.partitions = 8 (--set)",
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, err := Load(tt.from)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, lines(l)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if _, err := l.Config(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestConfig(t *testing.T) {
	l, err := Load(sources(fileText, nil, "config rota.yaml", "listen 0.0.0.0:9096", "advertise default=b:9096", "ready-file r"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := l.Config()
	if err != nil {
		t.Fatal(err)
	}
	want := rota.Config{
		Listeners: []rota.Listener{
			{Name: "default", Listen: "0.0.0.0:9096", Advertise: "b:9096"},
			{Name: "inside", Listen: "0.0.0.0:9092", Advertise: "kafka:9092"},
			{Name: "outside", Listen: "0.0.0.0:9094", Advertise: "localhost:9094"},
		},
		Insecure: true, DataDir: "/var/lib/rota", Properties: map[string]string{"num.partitions": "6", "log.retention.hours": "72"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if l.ReadyFile() != "r" {
		t.Errorf("the ready file is %q", l.ReadyFile())
	}
}

func TestWeb(t *testing.T) {
	for _, tt := range []struct {
		flags   []string
		address string
		asked   bool
	}{
		{nil, DefaultWeb, false},
		{[]string{"web off"}, "", false},
		{[]string{"web " + DefaultWeb}, DefaultWeb, true},
	} {
		l, err := Load(sources("", nil, tt.flags...))
		if err != nil {
			t.Fatal(err)
		}
		if address, asked := l.Web(); address != tt.address || asked != tt.asked {
			t.Errorf("%v: %q %v, want %q %v", tt.flags, address, asked, tt.address, tt.asked)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, tt := range []struct {
		name string
		from Sources
		want string
	}{
		{"unknown key", sources("datadir: x", []string{"ROTA_CONFIG=rota.yaml"}), "rota.yaml:1: there is no key datadir"},
		{"unknown setting in file", sources("settings: {\n num.partition: 1}", nil, "config rota.yaml"), "rota.yaml:2: There is no setting num.partition"},
		{"unknown key of a listener", sources("listeners: {a: {listen: '127.0.0.1:1', port: 1}}", nil, "config rota.yaml"), "not port"},
		{"listen at the top", sources("listen: 127.0.0.1:1", nil, "config rota.yaml"), "belongs to a listener"},
		{"twice in file", sources("web: a\nweb: b", nil, "config rota.yaml"), "rota.yaml:2: web is there twice"},
		{"no value", sources("web:", nil, "config rota.yaml"), "web has no value"},
		{"a list", sources("web: [a]", nil, "config rota.yaml"), "single value"},
		{"not YAML", sources("a: b: c", nil, "config rota.yaml"), "rota.yaml:"},
		{"a word for a file", sources("hello", nil, "config rota.yaml"), "needs keys"},
		{"no file", sources("", nil, "config other.yaml"), "other.yaml|configuration file"},
		{"unknown variable", sources("", []string{"ROTA_LISTN=x"}), "ROTA_LISTN: there is no such setting"},
		{"unknown setting in variable", sources("", []string{"ROTA_SET_NUM_PARTITION=1"}), "ROTA_SET_NUM_PARTITION: there is no broker setting num.partition"},
		{"value out of range", sources("", []string{"ROTA_SET_NUM_PARTITIONS=0"}), "ROTA_SET_NUM_PARTITIONS: "},
		{"not a boolean", sources("", []string{"ROTA_INSECURE=maybe"}), "ROTA_INSECURE: "},
		{"a setting without value", sources("", nil, "set num.partitions"), "not key=value"},
		{"two values", sources("", nil, "set num.partitions=1", "set num.partitions=2"), "given twice"},
		{"advertised and not listened on", sources("", nil, "advertise a=b:1"), `no listener "a"`},
		{"bad name", sources("", nil, "listen a/b=127.0.0.1:1"), `not the name of a listener`},
		{"bad address", sources("listeners: {in: {listen: nowhere}}", nil, "config rota.yaml"), "rota.yaml:1: listen in: "},
		{"reachable", sources("", nil, "listen 0.0.0.0:1", "advertise b:1"), "--listen: listen default: 0.0.0.0:1 is reachable"},
		{"web reachable", sources("", []string{"ROTA_WEB=0.0.0.0:1"}), "ROTA_WEB: web: "},
		{"contradiction", sources("", nil, "set group.min.session.timeout.ms=10", "set group.max.session.timeout.ms=9"), "group.min.session"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, err := Load(tt.from)
			if err == nil {
				_, err = l.Config()
			}
			if err == nil {
				t.Fatal("it was taken")
			}
			if !slices.ContainsFunc(strings.Split(tt.want, "|"), func(s string) bool { return strings.Contains(err.Error(), s) }) {
				t.Errorf("got %q, want %q in it", err, tt.want)
			}
		})
	}
}

func TestMissingFileIsNamed(t *testing.T) {
	if _, err := Load(sources("", nil, "config other.yaml")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// Every broker setting has a variable of its own, and every option.
func TestVariablesAreUnambiguous(t *testing.T) {
	seen := map[string]string{}
	for _, o := range Options() {
		seen[o.Env()] = o.Name
	}
	for _, p := range broker.Properties() {
		env := envOfSetting(p.Name)
		if other, twice := seen[env]; twice {
			t.Errorf("%s stands for %s and %s", env, other, p.Name)
		}
		seen[env] = p.Name
		if back, ok := settingOfEnv(env); !ok || back != p.Name {
			t.Errorf("%s becomes %s, not %s", env, back, p.Name)
		}
	}
	for name := range maps.Keys(seen) {
		if injected(name) {
			t.Errorf("%s is taken for a variable of Kubernetes", name)
		}
	}
}
