package main

import (
	"os"
	"path/filepath"
	"testing"
)

// Code that changes leaves its mutations behind: each must still apply, in one
// place, and change something.
func TestEveryMutationApplies(t *testing.T) {
	all, err := read("mutations.txt")
	if err != nil || len(all) == 0 {
		t.Fatalf("%d mutations, %v", len(all), err)
	}
	for i := range all {
		m := &all[i]
		text, err := os.ReadFile(filepath.Join("..", "..", m.file))
		if err != nil {
			t.Errorf("%s: %v", m.id, err)
			continue
		}
		if broken, err := m.apply(string(text)); err != nil || broken == string(text) {
			t.Errorf("%s %s: %v", m.id, m.what, err)
		}
	}
}
