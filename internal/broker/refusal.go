package broker

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Refusal says why a request is not carried out: a Kafka error and a sentence
// for whoever asked.
type Refusal struct {
	Kafka   *kerr.Error
	Message string
}

func (r *Refusal) Error() string { return r.Kafka.Message + ": " + r.Message }

// Unwrap makes errors.Is find the Kafka error.
func (r *Refusal) Unwrap() error { return r.Kafka }

// Refuse makes a *Refusal; format is a sentence.
func Refuse(kafka *kerr.Error, format string, args ...any) error {
	return &Refusal{Kafka: kafka, Message: fmt.Sprintf(format, args...)}
}
