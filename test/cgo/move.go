package main

import (
	"bufio"
	"context"
	"errors"
	"os"
	"strconv"
	"time"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
)

const (
	givenUp   = 5 // every such transaction
	largest   = 20
	pollTime  = 50 // milliseconds
	patience  = time.Minute
	txnExpiry = 10000 // milliseconds
)

// mover copies records to another topic, with the offsets of its group, in
// transactions.
type mover struct {
	c  *kafka.Consumer
	p  *kafka.Producer
	to string
}

func move(options map[string]string) error {
	session := 6000
	if s := options["session"]; s != "" {
		var err error
		if session, err = strconv.Atoi(s); err != nil {
			return err
		}
	}
	m := &mover{to: options["to"]}
	var err error
	if m.c, err = kafka.NewConsumer(&kafka.ConfigMap{
		"bootstrap.servers": options["brokers"], "group.id": options["group"], "auto.offset.reset": "earliest",
		"enable.auto.commit": false, "isolation.level": "read_committed",
		"session.timeout.ms": session, "heartbeat.interval.ms": session / 15,
	}); err != nil {
		return err
	}
	if m.p, err = kafka.NewProducer(&kafka.ConfigMap{
		"bootstrap.servers": options["brokers"], "transactional.id": options["id"], "transaction.timeout.ms": txnExpiry,
	}); err != nil {
		return err
	}
	defer m.p.Close()
	go func() {
		for range m.p.Events() { // deliveries: a commit fails if one does
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	err = m.p.InitTransactions(ctx)
	cancel()
	if err == nil {
		err = m.c.Subscribe(options["topic"], nil)
	}
	if err != nil {
		return err
	}
	leave := make(chan struct{})
	go func() {
		in := bufio.NewScanner(os.Stdin)
		for in.Scan() && in.Text() != "leave" {
		}
		close(leave)
	}()
	for number := 1; ; {
		select {
		case <-leave:
			err := m.c.Close()
			tell(map[string]any{"event": "left"})
			return err
		default:
		}
		records := m.poll()
		if len(records) == 0 {
			continue
		}
		if err := m.transaction(records, number%givenUp == 0); err != nil {
			return err
		}
		number++
	}
}

// poll takes what is there, up to some records.
func (m *mover) poll() []*kafka.Message {
	var records []*kafka.Message
	for wait := pollTime; len(records) < largest; wait = 0 {
		switch e := m.c.Poll(wait).(type) {
		case nil:
			return records
		case *kafka.Message:
			records = append(records, e)
		}
	}
	return records
}

func (m *mover) transaction(records []*kafka.Message, giveUp bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := m.p.BeginTransaction()
	if err != nil {
		return err
	}
	for _, r := range records {
		if err := m.p.Produce(&kafka.Message{
			TopicPartition: kafka.TopicPartition{Topic: &m.to, Partition: kafka.PartitionAny}, Key: r.Key, Value: r.Value,
		}, nil); err != nil {
			return err
		}
	}
	assigned, err := m.c.Assignment()
	if err != nil {
		return err
	}
	positions, err := m.c.Position(assigned)
	if err != nil {
		return err
	}
	of, err := m.c.GetConsumerGroupMetadata()
	if err != nil {
		return err
	}
	err = m.p.SendOffsetsToTransaction(ctx, positions, of)
	if err == nil && !giveUp {
		if err = again(func() error { return m.p.CommitTransaction(ctx) }); err == nil {
			tell(map[string]any{"event": "moved", "count": len(records)})
			return nil
		}
	}
	var e kafka.Error
	if err != nil && !(errors.As(err, &e) && e.TxnRequiresAbort()) {
		return err
	}
	if err := again(func() error { return m.p.AbortTransaction(ctx) }); err != nil {
		return err
	}
	return m.goBack(assigned)
}

// goBack goes on where the group is: what has been read since then has not
// been moved.
func (m *mover) goBack(assigned []kafka.TopicPartition) error {
	committed, err := m.c.Committed(assigned, int(patience.Milliseconds()))
	if err != nil {
		return err
	}
	for _, p := range committed {
		if p.Offset < 0 {
			p.Offset = kafka.OffsetBeginning
		}
		if err := m.c.Seek(p, 0); err != nil {
			return err
		}
	}
	return nil
}

// again repeats the end of a transaction as long as the library says so.
func again(end func() error) error {
	for {
		err := end()
		var e kafka.Error
		if err == nil || !errors.As(err, &e) || !e.IsRetriable() {
			return err
		}
	}
}
