package rota

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strconv"
	"time"

	"rota/internal/broker"
)

// Config is everything that can be said about a broker. The zero value is
// ready to use.
type Config struct {
	// Listen is the address to listen on, host:port. Port 0 takes a free one.
	// Default 127.0.0.1:0.
	Listen string
	// Listener replaces Listen: the broker accepts its connections and closes
	// it in the end. For in-memory networks.
	Listener net.Listener
	// Advertise is the address that clients are told to connect to, host:port.
	// Default: the address that the listener has.
	Advertise string
	// Listeners are several addresses to listen on, each with its own advertised
	// one, in place of Listen, Listener and Advertise: one for clients beside the
	// broker in a container, say, and one for those outside.
	Listeners []Listener
	// Web is the address of the web page, /metrics, /livez and /readyz,
	// host:port. Port 0 takes a free one. Empty: there is no web page.
	Web string
	// WebListener replaces Web: the broker serves the web page on it and closes
	// it in the end.
	WebListener net.Listener
	// Insecure allows a listener beyond the loopback interface, where everyone
	// who reaches it may do everything.
	Insecure bool
	// DataDir is the folder that holds the data; it is made if missing, and
	// locked while the broker runs. Empty: everything stays in memory.
	DataDir string
	// Properties holds broker settings by Kafka's names, and Rota's own
	// (durability, replication.check, ...). docs/CONFIG.md lists them. Unknown names
	// are refused.
	Properties map[string]string
	// Version is what the web page and the metrics call this program. Default
	// "embedded".
	Version string
	// Now is the wall clock, for record timestamps, retention and expiry.
	// Default time.Now.
	Now func() time.Time
	// Log receives what an operator must know. Default: discarded.
	Log *slog.Logger
}

// ConfigError says which setting is wrong, and why.
type ConfigError struct {
	Setting string
	Reason  string
}

func (e *ConfigError) Error() string { return e.Setting + ": " + e.Reason }

// withDefaults fills in what was left out.
func (c Config) withDefaults() Config {
	if c.Listen == "" {
		c.Listen = "127.0.0.1:0"
	}
	if c.Version == "" {
		c.Version = "embedded"
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// Check reports what is wrong with the configuration, as far as that can be told
// without opening anything: a *ConfigError, or what is wrong with Properties.
func (c Config) Check() error {
	if err := c.withDefaults().validate(); err != nil {
		return err
	}
	_, err := broker.ParseSettings(c.Properties)
	return err
}

// validate checks what can be checked before anything is opened.
func (c Config) validate() error {
	if len(c.Listeners) > 0 && (c.Listener != nil || c.Advertise != "") {
		return &ConfigError{"listeners", "there are several; each has its own advertised address, and none is given beside them"}
	}
	seen := map[string]bool{}
	for _, l := range c.listeners() {
		if err := l.validate(c.Insecure); err != nil {
			return err
		}
		if seen[l.Name] {
			return &ConfigError{"listeners", fmt.Sprintf("there are two of the name %q", l.Name)}
		}
		seen[l.Name] = true
	}
	if c.Web == "" || c.WebListener != nil {
		return nil
	}
	host, _, err := splitAddress(c.Web, true)
	if err != nil {
		return &ConfigError{"web", err.Error()}
	}
	if !c.Insecure && !loopback(host) {
		return &ConfigError{"web", fmt.Sprintf(
			"%s is reachable from other machines and there is no authentication yet; use a loopback address, or insecure if that is what you want", c.Web)}
	}
	return nil
}

// splitAddress takes host:port apart; port 0 is allowed for a listener only.
func splitAddress(addr string, zero bool) (string, int32, error) {
	host, text, err := net.SplitHostPort(addr)
	if err != nil {
		return "", 0, fmt.Errorf("%q is not host:port", addr)
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return "", 0, fmt.Errorf("%q has no valid port", addr)
	}
	if port == 0 && !zero {
		return "", 0, errors.New("port 0 cannot be advertised")
	}
	return host, int32(port), nil
}

// unspecified is true for the hosts that mean every address.
func unspecified(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "" || err == nil && ip.IsUnspecified()
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}
