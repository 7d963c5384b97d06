// Package hooks is how package rotatest reaches into a broker that it starts:
// a few seams that package rota leaves open and that nobody outside of this
// module can use.
//
// Hooks travel in the context of rota.Start. A broker that is started without
// any runs as if there were none.
package hooks

import (
	"context"

	"rota/internal/api"
	"rota/internal/broker"
	"rota/internal/coordinator"
	"rota/internal/group"
	"rota/internal/history"
	"rota/internal/storage"
	"rota/internal/vfs"
	"rota/internal/wire"
)

// Hooks are the seams. Nil fields change nothing.
type Hooks struct {
	// FS is the file system of a broker without a data folder.
	FS vfs.FS
	// Table replaces the table of served APIs. Keys, versions and classes must
	// stay as they are.
	Table func([]api.API) []api.API
	// Events receives what coordinator.Config.Events does. It must not block.
	Events func(groupID string, events []group.Event)
	// Started is called when the broker serves.
	Started func(Rooms)
}

// Rooms are the parts of a running broker.
type Rooms struct {
	Store       *storage.Store
	Broker      *broker.Broker
	Coordinator *coordinator.Coordinator
	Server      *wire.Server
	History     *history.History // nil if it is switched off
}

type contextKey struct{}

// With returns a context for rota.Start.
func With(ctx context.Context, h *Hooks) context.Context {
	return context.WithValue(ctx, contextKey{}, h)
}

// From returns the hooks of a context, never nil.
func From(ctx context.Context) *Hooks {
	if h, ok := ctx.Value(contextKey{}).(*Hooks); ok {
		return h
	}
	return &Hooks{}
}

// TellEvents returns a function that gives events to take, and to the hook.
func (h *Hooks) TellEvents(take func(string, []group.Event)) func(string, []group.Event) {
	if h.Events == nil {
		return take
	}
	return func(id string, events []group.Event) {
		take(id, events)
		h.Events(id, events)
	}
}

// APIs is the table to serve.
func (h *Hooks) APIs() []api.API {
	if h.Table == nil {
		return api.Table()
	}
	return h.Table(api.Table())
}
