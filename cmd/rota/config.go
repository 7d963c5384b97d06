package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"text/tabwriter"

	"rota/internal/broker"
	"rota/internal/config"
)

// serveFlags are the flags that say what a broker is like: the highest layer of
// its configuration. A nil one was not given.
type serveFlags struct {
	Config    *string  `placeholder:"FILE" help:"YAML file with the configuration (ROTA_CONFIG)."`
	Listen    []string `sep:"none" placeholder:"[NAME=]HOST:PORT" help:"Address to listen on; port 0 takes a free one (default: 127.0.0.1:9092). Repeatable, with a name for each."`
	Advertise []string `sep:"none" placeholder:"[NAME=]HOST:PORT" help:"Address that clients of that listener are told to connect to (default: the listening address)."`
	DataDir   *string  `placeholder:"DIR" help:"Folder that holds the data (default: ./rota-data)."`
	Web       *string  `placeholder:"HOST:PORT" help:"Address of the web page and of /metrics, or off (default: 127.0.0.1:9390)."`
	ReadyFile *string  `placeholder:"FILE" help:"File that gets the listening address once the broker serves."`
	Set       []string `sep:"none" placeholder:"KEY=VALUE" help:"Broker setting by Kafka's name, or Rota's own durability and replication.check; repeatable."`
	Insecure  *bool    `help:"Allow listeners beyond the loopback interface, without authentication."`
}

// load merges the flags with the layers below them.
func (f *serveFlags) load() (*config.Loaded, error) {
	var given []config.Given
	one := func(name string, value *string) {
		if value != nil {
			given = append(given, config.Given{Name: name, Value: *value})
		}
	}
	several := func(name string, values []string) {
		for _, v := range values {
			given = append(given, config.Given{Name: name, Value: v})
		}
	}
	one("config", f.Config)
	several("listen", f.Listen)
	several("advertise", f.Advertise)
	one("data-dir", f.DataDir)
	one("web", f.Web)
	one("ready-file", f.ReadyFile)
	several("set", f.Set)
	if f.Insecure != nil {
		given = append(given, config.Given{Name: "insecure", Value: strconv.FormatBool(*f.Insecure)})
	}
	return config.Load(config.Sources{Flags: given, Environ: os.Environ(), ReadFile: os.ReadFile})
}

// configCommand looks at the configuration without starting anything.
type configCommand struct {
	Check configCheck `cmd:"" help:"Say what is wrong with the configuration that serve would have."`
	Print configPrint `cmd:"" help:"Print that configuration: each value with its origin."`
}

type configCheck struct{ serveFlags }

// Run fails if serve would refuse the configuration.
func (c *configCheck) Run(s *streams) error {
	l, err := c.load()
	if err != nil {
		return err
	}
	if _, err := l.Config(); err != nil {
		return err
	}
	fmt.Fprintln(s.out, "the configuration is good")
	return nil
}

type configPrint struct {
	serveFlags
	All  bool `help:"Print broker settings that nobody gave, too."`
	JSON bool `name:"json" help:"Print a list of {key, value, origin}."`
}

// Run prints what holds.
func (c *configPrint) Run(s *streams) error {
	l, err := c.load()
	if err != nil {
		return err
	}
	values := l.Values()
	if c.All {
		values = append(values, defaultSettings(values)...)
	}
	if c.JSON {
		e := json.NewEncoder(s.out)
		e.SetIndent("", "  ")
		return e.Encode(values)
	}
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	for _, v := range values {
		fmt.Fprintf(w, "%s\t%s\t%s\n", v.Key, printable(v.Value), v.Origin)
	}
	return w.Flush()
}

// printable is a value that cannot do anything to a terminal.
func printable(value string) string {
	if q := strconv.Quote(value); value == "" || len(q) != len(value)+2 {
		return q
	}
	return value
}

// defaultSettings are the broker settings that are not among values.
func defaultSettings(values []config.Value) []config.Value {
	given := map[string]bool{}
	for _, v := range values {
		given[v.Key] = true
	}
	var list []config.Value
	for _, p := range broker.Properties() {
		v := config.Value{Key: "settings." + p.Name, Value: p.Default, Origin: "default"}
		if !given[v.Key] && p.Default != "" {
			list = append(list, v)
		}
	}
	return list
}
