package main

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// cpu is the CPU time that a process has used, in seconds.
func cpu(pid int) float64 {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	f := strings.Fields(rest)
	if len(f) < 13 {
		return 0
	}
	return (number(f[11]) + number(f[12])) / userHz
}

// userHz is the unit of times in /proc on every Linux.
const userHz = 100

func number(s string) float64 {
	f, _ := strconv.ParseFloat(s, 64)
	return f
}

// memory is what a process holds, in MiB.
type memory struct {
	anonymous, resident, peak float64
}

func memoryOf(pid int) memory {
	var m memory
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return m
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		mib := number(f[1]) / 1024
		switch f[0] {
		case "RssAnon:":
			m.anonymous = mib
		case "VmRSS:":
			m.resident = mib
		case "VmHWM:":
			m.peak = mib
		}
	}
	return m
}

// machineBusy is the CPU time that everything on the machine has used, in seconds,
// with what the hypervisor took.
func machineBusy() float64 {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	line, _, _ := strings.Cut(string(text), "\n")
	f := strings.Fields(line)
	if len(f) < 9 {
		return 0
	}
	var sum float64
	for i, v := range f[1:9] {
		if i != 3 && i != 4 { // idle, waiting for a disk
			sum += number(v)
		}
	}
	return sum / userHz
}

// ownCPU is the CPU time of this process and of its ended children, in seconds.
func ownCPU() float64 {
	var sum float64
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if syscall.Getrusage(who, &u) == nil {
			sum += float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
		}
	}
	return sum
}

// fact is the value of a line "name : value" in a file of facts about the machine.
func fact(file, name string) string {
	text, _ := os.ReadFile(file)
	for line := range strings.Lines(string(text)) {
		key, value, ok := strings.Cut(line, ":")
		if ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}
