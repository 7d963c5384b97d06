package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"rota/internal/admin"
	"rota/internal/display"
)

// Commands are the subcommands.
type Commands struct {
	Topic      topicCommands     `cmd:"" help:"Topics: create, list, describe, alter, delete."`
	Produce    produceCommand    `cmd:"" help:"Write records to a topic, from files or standard input."`
	Consume    consumeCommand    `cmd:"" help:"Read records of topics."`
	Group      groupCommands     `cmd:"" help:"Groups: list, describe, reset, delete, and why they rebalanced."`
	Explain    explainCommand    `cmd:"" help:"Tell why a group rebalanced last, what keeps coming back, and what to do about it."`
	Timeline   timelineCommand   `cmd:"" help:"Show the rebalances of a group with their phases, one after the other."`
	Watch      watchCommand      `cmd:"" help:"Tell what happens to groups while it happens."`
	Events     eventsCommand     `cmd:"" help:"Print the events of groups, as the broker keeps them."`
	Completion completionCommand `cmd:"" help:"Print a script that completes commands, flags, topics and groups in a shell."`
	Complete   completeCommand   `cmd:"" name:"__complete" hidden:"" help:"What a completion script asks."`
}

// Streams is what a command may read and write.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	// Terminal says that Out is read by a person at a terminal.
	Terminal bool
}

// HintError is an error with a second line that says what to do about it.
type HintError struct {
	Err  error
	Text string
}

func (h HintError) Error() string { return h.Err.Error() }

func (h HintError) Unwrap() error { return h.Err }

// MisuseError is an error in how the command was called.
type MisuseError string

func (m MisuseError) Error() string { return string(m) }

// defaultBrokers is where a broker listens that was told nothing.
const defaultBrokers = "127.0.0.1:9092"

// connection is the flags that commands share.
type connection struct {
	Brokers []string      `env:"ROTA_BROKERS" default:"${brokers}" placeholder:"HOST:PORT,..." help:"Brokers to connect to; one that answers is enough."`
	JSON    bool          `name:"json" help:"Print JSON, with the fields that docs/CLI.md describes."`
	Timeout time.Duration `default:"15s" help:"How long to wait for an answer."`
}

// garbagePercent lets a command use five times the memory that it needs.
const garbagePercent = 400

// open connects.
func (c *connection) open(ctx context.Context, options ...kgo.Opt) (*admin.Cluster, error) {
	if c.Timeout <= 0 {
		return nil, MisuseError("--timeout must be more than 0")
	}
	if len(c.Brokers) == 0 || slices.Contains(c.Brokers, "") {
		return nil, MisuseError("--brokers is empty")
	}
	// A command is over before its memory is worth collecting.
	debug.SetGCPercent(garbagePercent)
	cluster, err := admin.Open(ctx, admin.Config{Brokers: c.Brokers, Timeout: c.Timeout, Options: options})
	return cluster, explain(err)
}

// explain turns an error into one line of safe text, with a hint for the usual
// reasons.
func explain(err error) error {
	if err == nil {
		return nil
	}
	if _, done := errors.AsType[HintError](err); done {
		return err
	}
	if _, done := errors.AsType[MisuseError](err); done {
		return err
	}
	if u, ok := errors.AsType[*admin.UnreachableError](err); ok {
		return HintError{
			fmt.Errorf("no broker answers at %s: %w", strings.Join(u.Brokers, ", "), safeError{root(u.Err)}),
			"name another one with --brokers or ROTA_BROKERS; rota serve starts one here",
		}
	}
	safe := safeError{err}
	for _, h := range hints {
		if errors.Is(err, h.err) {
			return HintError{safe, h.text}
		}
	}
	return safe
}

// root is the innermost error: what the system said.
func root(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

// safeError shows an error in one safe line.
type safeError struct{ error }

func (e safeError) Error() string {
	return display.Prose(strings.ReplaceAll(e.error.Error(), "\n", "; "))
}

func (e safeError) Unwrap() error { return e.error }

// hints say what to do about errors of a cluster.
var hints = []struct {
	err  error
	text string
}{
	{kerr.UnknownTopicOrPartition, "rota topic list shows the topics that there are, rota topic create makes one"},
	{kerr.TopicAlreadyExists, "--if-not-exists makes that no error; rota topic alter changes the topic"},
	{kerr.NonEmptyGroup, "it has members: stop them first; rota group describe lists them"},
	{kerr.UnknownMemberID, "the group has members, which would go on from their own offsets: stop them first; rota group describe lists them"},
	{kerr.RebalanceInProgress, "the group has members: stop them first; rota group describe lists them"},
	{kerr.GroupIDNotFound, "rota group list shows the groups that there are"},
	{kerr.TopicAuthorizationFailed, "the cluster does not let this client do that to the topic"},
	{kerr.GroupAuthorizationFailed, "the cluster does not let this client do that to the group"},
	{kerr.ClusterAuthorizationFailed, "the cluster does not let this client do that"},
	{context.DeadlineExceeded, "the cluster did not answer in time: --timeout gives it longer"},
}

// Vars are the variables of the command line's tags.
func Vars() map[string]string { return map[string]string{"brokers": defaultBrokers} }
