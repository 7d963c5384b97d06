package api_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"rota/internal/api"
)

var headerLine = regexp.MustCompile(`(?m)^// (\w+) \(key (\d+)\), versions? (\d+)(?:-(\d+))?: `)

// The header of each file says which API it has, in which versions and what
// each of them added; the table says what is served.
func TestHeadersSayWhatTheTableServes(t *testing.T) {
	files, err := filepath.Glob("[0-9][0-9]_*.go")
	if err != nil {
		t.Fatal(err)
	}
	headers := map[int16]string{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found := headerLine.FindStringSubmatch(string(text))
		if found == nil {
			t.Errorf("%s has no header", file)
			continue
		}
		key, err := strconv.ParseInt(found[2], 10, 16)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(file, fmt.Sprintf("%02d_", key)) {
			t.Errorf("%s has the API with key %d", file, key)
		}
		if !strings.Contains(string(text), "\n// Not done:") {
			t.Errorf("%s does not say what is not done", file)
		}
		headers[int16(key)] = string(text)
	}
	for _, row := range api.Table() {
		text, ok := headers[row.Key.Int16()]
		if !ok {
			t.Errorf("%s is served and has no file", row.Key.Name())
			continue
		}
		delete(headers, row.Key.Int16())
		found := headerLine.FindStringSubmatch(text)
		versions := found[3] + "-" + cmp.Or(found[4], found[3])
		if want := fmt.Sprintf("%d-%d", row.Min, row.Max); versions != want {
			t.Errorf("%s: the header says versions %s, the table %s", row.Key.Name(), versions, want)
		}
		for v := row.Min + 1; v <= row.Max; v++ {
			if !strings.Contains(text, fmt.Sprintf("\n//\tv%d:", v)) {
				t.Errorf("%s: the header does not say what v%d added", row.Key.Name(), v)
			}
		}
		if name := strings.ReplaceAll(row.Key.Name(), "ID", "Id"); strings.ReplaceAll(found[1], "ID", "Id") != name {
			t.Errorf("the header names %s, the table %s", found[1], row.Key.Name())
		}
	}
	for key := range headers {
		t.Errorf("API key %d has a file and is not served", key)
	}
}
