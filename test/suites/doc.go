// Package suites runs the test suites of Kafka clients, which their authors
// wrote for Apache Kafka, against rota serve: franz-go's kgo, kafka-go and
// sarama. Where a suite has demands that one broker cannot meet, the same run
// has it against Apache Kafka too, and what passes there must pass here.
//
// The suites are those of the versions that go.mod names, as the module proxy
// has them. They run as programs of their own, in the folder of their package.
// A suite that wants fixed addresses gets a network namespace of its own.
//
// make interop runs the short form; INTEROP=full, or make suites, all of it.
package suites
