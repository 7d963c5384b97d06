package broker

import (
	"fmt"
	"io"
	"strings"

	"rota/internal/catalog"
)

// configDocHead explains the two tables.
const configDocHead = `## Broker settings

Broker settings are given at the start, or in ` + "`rota.Config.Properties`" + `. Those marked *dynamic* can also be changed while the
broker runs (IncrementalAlterConfigs, AlterConfigs): for all brokers, or for one,
which wins. What was set while the broker ran survives a restart and wins over
what is given at the start. Unknown names and values out of range are refused.

Topic settings are given when a topic is created, or changed later in the same
way. What a topic does not set, the broker setting beside it gives. Everything
that Kafka 4.4 knows is here; what this broker does not do is refused with
INVALID_CONFIG rather than ignored.

`

// WriteConfigDoc writes the part of docs/CONFIG.md that has every broker and
// topic setting.
func WriteConfigDoc(w io.Writer) error {
	var b strings.Builder
	b.WriteString(configDocHead)
	b.WriteString("| Setting | Type | Default | Values | |\n|---|---|---|---|---|\n")
	for _, p := range properties {
		doc := p.Doc
		if p.Dynamic {
			doc = "*Dynamic.* " + doc
		}
		value := "none"
		if p.Default != "" {
			value = "`" + p.Default + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", p.Name, p.Kind, value, p.key().Range(), doc)
	}
	b.WriteString("\n## Topic settings\n\n")
	if _, err := io.WriteString(w, b.String()); err != nil {
		return err
	}
	return catalog.WriteTopicConfigDoc(w)
}
