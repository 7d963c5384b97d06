package main

import (
	"fmt"
	"io"
	"math"
	"strings"
)

const line = "%-44s %-6s %16s %10s %8s %8s %8s %8s %8s %8s  %s\n"

func (r *report) print(w io.Writer) {
	m := r.Machine
	fmt.Fprintf(w, "%s, %d cores, %s, Linux %s, %s; %s; Apache Kafka %s on Java %s\n", m.CPU, m.Cores, m.Memory, m.Kernel, m.Disk, m.Go, m.Kafka, m.Java)
	fmt.Fprintf(w, line, "", "", "rate", "time ms", "p50 ms", "p99 ms", "p99.9", "CPU s/M", "CPU s", "MiB", "")
}

// printWorkload prints a workload as it now stands.
func (r *report) printWorkload(out io.Writer, w *workload, m durability) {
	fmt.Fprintf(out, "\n%s, %s\n", w.name, m)
	for _, name := range r.names(w.name, m) {
		label := name
		for _, k := range []kind{rotaBroker, kafkaBroker, kfakeBroker, echoBroker} {
			v := median(r.of(w.name, m, k), name)
			if v == nil {
				continue
			}
			rate := ""
			if v.Rate > 0 {
				rate = short(v.Rate) + " " + v.Unit
			}
			fmt.Fprintf(out, line, clip(label, 44), k, rate, short(v.Time), short(v.P50), short(v.P99), short(v.P999), short(v.CPUMillion), short(v.CPU), short(v.Memory), v.Note)
			label = ""
		}
		var parts []string
		for _, f := range figures {
			if x, ok := r.ratio(w.name, m, name, f.name); ok {
				parts = append(parts, fmt.Sprintf("%s %.2f", f.name, x))
			}
		}
		if len(parts) > 0 {
			fmt.Fprintf(out, "%44s        rota/kafka: %s\n", "", strings.Join(parts, ", "))
		}
	}
	var others float64
	for _, one := range r.Runs {
		if one.Workload == w.name && one.Durability == m {
			others = max(others, one.Others)
		}
	}
	if others > 0.05 {
		fmt.Fprintf(out, "%44s        noisy: other processes took up to %.0f%% of the machine\n", "", others*100)
	}
}

func clip(s string, n int) string {
	if len(s) > n {
		return s[:n-2] + ".."
	}
	return s
}

// short is a number with three digits that matter, and nothing for 0.
func short(f float64) string {
	switch a := math.Abs(f); {
	case f == 0 || math.IsNaN(f):
		return ""
	case a >= 10_000:
		return thousands(int64(math.Round(f)))
	case a >= 100:
		return fmt.Sprintf("%.0f", f)
	case a >= 10:
		return fmt.Sprintf("%.1f", f)
	default:
		return fmt.Sprintf("%.2f", f)
	}
}

// thousands is 1234567 as 1,234,567.
func thousands(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
