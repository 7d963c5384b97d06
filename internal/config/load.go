package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"rota"
	"rota/internal/broker"
)

// Given is one flag as it was given: Name without dashes.
type Given struct{ Name, Value string }

// Sources are the layers above the defaults.
type Sources struct {
	// Flags are the flags that were given, in order.
	Flags []Given
	// Environ is the environment, "NAME=value" each.
	Environ []string
	// ReadFile reads the file. It is called only if one is named.
	ReadFile func(name string) ([]byte, error)
}

// Value is one value and where it comes from.
type Value struct {
	// Key is the path of the value in the file: data-dir,
	// listeners.NAME.listen, settings.NAME.
	Key string `json:"key"`
	// Value is as it was written.
	Value string `json:"value"`
	// Origin is the flag, the environment variable or the file with its line,
	// or "default".
	Origin string `json:"origin"`
}

// originDefault is the origin of what nobody gave.
const originDefault = "default"

// Default says that nobody gave the value.
func (v Value) Default() bool { return v.Origin == originDefault }

// Loaded is the outcome of all layers.
type Loaded struct {
	values map[string]Value
}

// layer collects the values of one layer and refuses contradictions within it.
type layer struct{ values map[string]Value }

func newLayer() *layer { return &layer{map[string]Value{}} }

// put adds a value. The same value twice is no contradiction.
func (l *layer) put(v Value) error {
	if old, twice := l.values[v.Key]; twice && old.Value != v.Value {
		return fmt.Errorf("%s is given twice, with %q (%s) and %q (%s)", v.Key, old.Value, old.Origin, v.Value, v.Origin)
	}
	l.values[v.Key] = v
	return nil
}

// putOption adds the value of an option that stands for itself.
func (l *layer) putOption(o Option, value, origin string) error {
	if o.Name == optInsecure {
		if _, err := strconv.ParseBool(value); err != nil {
			return fmt.Errorf("%s: %q is neither true nor false", origin, value)
		}
	}
	return l.put(Value{o.Name, value, origin})
}

// putAddress adds [NAME=]HOST:PORT, what is "listen" or "advertise".
func (l *layer) putAddress(what, text, origin string) error {
	name, address, ok := strings.Cut(text, "=")
	if !ok {
		name, address = defaultListener, text
	}
	if !goodName(name) {
		return fmt.Errorf("%s: %q is not the name of a listener: use letters, digits, - and _", origin, name)
	}
	return l.put(Value{listenerKey(name, what), address, origin})
}

// putSetting adds a broker setting, key=value.
func (l *layer) putSetting(text, origin string) error {
	name, value, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return fmt.Errorf("%s %q is not key=value", origin, text)
	}
	return l.put(Value{settingKey(name), value, origin})
}

const defaultListener = "default"

func listenerKey(name, what string) string { return "listeners." + name + "." + what }
func settingKey(name string) string        { return "settings." + name }

func goodName(name string) bool {
	if name == "" {
		return false
	}
	return strings.IndexFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	}) < 0
}

// Load merges the layers. Errors name the flag, the variable or the line of
// the file that is wrong.
func Load(s Sources) (*Loaded, error) {
	flags, file, err := flagLayer(s.Flags)
	if err != nil {
		return nil, err
	}
	env, envFile, err := envLayer(s.Environ)
	if err != nil {
		return nil, err
	}
	fromFile := newLayer()
	if file = cmp.Or(file, envFile); file != "" {
		text, err := s.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("configuration file: %w", err)
		}
		if fromFile, err = fileLayer(file, text); err != nil {
			return nil, err
		}
	}
	l := &Loaded{map[string]Value{}}
	for _, layer := range []*layer{defaults(fromFile, env, flags), fromFile, env, flags} {
		maps.Copy(l.values, layer.values)
	}
	return l, l.check()
}

// defaults is the lowest layer. The default listener is there only if no layer
// above has any.
func defaults(above ...*layer) *layer {
	l := newLayer()
	for _, o := range Options() {
		if o.Name != optListen && o.Name != optAdvertise && o.Default != "" {
			l.values[o.Name] = Value{o.Name, o.Default, originDefault}
		}
	}
	for _, a := range above {
		for key := range a.values {
			if strings.HasPrefix(key, "listeners.") && strings.HasSuffix(key, "."+optListen) {
				return l
			}
		}
	}
	key := listenerKey(defaultListener, optListen)
	l.values[key] = Value{key, DefaultListen, originDefault}
	return l
}

