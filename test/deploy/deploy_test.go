// Package deploy checks what deploy/ has for Prometheus and Grafana, with
// Prometheus's own parser.
package deploy

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"
	"rota"
)

const folder = "../../deploy"

// rule is an alert rule, as Prometheus reads it.
type rule struct {
	Alert         string            `yaml:"alert"`
	Expr          string            `yaml:"expr"`
	For           string            `yaml:"for"`
	KeepFiringFor string            `yaml:"keep_firing_for"`
	Labels        map[string]string `yaml:"labels"`
	Annotations   map[string]string `yaml:"annotations"`
}

// rules are the alert rules. Keys that Prometheus does not know are refused.
func rules(t *testing.T) []rule {
	t.Helper()
	f, err := os.Open(filepath.Join(folder, "alerts.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var file struct {
		Groups []struct {
			Name     string `yaml:"name"`
			Interval string `yaml:"interval"`
			Rules    []rule `yaml:"rules"`
		} `yaml:"groups"`
	}
	d := yaml.NewDecoder(f)
	d.KnownFields(true)
	if err := d.Decode(&file); err != nil {
		t.Fatal(err)
	}
	var all []rule
	seen := map[string]bool{}
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			if _, err := time.ParseDuration(r.For); r.For != "" && err != nil || seen[r.Alert] || r.Alert == "" {
				t.Errorf("%q is there twice, has no name, or no time: %v", r.Alert, err)
			}
			seen[r.Alert] = true
			all = append(all, r)
		}
	}
	return all
}

// names lists the metrics that an expression asks for.
func names(t *testing.T, expression string) []string {
	t.Helper()
	e, err := parser.NewParser(parser.Options{}).ParseExpr(expression)
	if err != nil {
		t.Errorf("%s: %v", expression, err)
		return nil
	}
	var list []string
	parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
		if v, ok := n.(*parser.VectorSelector); ok {
			list = append(list, v.Name)
		}
		return nil
	})
	return list
}

// metrics are the names on the page of docs/METRICS.md, those that a running
// broker has, and up.
func metrics(t *testing.T) map[string]bool {
	t.Helper()
	b, err := rota.Start(t.Context(), rota.Config{Web: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+b.WebAddr()+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/METRICS.md")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{"up": true}
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (\S+) (\S+)`).FindAllStringSubmatch(string(body), -1) {
		add(all, m[1], m[2])
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `(rota_\\S+)` \\| (\\S+)").FindAllStringSubmatch(string(page), -1) {
		add(all, m[1], m[2])
	}
	return all
}

func add(all map[string]bool, name, kind string) {
	if kind != "histogram" {
		all[name] = true
		return
	}
	for _, part := range []string{"_bucket", "_sum", "_count"} {
		all[name+part] = true
	}
}

func TestRulesAskForWhatThereIs(t *testing.T) {
	known := metrics(t)
	all := rules(t)
	if len(all) < 10 {
		t.Fatalf("only %d rules", len(all))
	}
	for _, r := range all {
		for _, name := range names(t, r.Expr) {
			if !known[name] {
				t.Errorf("%s asks for %s, which there is not", r.Alert, name)
			}
		}
		if r.Annotations["summary"] == "" || r.Labels["severity"] == "" {
			t.Errorf("%s has no summary or no severity", r.Alert)
		}
	}
}

func TestDashboardAsksForWhatThereIs(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(folder, "grafana.json"))
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			ID      int
			Title   string
			Type    string
			Targets []struct{ Expr string }
			GridPos struct{ X, Y, W, H int }
		}
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	known := metrics(t)
	ids := map[int]bool{}
	for _, p := range board.Panels {
		if ids[p.ID] || p.GridPos.W == 0 || p.GridPos.X+p.GridPos.W > 24 || p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("panel %q does not fit or shows nothing", p.Title)
		}
		ids[p.ID] = true
		for _, target := range p.Targets {
			expression := strings.NewReplacer("$__rate_interval", "5m", "$instance", ".*", "$group", ".*").Replace(target.Expr)
			for _, name := range names(t, expression) {
				if !known[name] {
					t.Errorf("%q asks for %s, which there is not", p.Title, name)
				}
			}
		}
	}
}
