package kafka

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
	"rota/internal/scenario"

	"rota/test/install"
	"rota/test/report"
	"rota/test/rig"
)

// TestScenariosOnBoth plays the scenario files on Apache Kafka and on Rota and
// wants every difference explained by the file.
func TestScenariosOnBoth(t *testing.T) {
	needsInterop(t)
	files, err := scenarios()
	if err != nil {
		t.Fatal(err)
	}
	if !report.Full() {
		kept := files[:0]
		for _, f := range files {
			if _, long := f.Header("real-time"); !long {
				kept = append(kept, f)
			}
		}
		files = kept
	}
	var all []comparison
	requests := ""
	settings, groups := bySettings(files)
	for i, group := range groups {
		if !playable(group) {
			for _, f := range group {
				all = append(all, comparison{file: f, unplayable: scenario.Unplayable(f, scenario.Options{})})
			}
			continue
		}
		theirs := Start(t, settings[i]...)
		ours := rig.Start(t, settings[i]...)
		if requests == "" {
			requests = compareVersions(t, ours.Addr, theirs.Addr)
		}
		var alone []*scenario.File
		if report.Full() {
			group, alone = split(group)
		}
		all = append(all, compare(t.Context(), group, ours.Addr, theirs.Addr)...)
		all = append(all, compareAlone(t.Context(), alone, ours.Addr, theirs.Addr, ours, theirs)...)
	}
	page, unexplained := differences(all)
	played := 0
	for _, c := range all {
		if c.unplayable == "" {
			played++
		}
	}
	report.Check(t, "Apache Kafka", Version, "scenarios side by side", func(t *report.T) {
		for _, u := range unexplained {
			t.Error(u)
		}
		if played < 60 {
			t.Errorf("only %d files play on both brokers", played)
		}
	})
	if os.Getenv("INTEROP_PAGE") != "" {
		if err := os.WriteFile(filepath.Join(install.Root(), "docs", "DIFFERENCES.md"), []byte(page+requests), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// split takes out the files that restart their broker.
func split(files []*scenario.File) (together, alone []*scenario.File) {
	for _, f := range files {
		if restarts(f) {
			alone = append(alone, f)
		} else {
			together = append(together, f)
		}
	}
	return together, alone
}

func playable(files []*scenario.File) bool {
	for _, f := range files {
		if scenario.Unplayable(f, scenario.Options{}) == "" {
			return true
		}
	}
	return false
}

// compareVersions wants every request that Kafka serves to be served in the same
// versions, or a reason why not. It returns that part of the page.
func compareVersions(t *testing.T, ours, theirs string) (page string) {
	t.Helper()
	report.Check(t, "Apache Kafka", Version, "the same requests", func(t *report.T) {
		var lists [2][]kmsg.ApiVersionsResponseApiKey
		for i, addr := range []string{ours, theirs} {
			var err error
			if lists[i], err = served(t.Context(), addr); err != nil {
				t.Fatal(err)
			}
		}
		var unexplained []string
		page, unexplained = versions(lists[0], lists[1])
		for _, u := range unexplained {
			t.Error(u)
		}
	})
	return page
}
