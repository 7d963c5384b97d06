package rota

import (
	"errors"
	"strings"
	"testing"
)

func TestConfigValidate(t *testing.T) {
	for _, tt := range []struct {
		name    string
		config  Config
		setting string // of the error, "" if valid
		reason  string // part of it
	}{
		{"zero", Config{}, "", ""},
		{"loopback", Config{Listen: "127.0.0.2:9092"}, "", ""},
		{"loopback v6", Config{Listen: "[::1]:9092"}, "", ""},
		{"localhost", Config{Listen: "localhost:0"}, "", ""},
		{"beyond loopback", Config{Listen: "10.1.2.3:9092"}, "listen", "no authentication"},
		{"all addresses", Config{Listen: ":9092", Advertise: "broker:9092"}, "listen", "no authentication"},
		{"insecure", Config{Listen: "0.0.0.0:9092", Advertise: "broker:9092", Insecure: true}, "", ""},
		{"insecure, nothing to advertise", Config{Listen: "0.0.0.0:9092", Insecure: true}, "advertise", "cannot connect"},
		{"advertise everything", Config{Advertise: "0.0.0.0:9092"}, "advertise", "every address"},
		{"advertise everything v6", Config{Advertise: "[::]:9092"}, "advertise", "every address"},
		{"advertise port 0", Config{Advertise: "broker:0"}, "advertise", "port 0"},
		{"no port", Config{Listen: "127.0.0.1"}, "listen", "host:port"},
		{"bad port", Config{Listen: "127.0.0.1:99999"}, "listen", "valid port"},
		{"two listeners", Config{Listeners: []Listener{{Name: "in", Listen: "127.0.0.1:0"}, {Name: "out", Listen: "127.0.0.1:0", Advertise: "broker:9092"}}}, "", ""},
		{"two of one name", Config{Listeners: []Listener{{Name: "in", Listen: "127.0.0.1:0"}, {Name: "in", Listen: "127.0.0.1:0"}}}, "listeners", "two of the name"},
		{"one of several is reachable", Config{Listeners: []Listener{{Name: "in", Listen: "127.0.0.1:0"}, {Name: "out", Listen: "0.0.0.0:1", Advertise: "b:1"}}}, "listen out", "no authentication"},
		{"an address beside several", Config{Advertise: "broker:9092", Listeners: []Listener{{Listen: "127.0.0.1:0"}}}, "listeners", "own advertised"},
		{"web beyond loopback", Config{Web: ":9390"}, "web", "no authentication"},
		{"web", Config{Web: "127.0.0.1:0"}, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.config.withDefaults().validate()
			if tt.setting == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			var ce *ConfigError
			if !errors.As(err, &ce) {
				t.Fatalf("got %v, want a ConfigError", err)
			}
			if ce.Setting != tt.setting || !strings.Contains(ce.Reason, tt.reason) {
				t.Errorf("got %q, want setting %s, reason with %q", err, tt.setting, tt.reason)
			}
		})
	}
}
