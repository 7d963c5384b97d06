package main

import (
	"fmt"
	"io"
)

// target is a ratio that Rota means to reach against Kafka in the same run.
type target struct {
	what     string
	workload string
	mode     durability
	row      string
	figure   string
	bound    float64 // at least if more is better, else at most
}

var targets = []target{
	{"broker CPU per million records produced", "produce-raw", unflushed, rawProduced, "cpu/M", 0.5},
	{"the same, flushed", "produce-raw", flushed, rawProduced, "cpu/M", 0.5},
	{"the same with franz-go, 6 partitions", "produce", unflushed, plain(6).name, "cpu/M", 0.5},
	{"the same with franz-go, flushed", "produce", flushed, plain(6).name, "cpu/M", 0.5},
	{"broker CPU per million records consumed, raw", "consume", unflushed, rawConsumed, "cpu/M", 0.5},
	{"the same with franz-go", "consume", unflushed, franzConsumed, "cpu/M", 0.5},
	{"broker CPU per million commits", "commit", unflushed, "raw, 64 connections", "cpu/M", 0.5},
	{"the same, flushed", "commit", flushed, "raw, 64 connections", "cpu/M", 0.5},
	{"broker CPU per million heartbeats", "heartbeat", unflushed, "raw, 64 connections", "cpu/M", 0.5},
	{"produce throughput, 1 partition", "produce", unflushed, plain(1).name, "rate", 1},
	{"produce throughput, 6 partitions", "produce", unflushed, plain(6).name, "rate", 1},
	{"produce throughput, 100 partitions", "produce", unflushed, plain(100).name, "rate", 1},
	{"produce throughput, prepared requests", "produce-raw", unflushed, rawProduced, "rate", 1},
	{"produce throughput, 100 partitions, flushed", "produce", flushed, plain(100).name, "rate", 5},
	{"consume throughput, franz-go", "consume", unflushed, franzConsumed, "rate", 1.2},
	{"consume throughput, raw", "consume", unflushed, rawConsumed, "rate", 1.2},
	{"commits, 64 connections, flushed", "commit", flushed, "raw, 64 connections", "rate", 5},
	{"commits, 64 connections", "commit", unflushed, "raw, 64 connections", "rate", 2},
	{"p99 of produce at 10,000/s", "latency", unflushed, atRate(10_000), "p99", 0.5},
	{"the same, flushed", "latency", flushed, atRate(10_000), "p99", 0.5},
	{"formation of 1,000 members", "group", flushed, "raw, 1000 members formed", "time", 0.5},
	{"1,000 members join again at once", "group", flushed, rejoined(1000), "time", 0.5},
	{"one more joins 1,000", "group", flushed, "raw, one more joins 1000", "time", 0.5},
	{"start to the first acknowledged record", "start", flushed, firstRecord, "time", 1. / 30},
	{"idle resident memory", "start", flushed, idleResident, "memory", 0.1},
	{"restart after kill -9 with 1,000,000 offsets", "restart-offsets", unflushed, offsetsLoaded(50_000), "time", 0.5},
}

// reached says how a target stands; ok is false if it was not measured.
func (r *report) reached(t target) (ratio float64, yes, ok bool) {
	ratio, ok = r.ratio(t.workload, t.mode, t.row, t.figure)
	yes = ratio <= t.bound
	if t.figure == "rate" {
		yes = ratio >= t.bound
	}
	return ratio, yes, ok
}

// bounds is the target in words.
func (t target) bounds() string {
	if t.figure == "rate" {
		return fmt.Sprintf("at least %sx", trim(t.bound))
	}
	return fmt.Sprintf("at most %sx", trim(t.bound))
}

func trim(f float64) string {
	if f < 0.1 {
		return fmt.Sprintf("%.3f", f)
	}
	return fmt.Sprintf("%.1f", f)
}

func (r *report) printTargets(w io.Writer) {
	fmt.Fprintf(w, "\nrota beside kafka, same run\n")
	for _, t := range targets {
		ratio, yes, ok := r.reached(t)
		if !ok {
			continue
		}
		word := "MISSED"
		if yes {
			word = "reached"
		}
		fmt.Fprintf(w, "%-52s %-10s %-16s %8s  %s\n", t.what, t.figure, t.bounds(), fmt.Sprintf("%.3f", ratio), word)
	}
}
