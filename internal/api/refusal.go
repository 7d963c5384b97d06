package api

import (
	"iter"

	"github.com/twmb/franz-go/pkg/kerr"
)

// refusal is how a response says that something was not done: a code and,
// where the version has room for it, a sentence.
type refusal struct {
	code    int16
	message *string
}

func refuse(kafka *kerr.Error, message string) refusal {
	return refusal{kafka.Code, &message}
}

// refusal turns what the rooms below answered into what the response says.
func (s *Server) refusal(err error) refusal {
	return refusal{s.errorCode(err), sentence(err)}
}

// duplicate refuses what a request names more than once.
func duplicate(what string) refusal {
	return refuse(kerr.InvalidRequest, "The request names this "+what+" more than once.")
}

// distinct yields the index of the first item of each key, and whether there
// are more of it.
func distinct[T any, K comparable](items []T, key func(*T) K) iter.Seq2[int, bool] {
	times := make(map[K]int, len(items))
	for i := range items {
		times[key(&items[i])]++
	}
	return func(yield func(int, bool) bool) {
		for i := range items {
			k := key(&items[i])
			n := times[k]
			if n == 0 {
				continue // its first one was yielded
			}
			delete(times, k)
			if !yield(i, n > 1) {
				return
			}
		}
	}
}
