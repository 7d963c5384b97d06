package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

// report is everything that was measured, as benchmarks.json has it.
type report struct {
	Machine machine     `json:"machine"`
	Runs    []*measured `json:"runs"`
}

// machine is what the figures were measured on, and with.
type machine struct {
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"`
	Memory string `json:"memory"`
	Kernel string `json:"kernel"`
	Disk   string `json:"disk"`
	// Congestion is the system's default for TCP.
	Congestion string `json:"congestion_control"`
	Go         string `json:"go"`
	Java       string `json:"java"`
	Kafka      string `json:"kafka"`
}

func describe() machine {
	m := machine{
		CPU: fact("/proc/cpuinfo", "model name"), Cores: runtime.NumCPU(), Memory: fact("/proc/meminfo", "MemTotal"),
		Disk: mount(os.TempDir()), Go: runtime.Version(), Java: javaVersion(), Kafka: kafkaVersion,
	}
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel, _, _ = strings.Cut(strings.TrimSpace(string(text)), "-")
	}
	if text, err := os.ReadFile("/proc/sys/net/ipv4/tcp_congestion_control"); err == nil {
		m.Congestion = strings.TrimSpace(string(text))
	}
	if kib := number(strings.TrimSuffix(m.Memory, " kB")); kib > 0 {
		m.Memory = fmt.Sprintf("%.1f GiB", kib/(1<<20))
	}
	return m
}

func javaVersion() string {
	cmd, err := java(nil, "-version")
	if err != nil {
		return "none"
	}
	out, _ := cmd.CombinedOutput()
	_, rest, _ := strings.Cut(string(out), `"`)
	version, _, _ := strings.Cut(rest, `"`)
	return version
}

// mount is the kind of file system that a folder is on.
func mount(dir string) string {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		return "unknown"
	}
	names := map[int64]string{0xef53: "ext4", 0x58465342: "xfs", 0x9123683e: "btrfs", 0x01021994: "tmpfs", 0x794c7630: "overlayfs"}
	if name, ok := names[fs.Type]; ok {
		return name
	}
	return fmt.Sprintf("file system %#x", fs.Type)
}

// readReport reads what earlier runs have measured, if there were any.
func readReport(dir string) (*report, error) {
	r := &report{}
	text, err := os.ReadFile(filepath.Join(dir, "benchmarks.json"))
	if err == nil {
		err = json.Unmarshal(text, r)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	r.Machine = describe()
	return r, nil
}

// replace takes in the runs of a workload, in the place of earlier runs of the
// same brokers.
func (r *report) replace(workload string, m durability, all []*measured) {
	fresh := func(k kind) bool {
		return slices.ContainsFunc(all, func(a *measured) bool { return a.Broker == k })
	}
	r.Runs = slices.DeleteFunc(r.Runs, func(old *measured) bool {
		return old.Workload == workload && old.Durability == m && fresh(old.Broker)
	})
	r.Runs = append(r.Runs, all...)
}

// write makes the page and the file of figures.
func (r *report) write(dir string) error {
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "benchmarks.json"), append(text, '\n'), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "BENCHMARKS.md"), []byte(r.page()), 0o644)
}

// of is the runs of one broker at one workload.
func (r *report) of(workload string, m durability, k kind) []*measured {
	var out []*measured
	for _, one := range r.Runs {
		if one.Workload == workload && one.Durability == m && one.Broker == k {
			out = append(out, one)
		}
	}
	return out
}

// names is the rows of a workload in the order they were measured.
func (r *report) names(workload string, m durability) []string {
	var out []string
	for _, k := range []kind{rotaBroker, kafkaBroker, kfakeBroker, echoBroker} {
		for _, one := range r.of(workload, m, k) {
			for _, row := range one.Rows {
				if !slices.Contains(out, row.Name) {
					out = append(out, row.Name)
				}
			}
		}
	}
	return out
}

// median is a row with the median of each figure of several runs; nil if there
// are none.
func median(runs []*measured, name string) *row {
	var all []row
	for _, one := range runs {
		for _, r := range one.Rows {
			if r.Name == name {
				all = append(all, r)
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	out := all[len(all)-1]
	for _, f := range figures {
		var v []float64
		for i := range all {
			v = append(v, *f.of(&all[i]))
		}
		slices.Sort(v)
		*f.of(&out) = (v[(len(v)-1)/2] + v[len(v)/2]) / 2
	}
	return &out
}

// figure is one of the numbers of a row.
type figure struct {
	name   string
	better int // 1: more is better, -1: less is
	of     func(*row) *float64
}

var figures = []figure{
	{"rate", 1, func(r *row) *float64 { return &r.Rate }},
	{"time", -1, func(r *row) *float64 { return &r.Time }},
	{"p50", -1, func(r *row) *float64 { return &r.P50 }},
	{"p99", -1, func(r *row) *float64 { return &r.P99 }},
	{"p99.9", -1, func(r *row) *float64 { return &r.P999 }},
	{"cpu/M", -1, func(r *row) *float64 { return &r.CPUMillion }},
	{"cpu", -1, func(r *row) *float64 { return &r.CPU }},
	{"memory", -1, func(r *row) *float64 { return &r.Memory }},
}

// ratio is Rota's figure over Kafka's, and whether there is one.
func (r *report) ratio(workload string, m durability, name, what string) (float64, bool) {
	a, b := median(r.of(workload, m, rotaBroker), name), median(r.of(workload, m, kafkaBroker), name)
	if a == nil || b == nil {
		return 0, false
	}
	i := slices.IndexFunc(figures, func(f figure) bool { return f.name == what })
	x, y := *figures[i].of(a), *figures[i].of(b)
	if y == 0 || x == 0 && figures[i].better > 0 {
		return 0, false
	}
	return x / y, true
}
