package main

import (
	"bufio"
	"encoding/json"
	"os"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
)

func produce(options map[string]string) error {
	codec := options["codec"]
	if codec == "" {
		codec = "none"
	}
	p, err := kafka.NewProducer(&kafka.ConfigMap{
		"bootstrap.servers": options["brokers"], "compression.type": codec, "enable.idempotence": true, "linger.ms": 20,
	})
	if err != nil {
		return err
	}
	defer p.Close()
	delivered := make(chan kafka.Event, 10000)
	pending := 0
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<24)
	for in.Scan() {
		if len(in.Bytes()) > 0 {
			var r record
			if err := json.Unmarshal(in.Bytes(), &r); err != nil {
				return err
			}
			m, err := r.message(options["topic"])
			if err != nil {
				return err
			}
			if err := p.Produce(m, delivered); err != nil {
				return err
			}
			pending++
			continue
		}
		acked := pending
		for ; pending > 0; pending-- {
			if m, ok := (<-delivered).(*kafka.Message); ok && m.TopicPartition.Error != nil {
				return m.TopicPartition.Error
			}
		}
		if acked > 0 {
			tell(map[string]any{"event": "acked", "count": acked})
		}
	}
	return in.Err()
}
