package config

import (
	"strings"

	"rota/internal/broker"
)

// Option describes one option of rota serve.
type Option struct {
	// Name is the flag without dashes, and the key in the file.
	Name string
	// Default is the value that holds when nobody gives one; "" means none.
	Default string
	// Form shows what a value looks like.
	Form string
	Doc  string
}

// Env is the environment variable of the option.
func (o Option) Env() string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(o.Name, "-", "_"))
}

// Names of the options.
const (
	optListen    = "listen"
	optAdvertise = "advertise"
	optDataDir   = "data-dir"
	optReadyFile = "ready-file"
	optInsecure  = "insecure"
	optWeb       = "web"
	optConfig    = "config"
	optSet       = "set"
)

// Defaults that more than one place needs.
const (
	// DefaultListen is the address of a broker that is told none.
	DefaultListen = "127.0.0.1:9092"
	// DefaultWeb is the address of the web page.
	DefaultWeb = "127.0.0.1:9390"
	// DefaultDataDir is the data folder.
	DefaultDataDir = "./rota-data"
)

// Off is the value of web that means none.
const Off = "off"

// Options lists the options of rota serve, but for broker settings.
func Options() []Option {
	return []Option{
		{optListen, DefaultListen, "[NAME=]HOST:PORT", "Address to listen on; port 0 takes a free one. Repeatable: each listener has a name of its own, `default` if none is given. In the file: `listeners: {NAME: {listen: HOST:PORT}}`."},
		{optAdvertise, "", "[NAME=]HOST:PORT", "Address that clients of that listener are told to connect to; by default the one that it listens on. Repeatable. In the file: `listeners: {NAME: {advertise: HOST:PORT}}`."},
		{optDataDir, DefaultDataDir, "DIR", "Folder that holds the data, relative to where the broker is started."},
		{optWeb, DefaultWeb, "HOST:PORT", "Address of the web page, `/metrics`, `/livez` and `/readyz`; `off` for none. If the default one is taken by another program the broker starts without."},
		{optInsecure, "false", "true or false", "Whether listeners and the web page may be reachable from other machines, without authentication."},
		{optReadyFile, "", "FILE", "File that gets the first listening address once the broker serves."},
	}
}

// optionNamed finds an option; listeners are given in their own way.
func optionNamed(name string) (Option, bool) {
	for _, o := range Options() {
		if o.Name == name {
			return o, true
		}
	}
	return Option{}, false
}

const (
	envPrefix    = "ROTA_"
	envSetPrefix = envPrefix + "SET_"
)

// envOfSetting is the environment variable of a broker setting. No setting has
// an underscore in its name.
func envOfSetting(name string) string {
	return envSetPrefix + strings.ToUpper(strings.ReplaceAll(name, ".", "_"))
}

// settingOfEnv is the broker setting of an environment variable.
func settingOfEnv(variable string) (string, bool) {
	name := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(variable, envSetPrefix), "_", "."))
	_, ok := broker.PropertyNamed(name)
	return name, ok || name == "broker.id"
}
