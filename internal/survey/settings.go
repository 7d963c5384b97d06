package survey

import (
	"encoding/base64"

	"rota/internal/broker"
	"rota/internal/storage"
)

// Settings lists configuration entries; all includes those that nobody set.
func Settings(entries []broker.ConfigEntry, all bool) []Setting {
	list := []Setting{}
	for _, e := range entries {
		if e.Value == nil || !all && e.Source == broker.Default {
			continue
		}
		list = append(list, Setting{Name: e.Name, Value: *e.Value, Source: sourceNames[e.Source]})
	}
	return list
}

// idText is a topic id as Kafka's tools print it.
func idText(id storage.TopicID) string { return base64.RawURLEncoding.EncodeToString(id[:]) }
