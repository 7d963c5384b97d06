package coordinator

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"rota/internal/machine"
	"rota/internal/storage"
	"rota/internal/txn"
)

// Pauses before a marker that could not be written is tried again.
const (
	markerPause    = 50 * time.Millisecond
	markerPauseMax = time.Second
)

// publish does what the transactional ids ask for. It is called in the turn of
// their shard, perhaps by the store, so all it does is to pass the work on.
func (t *Transactions) publish(from origin, id string, events []txn.Event) {
	for i := range events {
		e := &events[i]
		switch e.Kind {
		case txn.WriteMarkers:
			d := &delivery{t: t, from: from, id: id, event: *e}
			t.markers.do(d.begin)
		case txn.NeedProducerID:
			t.background(func(ctx context.Context) { t.bring(ctx, from, id) })
		case txn.Fenced:
			t.config.Log.Info("a producer was fenced and its transaction is aborted",
				"transactional_id", id, "producer_id", e.ProducerID, "producer_epoch", e.ProducerEpoch)
		case txn.TimedOut:
			t.config.Log.Info("a transaction was open for too long and is aborted",
				"transactional_id", id, "producer_id", e.ProducerID, "producer_epoch", e.ProducerEpoch)
		case txn.Expired:
			t.config.Log.Info("a transactional id has expired", "transactional_id", id)
		case txn.EventsLost:
		}
	}
}

// bring gives an id the producer id that it needs to go on.
func (t *Transactions) bring(ctx context.Context, from origin, id string) {
	producer := int64(noProducerID)
	for pause := markerPause; from.leads(); pause = min(2*pause, markerPauseMax) {
		var err error
		if producer == noProducerID {
			producer, err = t.config.ProducerID(ctx)
		}
		if err == nil {
			err = t.supplied(ctx, id, producer)
		} else {
			producer = noProducerID
		}
		if err == nil {
			return
		}
		t.config.Log.Warn("no producer id for a transaction that is to be aborted", "transactional_id", id, "err", err, "pause", pause)
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// supplied brings a producer id to the transactional id. The error says that
// it could not be recorded, or that ctx has ended.
func (t *Transactions) supplied(ctx context.Context, id string, producer int64) error {
	answer := make(chan machine.Code, 1)
	t.submit(id, txn.SupplyProducerID{ProducerID: producer}, func(r txn.Response) {
		s, _ := r.(txn.Supplied)
		answer <- s.Code
	})
	select {
	case code := <-answer:
		return kerr.ErrorForCode(int16(code))
	case <-ctx.Done():
		return ctx.Err()
	}
}

// delivery brings the markers of one transaction to its partitions.
type delivery struct {
	t     *Transactions
	from  origin
	id    string
	event txn.Event
	left  atomic.Int32 // partitions without a durable marker
}

// begin sends every marker once. It runs on the worker, as all calls into the
// store do: outcomes come from the store, which may not be called back there.
func (d *delivery) begin() {
	d.left.Store(int32(len(d.event.Partitions)))
	for i := range d.event.Partitions {
		d.send(i, markerPause)
	}
}

// send writes the marker of partition i. What it says of a transaction stays
// true whoever writes it, but a shard that has lost its partition must not:
// the next transaction may have begun under the same producer epoch.
func (d *delivery) send(i int, pause time.Duration) {
	if !d.from.leads() || d.t.ctx.Err() != nil {
		return // whoever leads now sends them all again
	}
	tp, m := d.event.Partitions[i], storage.Marker{
		ProducerID: d.event.ProducerID, ProducerEpoch: d.event.ProducerEpoch,
		CoordinatorEpoch: d.from.epoch, Commit: d.event.Commit,
	}
	d.t.config.Mark(tp, m, func(err error) {
		switch {
		case errors.Is(err, storage.ErrCoordinatorFenced):
			return // another coordinator has sent its own
		case err == nil, errors.Is(err, storage.ErrInvalidProducerEpoch):
			// A partition that knows a newer epoch has seen the end of this one.
			if d.left.Add(-1) == 0 {
				d.t.markers.do(func() { d.end(markerPause) })
			}
			return
		}
		d.t.config.Log.Warn("marker of a transaction is not written yet", "transactional_id", d.id,
			"topic", tp.Topic, "partition", tp.Partition, "err", err, "pause", pause)
		time.AfterFunc(pause, func() {
			d.t.markers.do(func() { d.send(i, min(2*pause, markerPauseMax)) })
		})
	})
}

// end says that all markers are durable, until that can be recorded: while the
// disk is full it cannot.
func (d *delivery) end(pause time.Duration) {
	if !d.from.leads() || d.t.ctx.Err() != nil {
		return
	}
	d.t.submit(d.id, txn.MarkersWritten{Decision: d.event.Decision}, func(r txn.Response) {
		if c, _ := r.(txn.Completed); c.Code != 0 {
			time.AfterFunc(pause, func() {
				d.t.markers.do(func() { d.end(min(2*pause, markerPauseMax)) })
			})
		}
	})
}
