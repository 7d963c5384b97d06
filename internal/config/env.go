package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// otherVariables are read by other commands, or by the tests of this module.
var otherVariables = []string{"ROTA_BROKERS", "ROTA_BIN"}

// injected reports whether a variable is one of those that Kubernetes puts into
// the environment of every container beside a service whose name begins with
// rota.
func injected(name string) bool {
	return regexp.MustCompile(`^ROTA(_[A-Z0-9_]+)?_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT(_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$`).MatchString(name)
}

// envLayer is the layer of the environment, and the file that it names.
func envLayer(environ []string) (l *layer, file string, err error) {
	l = newLayer()
	for _, kv := range slices.Sorted(slices.Values(environ)) {
		name, value, _ := strings.Cut(kv, "=")
		if !strings.HasPrefix(name, envPrefix) || slices.Contains(otherVariables, name) {
			continue
		}
		switch {
		case name == envPrefix+"CONFIG":
			file = value
		case name == envPrefix+"LISTEN" || name == envPrefix+"ADVERTISE":
			for _, address := range strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' }) {
				if err := l.putAddress(strings.ToLower(strings.TrimPrefix(name, envPrefix)), address, name); err != nil {
					return nil, "", err
				}
			}
		case strings.HasPrefix(name, envSetPrefix):
			setting, ok := settingOfEnv(name)
			if !ok {
				return nil, "", fmt.Errorf("%s: there is no broker setting %s", name, setting)
			}
			err = l.put(Value{settingKey(setting), value, name})
		default:
			err = l.putVariable(name, value)
		}
		if err != nil {
			return nil, "", err
		}
	}
	return l, file, nil
}

func (l *layer) putVariable(name, value string) error {
	for _, o := range Options() {
		if o.Env() == name {
			return l.putOption(o, value, name)
		}
	}
	if injected(name) {
		return nil
	}
	return fmt.Errorf("%s: there is no such setting; broker settings are %sNAME", name, envSetPrefix)
}
