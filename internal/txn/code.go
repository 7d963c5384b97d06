package txn

// The Kafka error codes that the rules answer with.
const (
	codeNone                               Code = 0
	codeUnknownServerError                 Code = -1
	codeInvalidRequest                     Code = 42
	codeUnsupportedVersion                 Code = 35
	codeInvalidTxnState                    Code = 48
	codeInvalidProducerIDMapping           Code = 49
	codeInvalidTransactionTimeout          Code = 50
	codeConcurrentTransactions             Code = 51
	codeTransactionalIDAuthorizationFailed Code = 53
	codeProducerFenced                     Code = 90
	codeTransactionalIDNotFound            Code = 105
	codeTransactionAbortable               Code = 120
)

// none stands for no producer id, no epoch and no time.
const none = -1
