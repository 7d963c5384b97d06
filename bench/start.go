package main

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	firstRecord  = "process start to the first acknowledged record"
	idleResident = "resident memory, idle"
)

// runStart measures starts on a formatted, empty folder up to the first
// acknowledged record, and what the broker holds when it has been idle.
func runStart(s *session) error {
	const turns = 3
	var l latencies
	var used float64
	for i := range turns {
		if s.b != nil {
			s.b.stop()
			s.b = nil
		}
		took, err := s.firstAck()
		if err != nil {
			return err
		}
		l.add([]time.Duration{took})
		used += cpu(s.b.pid())
		if i == turns-1 {
			sleep(s.ctx, time.Duration(s.sized(12, 3))*time.Second)
		}
	}
	idle := memoryOf(s.b.pid())
	s.add(row{Name: firstRecord, Time: l.quantile(0.5), CPU: used / turns})
	s.add(row{Name: idleResident, Memory: idle.resident})
	s.add(row{Name: "anonymous memory, idle", Memory: idle.anonymous})
	return nil
}

// firstAck starts a broker and produces one record as soon as it can.
func (s *session) firstAck() (time.Duration, error) {
	if err := s.prepare(); err != nil { // formats the folder, which is not part of a start
		return 0, err
	}
	began := time.Now()
	if err := s.b.launch(s.ctx); err != nil {
		return 0, err
	}
	if err := createTopic(s.ctx, s.addr(), "first", 1); err != nil {
		return 0, err
	}
	err := s.produceOnce("first", 0)
	return time.Since(began), err
}

// produceOnce has one record acknowledged.
func (s *session) produceOnce(topic string, partitions ...int32) error {
	c, err := dial(s.addr())
	if err != nil {
		return err
	}
	defer c.close()
	req := produceRequest(topic, batch(1, 100), partitions...)
	return retry(s.ctx, func() error {
		var resp kmsg.Response
		if resp, err = c.do(req); err != nil {
			return err
		}
		return checkProduce(resp)
	})
}
