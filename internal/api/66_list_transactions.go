package api

import (
	"regexp"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/txn"
)

// ListTransactions (key 66), versions 0-2: lists transactional ids with their
// producers and states (KIP-664).
//
//	v1: DurationFilterMillis: transactions that are older (KIP-994)
//	v2: TransactionalIDPattern: ids that match a regular expression (KIP-1152)
//
// Filters must all match; an empty one says nothing. States that do not exist
// are named in the response. While a coordinator loads, the answer is
// COORDINATOR_LOAD_IN_PROGRESS; a pattern that is none is
// INVALID_REGULAR_EXPRESSION.
//
// Not done: throttling.
func listTransactionsAPI() API {
	return API{Key: kmsg.ListTransactions, Min: 0, Max: 2, Class: Alone, Handle: listTransactions}
}

func listTransactions(s *Server, c *Call) {
	req := requestOf[*kmsg.ListTransactionsRequest](c)
	resp := &kmsg.ListTransactionsResponse{Version: c.Version}
	defer c.Answer.Reply(resp)
	f, err := transactionFilterOf(c, req)
	if err != nil {
		resp.ErrorCode = kerr.InvalidRegularExpression.Code
		return
	}
	for _, state := range req.StateFilters {
		if !slices.Contains(transactionStates, state) {
			resp.UnknownStateFilters = append(resp.UnknownStateFilters, state)
		}
	}
	all, code, err := s.Broker.Transactions.List(c.Context)
	if err != nil || code != 0 {
		resp.ErrorCode = int16(code)
		if err != nil {
			resp.ErrorCode = s.errorCode(err)
		}
		return
	}
	for i := range all {
		if t := &all[i]; f.matches(t) {
			resp.TransactionStates = append(resp.TransactionStates, kmsg.ListTransactionsResponseTransactionState{
				TransactionalID: t.TransactionalID, ProducerID: t.ProducerID, TransactionState: t.State,
			})
		}
	}
}

// transactionStates are the states there are, as tools name them. Dead and
// PrepareEpochFence are Kafka's: no id here is ever seen in them.
var transactionStates = []string{
	"Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead", "PrepareEpochFence",
}

// transactionFilter is what a ListTransactions asks for.
type transactionFilter struct {
	states    []string
	producers []int64
	// longer is how long a transaction has to be open, -1 if that is all one.
	longer  int64 // milliseconds
	now     int64
	pattern *regexp.Regexp // nil: any id
}

func transactionFilterOf(c *Call, req *kmsg.ListTransactionsRequest) (f transactionFilter, err error) {
	f = transactionFilter{states: req.StateFilters, producers: req.ProducerIDFilters, longer: -1, now: time.Now().UnixMilli()}
	if c.Version >= 1 {
		f.longer = req.DurationFilterMillis
	}
	if p := req.TransactionalIDPattern; c.Version >= 2 && p != nil && *p != "" {
		f.pattern, err = regexp.Compile("^(?:" + *p + ")$")
	}
	return f, err
}

func (f *transactionFilter) matches(t *txn.Summary) bool {
	switch {
	case len(f.states) > 0 && !slices.Contains(f.states, t.State):
		return false
	case len(f.producers) > 0 && !slices.Contains(f.producers, t.ProducerID):
		return false
	case f.longer >= 0 && f.now-t.StartedAt <= f.longer:
		return false
	}
	return f.pattern == nil || f.pattern.MatchString(t.TransactionalID)
}
