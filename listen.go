package rota

import (
	"context"
	"fmt"
	"net"
	"strings"

	"rota/internal/api"
)

// Listener is one address that a broker listens on.
type Listener struct {
	// Name tells the listener from the others. Empty for the only one.
	Name string
	// Listen is the address, host:port. Port 0 takes a free one.
	Listen string
	// Advertise is the address that clients who came through this listener are
	// told to connect to, host:port. Default: the address that it has.
	Advertise string
	// Listener replaces Listen, as Config.Listener does.
	Listener net.Listener
}

// listeners are the addresses to listen on, at least one.
func (c *Config) listeners() []Listener {
	if len(c.Listeners) > 0 {
		return c.Listeners
	}
	return []Listener{{Listen: c.Listen, Advertise: c.Advertise, Listener: c.Listener}}
}

// named is the error of a setting of this listener.
func (l *Listener) named(setting, reason string) *ConfigError {
	if l.Name != "" {
		setting += " " + l.Name
	}
	return &ConfigError{setting, reason}
}

// validate checks the addresses. insecure allows others than the loopback
// interface.
func (l *Listener) validate(insecure bool) error {
	if l.Listener == nil {
		host, _, err := splitAddress(l.Listen, true)
		if err != nil {
			return l.named("listen", err.Error())
		}
		if !insecure && !loopback(host) {
			return l.named("listen", fmt.Sprintf(
				"%s is reachable from other machines and there is no authentication yet; use a loopback address, or insecure if that is what you want", l.Listen))
		}
		if l.Advertise == "" && unspecified(host) {
			return l.named("advertise", fmt.Sprintf(
				"clients cannot connect to %s; name the address they reach this broker by", l.Listen))
		}
	}
	if l.Advertise == "" {
		return nil
	}
	host, _, err := splitAddress(l.Advertise, false)
	if err != nil {
		return l.named("advertise", err.Error())
	}
	if unspecified(host) {
		return l.named("advertise", fmt.Sprintf(
			"%s means every address of this machine and none that a client could connect to; name the one they reach this broker by", l.Advertise))
	}
	return nil
}

// listen listens on every address, or on none if one fails. The addresses that
// come back are those that the listeners have; page is nil if there is to be no
// web page.
func (c *Config) listen(ctx context.Context) (open []Listener, page net.Listener, err error) {
	open, page = append(open, c.listeners()...), c.WebListener
	if page == nil && c.Web != "" {
		if page, err = new(net.ListenConfig).Listen(ctx, "tcp", c.Web); err != nil {
			return nil, nil, err
		}
	}
	for i := range open {
		l := &open[i]
		if l.Listener == nil {
			if l.Listener, err = new(net.ListenConfig).Listen(ctx, "tcp", l.Listen); err != nil {
				closeListeners(open[:i], page)
				return nil, nil, err
			}
		}
		l.Listen = l.Listener.Addr().String()
		if l.Advertise == "" {
			l.Advertise = l.Listen
		}
	}
	return open, page, nil
}

func closeListeners(open []Listener, page net.Listener) {
	for _, l := range open {
		_ = l.Listener.Close()
	}
	if page != nil {
		_ = page.Close()
	}
}

// advertised is the address as clients are told.
func (l *Listener) advertised() api.Listener {
	host, port, err := splitAddress(l.Advertise, false)
	if err != nil {
		// An in-memory listener has a name and no port.
		return api.Listener{Host: l.Advertise, Port: 9092}
	}
	return api.Listener{Host: host, Port: port}
}

// Listeners are the addresses that the broker listens on, and those that it
// tells clients.
func (b *Broker) Listeners() []Listener {
	list := append([]Listener(nil), b.listeners...)
	for i := range list {
		list[i].Listener = nil
	}
	return list
}

// Addr is the first address that the broker listens on, host:port.
func (b *Broker) Addr() string { return b.listeners[0].Listen }

// addresses is Listen of every listener, for the log.
func (b *Broker) addresses() string {
	all := make([]string, len(b.listeners))
	for i, l := range b.listeners {
		all[i] = l.Listen
	}
	return strings.Join(all, " ")
}
