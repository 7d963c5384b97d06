// Package rota is a Kafka-compatible broker that runs inside this process.
//
//	b, err := rota.Start(ctx, rota.Config{})
//	if err != nil {
//		return err
//	}
//	defer b.Close()
//	client, err := kgo.NewClient(kgo.SeedBrokers(b.Addr()))
//
// With the zero Config the broker listens on a free port of the loopback
// interface and keeps everything in memory, in the same files and through the
// same code as on disk. Several brokers may run in one process.
//
// A broker with a DataDir is durable by default: an acknowledged record is on
// disk before it is acknowledged.
//
// Start reading at start.go, which wires the rooms of the house from the
// ground up and closes them in reverse order.
package rota