// flagLayer is the layer of the flags, and the file that they name.
func flagLayer(flags []Given) (l *layer, file string, err error) {
	l = newLayer()
	for _, f := range flags {
		origin := "--" + f.Name
		switch f.Name {
		case optConfig:
			file = f.Value
		case optSet:
			err = l.putSetting(f.Value, origin)
		case optListen, optAdvertise:
			err = l.putAddress(f.Name, f.Value, origin)
		default:
			o, ok := optionNamed(f.Name)
			if !ok {
				return nil, "", fmt.Errorf("there is no option %s", origin)
			}
			err = l.putOption(o, f.Value, origin)
		}
		if err != nil {
			return nil, "", err
		}
	}
	return l, file, nil
}

// check finds what no layer can tell by itself.
func (l *Loaded) check() error {
	for _, v := range l.values {
		rest, ok := strings.CutPrefix(v.Key, "listeners.")
		if !ok {
			continue
		}
		name := strings.TrimSuffix(rest, "."+optAdvertise)
		if _, listens := l.values[listenerKey(name, optListen)]; name != rest && !listens {
			return fmt.Errorf("%s: there is no listener %q to advertise an address for", v.Origin, name)
		}
	}
	for _, v := range l.Values() {
		name, ok := strings.CutPrefix(v.Key, "settings.")
		if !ok {
			continue
		}
		if _, err := broker.ParseSettings(map[string]string{name: v.Value}); err != nil {
			// The settings together are checked by Config.
			return fmt.Errorf("%s: %w", v.Origin, err)
		}
	}
	return nil
}

// Values lists what holds, in the order of Options, then listeners and broker
// settings by name. Settings that nobody gave are not listed.
func (l *Loaded) Values() []Value {
	list := make([]Value, 0, len(l.values))
	for _, v := range l.values {
		list = append(list, v)
	}
	rank := func(key string) int {
		for i, o := range Options() {
			if o.Name == key {
				return i
			}
		}
		if strings.HasPrefix(key, "settings.") {
			return 1000
		}
		return -1
	}
	slices.SortFunc(list, func(a, b Value) int {
		return cmp.Or(cmp.Compare(rank(a.Key), rank(b.Key)), cmp.Compare(a.Key, b.Key))
	})
	return list
}

// get is the value of an option, "" if it has none.
func (l *Loaded) get(name string) string { return l.values[name].Value }

// Config is what holds, for rota.Start, but for Log and the web page, which the
// caller opens by Web. Errors: what rota.Config.Check finds.
func (l *Loaded) Config() (rota.Config, error) {
	c := rota.Config{
		Listeners: l.listeners(), DataDir: l.get(optDataDir), Properties: map[string]string{},
	}
	c.Insecure, _ = strconv.ParseBool(l.get(optInsecure)) // checked by its layer
	for key, v := range l.values {
		if name, ok := strings.CutPrefix(key, "settings."); ok {
			c.Properties[name] = v.Value
		}
	}
	c.Web, _ = l.Web()
	if err := c.Check(); err != nil {
		return c, l.blame(err)
	}
	return c, nil
}

// Web is the address of the web page, "" for none, and whether somebody asked
// for it: the default one is worth a warning only if it cannot be had.
func (l *Loaded) Web() (address string, asked bool) {
	v := l.values[optWeb]
	if v.Value == Off {
		return "", false
	}
	return v.Value, !v.Default()
}

// ReadyFile is the file to write the address to, "" for none.
func (l *Loaded) ReadyFile() string { return l.get(optReadyFile) }

// listeners lists the listeners: default first, the others by name.
func (l *Loaded) listeners() []rota.Listener {
	var list []rota.Listener
	for key, v := range l.values {
		name := strings.TrimSuffix(strings.TrimPrefix(key, "listeners."), "."+optListen)
		if key == listenerKey(name, optListen) {
			list = append(list, rota.Listener{Name: name, Listen: v.Value, Advertise: l.get(listenerKey(name, optAdvertise))})
		}
	}
	slices.SortFunc(list, func(a, b rota.Listener) int {
		return cmp.Or(compareBool(b.Name == defaultListener, a.Name == defaultListener), cmp.Compare(a.Name, b.Name))
	})
	return list
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// blame adds the origin to what rota.Config.Check says.
func (l *Loaded) blame(err error) error {
	wrong, ok := errors.AsType[*rota.ConfigError](err)
	if !ok {
		return err
	}
	key := wrong.Setting
	if what, name, named := strings.Cut(key, " "); named {
		key = listenerKey(name, what)
	}
	if v, given := l.values[key]; given && !v.Default() {
		return fmt.Errorf("%s: %w", v.Origin, err)
	}
	return err
}
