package config

import (
	"fmt"
	"io"
	"strings"

	"rota/internal/broker"
)

const docHead = `# Configuration

This page is generated from the tables that the broker uses; do not edit it.

## Layers

A value comes from the highest layer that gives one: a flag of ` + "`rota serve`" + `, an
environment variable, the YAML file that ` + "`--config` or `ROTA_CONFIG`" + ` names, the
default. All layers merge, value by value. A key that nobody knows is refused in
every layer, and so is a variable that begins with ` + "`ROTA_`" + ` (but for what Kubernetes
puts there for services). ` + "`rota config check`" + ` takes the same flags and says what is
wrong without starting anything; ` + "`rota config print`" + ` shows each value with its origin.

` + "```yaml" + `
# rota.yaml
data-dir: /var/lib/rota
insecure: true            # listeners beyond the loopback interface
web: 0.0.0.0:9390
listeners:                # one for clients beside the broker, one for those outside
  inside:  {listen: "0.0.0.0:9092", advertise: "kafka:9092"}
  outside: {listen: "0.0.0.0:9094", advertise: "localhost:9094"}
settings:                 # by Kafka's names
  num.partitions: 6
  log.retention.hours: 72
` + "```" + `

The same with flags: ` + "`--listen inside=0.0.0.0:9092 --advertise inside=kafka:9092 --set num.partitions=6`" + `,
and in the environment: ` + "`ROTA_LISTEN=inside=0.0.0.0:9092,outside=0.0.0.0:9094`, `ROTA_SET_NUM_PARTITIONS=6`" + `.
A broker that lives in another program is told the same in ` + "`rota.Config`" + `; it has no web page
unless ` + "`Web`" + ` gives one an address.

## Options

| Flag, key in the file | Variable | Default | Value | |
|---|---|---|---|---|
`

// WriteDoc writes docs/CONFIG.md: layers, options, and every broker and topic
// setting.
func WriteDoc(w io.Writer) error {
	var b strings.Builder
	b.WriteString(docHead)
	for _, o := range Options() {
		value := "none"
		if o.Default != "" {
			value = "`" + o.Default + "`"
		}
		fmt.Fprintf(&b, "| `%s` | `%s` | %s | %s | %s |\n", o.Name, o.Env(), value, o.Form, o.Doc)
	}
	fmt.Fprintf(&b, "| `%s`, in the file `settings` | `%sNAME` | none | NAME=VALUE | %s |\n", optSet, envSetPrefix,
		"A broker setting of the table below; the variable has the name in capitals with _ for each dot.")
	b.WriteString("\n")
	if _, err := io.WriteString(w, b.String()); err != nil {
		return err
	}
	return broker.WriteConfigDoc(w)
}
