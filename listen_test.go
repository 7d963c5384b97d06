package rota

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Each listener tells its clients its own address.
func TestListenersAdvertise(t *testing.T) {
	b, err := Start(t.Context(), Config{Listeners: []Listener{
		{Name: "inside", Listen: "127.0.0.1:0"},
		{Name: "outside", Listen: "127.0.0.1:0", Advertise: "broker.example:29092"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	list := b.Listeners()
	if list[0].Listen != b.Addr() || list[0].Advertise != b.Addr() {
		t.Errorf("the first listener is %+v, Addr is %s", list[0], b.Addr())
	}
	for _, l := range list {
		cl, err := kgo.NewClient(kgo.SeedBrokers(l.Listen))
		if err != nil {
			t.Fatal(err)
		}
		defer cl.Close()
		resp, err := kmsg.NewPtrMetadataRequest().RequestWith(t.Context(), cl)
		if err != nil {
			t.Fatal(err)
		}
		want := l.advertised()
		if got := resp.Brokers[0]; got.Host != want.Host || got.Port != want.Port {
			t.Errorf("%s tells %s:%d, want %s", l.Name, got.Host, got.Port, l.Advertise)
		}
	}
}
