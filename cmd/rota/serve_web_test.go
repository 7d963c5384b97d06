package main

import (
	"bytes"
	"log/slog"
	"net"
	"strings"
	"testing"

	"rota"
	"rota/internal/config"
)

// A default address that is taken is no reason not to serve; one that somebody
// asked for is.
func TestWebAddressInUse(t *testing.T) {
	l, err := net.Listen("tcp", config.DefaultWeb)
	if err == nil {
		defer l.Close()
	} // else somebody else has it, which is as good
	for _, tt := range []struct {
		name    string
		flags   []config.Given
		refused string
	}{
		{"default", nil, ""},
		{"asked for", []config.Given{{Name: "web", Value: config.DefaultWeb}}, "in use"},
		{"off", []config.Given{{Name: "web", Value: config.Off}}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			layers, err := config.Load(config.Sources{Flags: tt.flags})
			if err != nil {
				t.Fatal(err)
			}
			var said bytes.Buffer
			conf := rota.Config{Web: "x", Log: slog.New(slog.NewTextHandler(&said, nil))}
			err = openWeb(t.Context(), layers, &conf)
			if tt.refused != "" {
				if err == nil || !strings.Contains(err.Error(), tt.refused) {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil || conf.WebListener != nil {
				t.Errorf("got %v, listener %v", err, conf.WebListener)
			}
			if warned := strings.Contains(said.String(), "without its web page"); warned != (tt.name == "default") {
				t.Errorf("it says %q", said.String())
			}
		})
	}
}
