package rota

import (
	"net"
	"time"

	"rota/internal/broker"
	"rota/internal/survey"
	"rota/internal/web"
)

// startWeb serves the web page on l, if there is to be one.
func (b *Broker) startWeb(c Config, l net.Listener, s *broker.Settings, began time.Time) {
	if l == nil {
		return
	}
	source := &survey.Source{Broker: b.broker, Coordinator: b.coord, Now: c.Now}
	conf := web.Config{
		Survey: source, Server: b.server, Failed: b.store.Failed(), Log: c.Log,
		About: web.About{
			Version: c.Version, NodeID: int32(s.Int("node.id")), ClusterID: b.clusterID, DataDir: b.broker.Config.LogDir,
			Durability: s.String("durability"), StartedMillis: began.UnixMilli(),
		},
	}
	if b.history != nil {
		source.Rebalances, source.Events, source.Forgotten = b.history.Rebalances, b.history.Events, b.history.Forgotten
		conf.History = b.history
	}
	for _, l := range b.Listeners() {
		conf.About.Listeners = append(conf.About.Listeners, web.Listener{Name: l.Name, Listen: l.Listen, Advertise: l.Advertise})
	}
	b.web = web.Start(l, conf)
	b.webAddr = l.Addr().String()
}

// WebAddr is the address of the web page, host:port; empty if there is none.
func (b *Broker) WebAddr() string { return b.webAddr }
