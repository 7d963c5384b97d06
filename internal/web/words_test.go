package web

import (
	"testing"
	"time"

	"rota/internal/story"
)

func TestAgeText(t *testing.T) {
	for d, want := range map[time.Duration]string{
		1500 * time.Microsecond:               "1.5ms",
		59 * time.Second:                      "59s",
		90*time.Second + 400*time.Millisecond: "1m30s",
		47*time.Hour + 59*time.Minute:         "47h59m",
		100*time.Hour + 59*time.Minute:        "4d4h",
	} {
		if got := ageText(story.Millis(d)); got != want {
			t.Errorf("%v is %s, want %s", d, got, want)
		}
	}
}
