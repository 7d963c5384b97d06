package config

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// fileLayer is the layer of a YAML file.
func fileLayer(name string, text []byte) (*layer, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	f := &file{name: name, layer: newLayer()}
	if len(doc.Content) == 0 {
		return f.layer, nil // nothing but comments
	}
	err := f.each(doc.Content[0], "", f.top)
	return f.layer, err
}

// file reads one file into its layer.
type file struct {
	name  string
	layer *layer
}

func (f *file) origin(n *yaml.Node) string { return fmt.Sprintf("%s:%d", f.name, n.Line) }

// each calls use for the entries of a mapping. what names it in errors.
func (f *file) each(n *yaml.Node, what string, use func(key, value *yaml.Node) error) error {
	if what != "" {
		what += " "
	}
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("%s: %sneeds keys with values", f.origin(n), what)
	}
	seen := map[string]bool{}
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode {
			return fmt.Errorf("%s: a key must be a word", f.origin(key))
		}
		if seen[key.Value] {
			return fmt.Errorf("%s: %s is there twice", f.origin(key), key.Value)
		}
		seen[key.Value] = true
		if err := use(key, value); err != nil {
			return err
		}
	}
	return nil
}

// scalar is the value of a key, as it is written.
func (f *file) scalar(key, value *yaml.Node) (string, error) {
	if value.Kind != yaml.ScalarNode {
		return "", fmt.Errorf("%s: %s needs a single value", f.origin(value), key.Value)
	}
	if value.Tag == "!!null" {
		return "", fmt.Errorf("%s: %s has no value", f.origin(value), key.Value)
	}
	return value.Value, nil
}

// top takes one key of the file.
func (f *file) top(key, value *yaml.Node) error {
	switch key.Value {
	case "listeners":
		return f.each(value, key.Value, f.listener)
	case "settings":
		return f.each(value, key.Value, f.setting)
	case optListen, optAdvertise:
		return fmt.Errorf("%s: %s belongs to a listener: listeners: {default: {%s: HOST:PORT}}", f.origin(key), key.Value, key.Value)
	}
	o, ok := optionNamed(key.Value)
	if !ok {
		return fmt.Errorf("%s: there is no key %s; broker settings belong under settings", f.origin(key), key.Value)
	}
	text, err := f.scalar(key, value)
	if err != nil {
		return err
	}
	return f.layer.putOption(o, text, f.origin(key))
}

func (f *file) listener(name, value *yaml.Node) error {
	if !goodName(name.Value) {
		return fmt.Errorf("%s: %q is not the name of a listener: use letters, digits, - and _", f.origin(name), name.Value)
	}
	return f.each(value, "listener "+name.Value, func(key, value *yaml.Node) error {
		if key.Value != optListen && key.Value != optAdvertise {
			return fmt.Errorf("%s: a listener has listen and advertise, not %s", f.origin(key), key.Value)
		}
		text, err := f.scalar(key, value)
		if err != nil {
			return err
		}
		return f.layer.put(Value{listenerKey(name.Value, key.Value), text, f.origin(key)})
	})
}

func (f *file) setting(key, value *yaml.Node) error {
	text, err := f.scalar(key, value)
	if err != nil {
		return err
	}
	return f.layer.put(Value{settingKey(key.Value), text, f.origin(key)})
}
