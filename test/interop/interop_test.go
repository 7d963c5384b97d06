package interop

import (
	"os"
	"testing"

	"rota/test/report"
)

func TestMain(m *testing.M) { os.Exit(report.Main(m, "clients")) }

func TestClients(t *testing.T) {
	if !report.Enabled() {
		t.Skip("INTEROP is not set: make interop sets it")
	}
	turn := make(chan struct{}, 2) // a client is mostly waiting, and still two at a time fill a small machine
	for _, c := range clients() {
		t.Run(c.name+" "+c.version, func(t *testing.T) {
			t.Parallel()
			turn <- struct{}{}
			defer func() { <-turn }()
			if err := c.setUp(); err != nil {
				report.Add(report.Outcome{Client: c.name, Version: c.version, Check: "set-up", Result: report.NotRun, Note: err.Error()})
				t.Skip(err)
			}
			c.checks(t)
		})
	}
}
