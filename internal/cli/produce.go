package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"

	"rota/internal/admin"
)

// produceCommand is rota produce.
type produceCommand struct {
	connection
	Topic        string            `arg:"" help:"Topic to write to."`
	Files        []string          `arg:"" optional:"" name:"file" help:"Files to read, - for standard input (default)."`
	Format       string            `short:"f" enum:"lines,json,whole" default:"lines" help:"What a record is: a line, a line of JSON as consume --json prints it, or a whole file (lines, json, whole)."`
	KeySeparator string            `short:"K" placeholder:"TEXT" help:"What separates key and value in a line; a line without it has no key."`
	Key          *string           `short:"k" help:"Key of all records that have none of their own."`
	Header       map[string]string `short:"H" sep:"none" mapsep:"none" placeholder:"NAME=VALUE" help:"Header of all records; repeatable."`
	Partition    int32             `short:"p" default:"-1" help:"Partition to write to; -1 to choose by the key, or in turn."`
	EmptyIsNull  bool              `short:"Z" help:"An empty value is a tombstone."`
	Acks         string            `enum:"all,leader,none" default:"all" help:"Whom to wait for: all replicas, the leader, none."`
	Compression  string            `short:"z" enum:"none,gzip,snappy,lz4,zstd" default:"none" help:"Codec: none, gzip, snappy, lz4, zstd."`
}

// lineLimit is how long a line of the input may be.
const lineLimit = 64 << 20

// produceRetries is how often a batch is tried again. The client's own timeout
// of records counts from their timestamps, which may be old.
const produceRetries = 10

// produced is what produce prints for each record with --json.
type produced struct {
	Topic     string `json:"topic" doc:"Topic."`
	Partition int32  `json:"partition" doc:"Partition of the record."`
	Offset    int64  `json:"offset" doc:"Offset of the record, -1 with --acks none."`
}

// Run writes the records. It ends at the first that cannot be written.
func (c *produceCommand) Run(ctx context.Context, s *Streams) error {
	cluster, err := c.open(ctx, c.options()...)
	if err != nil {
		return err
	}
	defer cluster.Close()
	of, err := cluster.PartitionsOf(ctx, c.Topic)
	if err != nil {
		return explain(err)
	}
	if c.Partition >= 0 && !slices.Contains(of[c.Topic], c.Partition) {
		return HintError{fmt.Errorf("topic %s has no partition %d", name(c.Topic), c.Partition), fmt.Sprintf("it has %s", plural(len(of[c.Topic]), "partition"))}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w := &writer{command: c, cluster: cluster, streams: s, stop: cancel}
	files := c.Files
	if len(files) == 0 {
		files = []string{"-"}
	}
	for _, file := range files {
		if err = w.file(ctx, file); err != nil {
			break
		}
	}
	flushed := cluster.Client().Flush(context.WithoutCancel(ctx))
	w.mu.Lock()
	defer w.mu.Unlock()
	if failed := errors.Join(err, w.failed, flushed); failed != nil {
		return explain(fmt.Errorf("%w; %s before it were written", failed, plural(w.written, "record")))
	}
	if !c.JSON {
		fmt.Fprintf(s.Out, "%s written to %s\n", plural(w.written, "record"), name(c.Topic))
	}
	return nil
}

func (c *produceCommand) options() []kgo.Opt {
	codecs := map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(), "lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}
	options := []kgo.Opt{
		kgo.ProducerBatchCompression(codecs[c.Compression]), kgo.RecordRetries(produceRetries), kgo.AllowIdempotentProduceCancellation(),
		kgo.MaxBufferedRecords(100_000),
	}
	if c.Partition >= 0 {
		options = append(options, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	}
	switch c.Acks {
	case "leader":
		options = append(options, kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite())
	case "none":
		options = append(options, kgo.RequiredAcks(kgo.NoAck()), kgo.DisableIdempotentWrite())
	}
	return options
}

// writer sends the records of one command.
type writer struct {
	command *produceCommand
	cluster *admin.Cluster
	streams *Streams
	stop    context.CancelCauseFunc

	mu      sync.Mutex // answers come while records are read
	written int
	failed  error
}

// file sends what is in a file.
func (w *writer) file(ctx context.Context, path string) error {
	in, title := w.streams.In, "standard input"
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		in, title = f, path
	}
	if w.command.Format == "whole" {
		text, err := io.ReadAll(in)
		if err != nil {
			return err
		}
		return w.send(ctx, &kgo.Record{Value: text})
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 64<<10), lineLimit)
	for n := 1; lines.Scan(); n++ {
		r, err := w.command.recordOf(bytes.Clone(lines.Bytes()))
		if err != nil {
			return HintError{fmt.Errorf("%s, line %d: %w", title, n, err), "docs/CLI.md describes the fields of a record"}
		}
		if err := w.send(ctx, r); err != nil {
			return err
		}
	}
	return lines.Err()
}

// recordOf turns a line into a record.
func (c *produceCommand) recordOf(line []byte) (*kgo.Record, error) {
	if c.Format == "json" {
		return parseRecord(line)
	}
	if c.KeySeparator == "" {
		return &kgo.Record{Value: line}, nil
	}
	key, value, found := bytes.Cut(line, []byte(c.KeySeparator))
	if !found {
		return &kgo.Record{Value: line}, nil
	}
	return &kgo.Record{Key: key, Value: value}, nil
}

// send fills in what the flags say, and sends the record.
func (w *writer) send(ctx context.Context, r *kgo.Record) error {
	c := w.command
	r.Topic = c.Topic
	if c.Partition >= 0 {
		r.Partition = c.Partition
	}
	if r.Key == nil && c.Key != nil {
		r.Key = []byte(*c.Key)
	}
	if c.EmptyIsNull && len(r.Value) == 0 {
		r.Value = nil
	}
	for _, h := range slices.Sorted(maps.Keys(c.Header)) {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: h, Value: []byte(c.Header[h])})
	}
	w.cluster.Client().Produce(ctx, r, w.answered)
	return context.Cause(ctx)
}

// answered is called when a record is written or not.
func (w *writer) answered(r *kgo.Record, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil && w.command.JSON {
		err = printLine(w.streams.Out, produced{r.Topic, r.Partition, r.Offset})
	}
	if err == nil {
		w.written++
		return
	}
	if w.failed == nil {
		w.failed = err
		w.stop(nil)
	}
}
