package broker

import (
	"strings"
	"testing"
)

func TestConfigDocNamesEverySetting(t *testing.T) {
	var doc strings.Builder
	if err := WriteConfigDoc(&doc); err != nil {
		t.Fatal(err)
	}
	for _, p := range properties {
		if !strings.Contains(doc.String(), "\n| `"+p.Name+"` | ") {
			t.Errorf("%s is not documented", p.Name)
		}
	}
}
