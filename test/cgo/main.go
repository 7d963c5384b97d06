// Command cgo is the confluent-kafka-go program of the interoperability tests:
// see test/interop/doc.go. It has a module of its own, since it needs a C
// compiler.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
)

func main() {
	options := map[string]string{}
	for _, arg := range os.Args[2:] {
		key, value, _ := strings.Cut(arg, "=")
		options[key] = value
	}
	run, ok := map[string]func(map[string]string) error{
		"version": version, "create": create, "produce": produce, "consume": consume, "move": move,
	}[os.Args[1]]
	err := fmt.Errorf("no such command: %s", os.Args[1])
	if ok {
		err = run(options)
	}
	if err != nil {
		tell(map[string]any{"event": "error", "text": err.Error()})
		os.Exit(1)
	}
}

// tell prints an event as one line.
func tell(event map[string]any) {
	_ = json.NewEncoder(os.Stdout).Encode(event)
}

func version(map[string]string) error {
	_, text := kafka.LibraryVersion()
	tell(map[string]any{"event": "version", "version": "2.11.1, librdkafka " + text})
	return nil
}

func create(options map[string]string) error {
	admin, err := kafka.NewAdminClient(&kafka.ConfigMap{"bootstrap.servers": options["brokers"]})
	if err != nil {
		return err
	}
	defer admin.Close()
	partitions, err := strconv.Atoi(options["partitions"])
	if err != nil {
		return err
	}
	results, err := admin.CreateTopics(context.Background(), []kafka.TopicSpecification{
		{Topic: options["topic"], NumPartitions: partitions, ReplicationFactor: 1},
	})
	if err != nil {
		return err
	}
	if e := results[0].Error; e.Code() != kafka.ErrNoError {
		return e
	}
	tell(map[string]any{"event": "created"})
	return nil
}

// record is one that is read or printed.
type record struct {
	Partition int32               `json:"partition"`
	Key       []byte              `json:"key"`
	Value     []byte              `json:"value"`
	Headers   [][]json.RawMessage `json:"headers"`
}

func (r *record) message(topic string) (*kafka.Message, error) {
	m := &kafka.Message{TopicPartition: kafka.TopicPartition{Topic: &topic, Partition: r.Partition}, Key: r.Key, Value: r.Value}
	for _, pair := range r.Headers {
		var h kafka.Header
		if err := errors.Join(json.Unmarshal(pair[0], &h.Key), json.Unmarshal(pair[1], &h.Value)); err != nil {
			return nil, err
		}
		m.Headers = append(m.Headers, h)
	}
	return m, nil
}
