// Command rota is the broker, rota serve, and what one does with a Kafka
// cluster from a terminal: topics, records, groups and why they rebalanced.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/alecthomas/kong"

	commands "rota/internal/cli"
)

// version is set by the linker.
var version = "dev"

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// cli is the command line: one field for each subcommand.
type cli struct {
	Serve serveCommand `cmd:"" help:"Start a broker."`
	commands.Commands
	Config  configCommand  `cmd:"" help:"Check or print what serve would be told."`
	Dump    dumpCommand    `cmd:"" help:"Print a file of a data folder: journal, segment or manifest."`
	Sim     simCommand     `cmd:"" help:"Play the coordinator under simulated faults."`
	Version versionCommand `cmd:"" help:"Print the version."`
}

// streams is what a subcommand may read and write.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// hint is an error with a second line that says what to do about it.
type hint struct {
	error
	text string
}

func (h hint) Unwrap() error { return h.error }

// exit asks kong's --help to end the program without ending the test.
type exit int

// run is main without the process: it returns the exit code, 0 for success, 1
// for failure, 2 for a misuse of the command line.
func run(ctx context.Context, args []string, in io.Reader, out, stderr io.Writer) (code int) {
	defer func() {
		if e, ok := recover().(exit); ok {
			code = int(e)
		}
	}()
	var c cli
	parser, err := kong.New(&c,
		kong.Name("rota"),
		kong.Description("A Kafka-compatible broker in one binary, built around the consumer group."),
		kong.Writers(out, stderr),
		kong.UsageOnError(),
		kong.Vars(commands.Vars()),
		kong.Exit(func(n int) { panic(exit(n)) }),
	)
	if err != nil {
		fmt.Fprintln(stderr, "rota:", err)
		return 2
	}
	cmd, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintln(stderr, "rota:", err)
		fmt.Fprintln(stderr, "rota --help lists the commands and their flags")
		return 2
	}
	cmd.BindTo(ctx, (*context.Context)(nil))
	cmd.Bind(parser)
	if err := cmd.Run(&streams{in, out, stderr}, &commands.Streams{In: in, Out: out, Err: stderr, Terminal: terminal(out)}); err != nil {
		return tell(stderr, err)
	}
	return 0
}

// tell says an error in one line, and what to do about it in a second one if
// that is known. It returns the exit code.
func tell(stderr io.Writer, err error) int {
	fmt.Fprintln(stderr, "rota:", err)
	if h, ok := errors.AsType[hint](err); ok {
		fmt.Fprintln(stderr, h.text)
	}
	if h, ok := errors.AsType[commands.HintError](err); ok {
		fmt.Fprintln(stderr, h.Text)
	}
	if _, ok := errors.AsType[commands.MisuseError](err); ok {
		fmt.Fprintln(stderr, "rota --help lists the commands and their flags")
		return 2
	}
	return 1
}

// terminal says whether a person reads what is written.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
