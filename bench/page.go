package main

import (
	_ "embed"
	"fmt"
	"strings"
)

// head explains the page; tried is what was tried and what it gave. Both are
// written by hand.
//
//go:embed head.md
var head string

//go:embed tried.md
var tried string

// page is BENCHMARKS.md.
func (r *report) page() string {
	var b strings.Builder
	m := r.Machine
	b.WriteString(head)
	fmt.Fprintf(&b, "\n## The machine\n\n%s, %d cores, %s of memory, Linux %s, %s on a virtual disk, TCP with %s. Rota built with %s; Apache Kafka %s on Java %s.\n",
		m.CPU, m.Cores, m.Memory, m.Kernel, m.Disk, m.Congestion, m.Go, m.Kafka, m.Java)
	b.WriteString("\n## What is to be reached\n\nRota's figure over Kafka's, medians of the same run.\n\n| | figure | to reach | measured | |\n|---|---|---|---|---|\n")
	for _, t := range targets {
		ratio, yes, ok := r.reached(t)
		measured, word := "not measured", ""
		if ok {
			measured, word = fmt.Sprintf("%.2fx", ratio), "missed"
			if ratio < 0.1 {
				measured = fmt.Sprintf("%.3fx", ratio)
			}
		}
		if ok && yes {
			word = "reached"
		}
		fmt.Fprintf(&b, "| %s (%s) | %s | %s | %s | %s |\n", t.what, t.workload, t.figure, t.bounds(), measured, word)
	}
	b.WriteString("\n## Workloads\n")
	for i := range workloads {
		for _, mode := range workloads[i].modes {
			r.section(&b, &workloads[i], mode)
		}
	}
	b.WriteString("\n" + tried)
	return b.String()
}

// section is the table of one workload.
func (r *report) section(b *strings.Builder, w *workload, m durability) {
	names := r.names(w.name, m)
	if len(names) == 0 {
		return
	}
	fmt.Fprintf(b, "\n### %s, %s\n\n%s. %s\n\n", w.name, m, upper(w.what), r.circumstances(w.name, m))
	b.WriteString("| | broker | rate | time ms | p50 ms | p99 ms | p99.9 ms | CPU s per million | CPU s | MiB |\n|---|---|---|---|---|---|---|---|---|---|\n")
	for _, name := range names {
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
			if v.Note != "" {
				label += " (" + string(k) + ": " + v.Note + ")"
			}
			fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", label, k, rate,
				short(v.Time), short(v.P50), short(v.P99), short(v.P999), short(v.CPUMillion), short(v.CPU), short(v.Memory))
			label = ""
		}
		b.WriteString(r.ratios(w.name, m, name))
	}
}

// ratios is the line of a table that compares the two brokers.
func (r *report) ratios(workload string, m durability, name string) string {
	var cells []string
	found := false
	for _, f := range figures {
		cell := ""
		if x, ok := r.ratio(workload, m, name, f.name); ok {
			cell, found = fmt.Sprintf("**%.2fx**", x), true
			if x < 0.1 {
				cell = fmt.Sprintf("**%.3fx**", x)
			}
		}
		cells = append(cells, cell)
	}
	if !found {
		return ""
	}
	return "| | ratio | " + strings.Join(cells, " | ") + " |\n"
}

// circumstances is when a workload was measured, how often, and whether the
// machine did other things.
func (r *report) circumstances(workload string, m durability) string {
	var others float64
	count, note, date := map[kind]int{}, "", ""
	for _, one := range r.Runs {
		if one.Workload == workload && one.Durability == m {
			others, note, date = max(others, one.Others), one.Note, one.Date.Format("2006-01-02 15:04")
			count[one.Broker]++
		}
	}
	s := fmt.Sprintf("Measured %s UTC, %d + %d runs", date, count[rotaBroker], count[kafkaBroker])
	if others > 0.05 {
		s += fmt.Sprintf("; other processes took up to %.0f%% of the machine, so read the ratios only", others*100)
	}
	if note != "" {
		s += "; " + note
	}
	return s + "."
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
