package main

import (
	"bufio"
	"errors"
	"maps"
	"os"
	"slices"
	"strconv"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
)

func consume(options map[string]string) error {
	session := 10000
	if s := options["session"]; s != "" {
		var err error
		if session, err = strconv.Atoi(s); err != nil {
			return err
		}
	}
	assignor := "range"
	if options["assignor"] == "cooperative" {
		assignor = "cooperative-sticky"
	}
	config := kafka.ConfigMap{
		"bootstrap.servers": options["brokers"], "group.id": options["group"], "auto.offset.reset": "earliest",
		"enable.auto.commit": options["commit"] == "auto", "auto.commit.interval.ms": 100,
		"partition.assignment.strategy": assignor, "session.timeout.ms": session, "heartbeat.interval.ms": session / 15,
	}
	if instance := options["instance"]; instance != "" {
		config["group.instance.id"] = instance
	}
	c, err := kafka.NewConsumer(&config)
	if err != nil {
		return err
	}
	owned := map[int32]bool{}
	if err := c.Subscribe(options["topic"], func(_ *kafka.Consumer, e kafka.Event) error {
		switch e := e.(type) {
		case kafka.AssignedPartitions:
			for _, p := range e.Partitions {
				owned[p.Partition] = true
			}
		case kafka.RevokedPartitions:
			for _, p := range e.Partitions {
				delete(owned, p.Partition)
			}
		}
		tell(map[string]any{"event": "owns", "partitions": slices.Sorted(maps.Keys(owned))})
		return nil
	}); err != nil {
		return err
	}
	commands := make(chan string, 100)
	go func() {
		in := bufio.NewScanner(os.Stdin)
		for in.Scan() {
			commands <- in.Text()
		}
		commands <- "leave"
	}()
	for {
		switch e := c.Poll(50).(type) {
		case *kafka.Message:
			show(e)
		case kafka.Error:
			if e.IsFatal() {
				return e
			}
		}
		select {
		case command := <-commands:
			if command == "leave" {
				err := c.Close()
				tell(map[string]any{"event": "left"})
				return err
			}
			var e kafka.Error
			if _, err := c.Commit(); errors.As(err, &e) && e.Code() != kafka.ErrNoOffset {
				return err
			}
			tell(map[string]any{"event": "committed"})
		default:
		}
	}
}

func show(m *kafka.Message) {
	headers := [][]any{}
	for _, h := range m.Headers {
		headers = append(headers, []any{h.Key, h.Value})
	}
	tell(map[string]any{
		"event": "record", "partition": m.TopicPartition.Partition, "offset": m.TopicPartition.Offset,
		"key": m.Key, "value": m.Value, "headers": headers,
	})
}
