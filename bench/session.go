package main

import (
	"context"
	"fmt"
	"syscall"
	"time"
)

// row is what one measurement of one broker gave. What was not measured is 0.
type row struct {
	Name       string  `json:"name"`
	Rate       float64 `json:"rate,omitempty"` // per second
	Unit       string  `json:"unit,omitempty"` // of Rate
	Time       float64 `json:"ms,omitempty"`   // of what happens once, milliseconds
	P50        float64 `json:"p50_ms,omitempty"`
	P99        float64 `json:"p99_ms,omitempty"`
	P999       float64 `json:"p999_ms,omitempty"`
	CPUMillion float64 `json:"cpu_s_per_million,omitempty"` // of the broker's process
	CPU        float64 `json:"cpu_s,omitempty"`             // the same for what happens once
	Memory     float64 `json:"memory_mib,omitempty"`        // resident: at the end, if the row is about memory, or the peak
	Note       string  `json:"note,omitempty"`
}

// session is one workload on one broker.
type session struct {
	ctx  context.Context
	o    *options
	kind kind
	mode durability
	set  []string
	b    *running
	rows []row
	hot  bool // warmed up
}

// prepare makes the broker of the session, which is not running yet.
func (s *session) prepare() (err error) {
	syscall.Sync() // what earlier brokers left to write is not this one's burden
	s.b, err = newBroker(s.ctx, s.o, s.kind, s.mode, s.set)
	return err
}

// start runs the broker of the session.
func (s *session) start() error {
	if err := s.prepare(); err != nil {
		return err
	}
	return s.b.launch(s.ctx)
}

func (s *session) addr() string { return s.b.addr }

// warmUp is how long the next measurement may run before it counts. The first
// one of a broker gets the whole warm-up: a virtual machine compiles, a Go
// heap grows.
func (s *session) warmUp() time.Duration {
	if s.hot {
		return s.o.warm / 6
	}
	s.hot = true
	return s.o.warm
}

// meter is the broker's CPU clock and the wall's, from one moment on.
type meter struct {
	s     *session
	began time.Time
	cpu   float64
}

func (s *session) meter() meter { return meter{s, time.Now(), cpu(s.b.pid())} }

// each fills in the rate and the CPU of n operations since the meter was made.
func (m meter) each(r row, n int64, unit string) row {
	used, took := cpu(m.s.b.pid())-m.cpu, time.Since(m.began)
	if n == 0 {
		r.Note = "nothing was answered in the time"
	} else {
		r.Rate, r.Unit, r.CPUMillion = float64(n)/took.Seconds(), unit, used/float64(n)*1e6
	}
	return r
}

// once fills in the time and the CPU of something that happened once.
func (m meter) once(r row) row {
	r.Time, r.CPU = ms(time.Since(m.began)), cpu(m.s.b.pid())-m.cpu
	return r
}

func (s *session) add(r row) {
	if r.Memory == 0 {
		r.Memory = memoryOf(s.b.pid()).peak
	}
	s.rows = append(s.rows, r)
}

// skip leaves a sentence instead of figures.
func (s *session) skip(name, why string) { s.rows = append(s.rows, row{Name: name, Note: why}) }

// sized is full in a whole run and less in a quick one.
func (s *session) sized(full, quick int) int {
	if s.o.quick {
		return quick
	}
	return full
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// measured is one broker's turn at a workload.
type measured struct {
	Workload   string     `json:"workload"`
	Broker     kind       `json:"broker"`
	Durability durability `json:"durability"`
	Date       time.Time  `json:"date"`
	Seconds    float64    `json:"seconds"`
	Others     float64    `json:"others"` // share of the machine's CPU time that other processes took
	Note       string     `json:"note,omitempty"`
	Rows       []row      `json:"rows"`
}

// measure runs a workload on one broker.
func measure(ctx context.Context, o *options, w *workload, k kind, m durability) (*measured, error) {
	ctx, cancel := context.WithTimeout(ctx, w.limit())
	defer cancel()
	s := &session{ctx: ctx, o: o, kind: k, mode: m, set: w.settings}
	began, busy, own := time.Now(), machineBusy(), ownCPU()
	var err error
	if !w.starts {
		err = s.start()
	}
	if err == nil {
		err = w.run(s)
	}
	if s.b != nil {
		log := s.b.tail()
		s.b.stop()
		if err != nil {
			err = fmt.Errorf("%w\nthe end of its log: %s", err, log)
		}
	}
	if err != nil {
		return nil, err
	}
	took := time.Since(began).Seconds()
	others := (machineBusy() - busy - (ownCPU() - own)) / took / cores
	return &measured{
		Workload: w.name, Broker: k, Durability: m, Date: began.UTC().Truncate(time.Second),
		Seconds: took, Others: max(0, others), Note: o.note, Rows: s.rows,
	}, nil
}
