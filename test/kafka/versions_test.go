package kafka

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestVersionsThatDifferAreFound(t *testing.T) {
	row := func(key kmsg.Key, low, high int16) kmsg.ApiVersionsResponseApiKey {
		return kmsg.ApiVersionsResponseApiKey{ApiKey: key.Int16(), MinVersion: low, MaxVersion: high}
	}
	page, unexplained := versions(
		[]kmsg.ApiVersionsResponseApiKey{row(kmsg.Produce, 0, 13), row(kmsg.Fetch, 4, 17), row(kmsg.ControlledShutdown, 0, 0)},
		[]kmsg.ApiVersionsResponseApiKey{row(kmsg.Produce, 0, 13), row(kmsg.Fetch, 4, 18), row(kmsg.SASLHandshake, 0, 1), row(kmsg.Heartbeat, 0, 4)},
	)
	if diff := cmp.Diff([]string{
		"Fetch (1): Rota serves 4-17, Kafka 4-18", "Heartbeat (12): Kafka serves 0-4", "ControlledShutdown (7): Kafka does not serve it",
	}, unexplained); diff != "" {
		t.Error(diff)
	}
	for _, want := range []string{"names 4 requests in ApiVersions. Rota serves 1 of them", "there is no authentication: SASLHandshake (17)\n"} {
		if !strings.Contains(page, want) {
			t.Errorf("wanted %q in\n%s", want, page)
		}
	}
}
