package broker

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
)

// RefusalError says why a request is not carried out: a Kafka error and a sentence
// for whoever asked.
type RefusalError struct {
	Kafka   *kerr.Error
	Message string
}

func (r *RefusalError) Error() string { return r.Kafka.Message + ": " + r.Message }

// Unwrap makes errors.Is find the Kafka error.
func (r *RefusalError) Unwrap() error { return r.Kafka }

// Refuse makes a *RefusalError; format is a sentence.
func Refuse(kafka *kerr.Error, format string, args ...any) error {
	return &RefusalError{Kafka: kafka, Message: fmt.Sprintf(format, args...)}
}
