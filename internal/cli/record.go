package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kgo"

	"rota/internal/display"
)

// record is a record as JSON, in and out.
type record struct {
	Topic       string    `json:"topic,omitempty" doc:"Topic. Not read: produce writes to the topic that it is told."`
	Partition   *int32    `json:"partition,omitempty" doc:"Partition. Not read: produce chooses by the key, or by --partition."`
	Offset      *int64    `json:"offset,omitempty" doc:"Offset. Not read."`
	Time        time.Time `json:"time,omitzero" doc:"Timestamp of the record. Read: the time of writing if it is missing."`
	Key         *string   `json:"key" doc:"Key, null if there is none, or if it is not UTF-8."`
	KeyBase64   []byte    `json:"key_base64,omitempty" doc:"A key that is not UTF-8, in base64."`
	Value       *string   `json:"value" doc:"Value, null for a tombstone, or if it is not UTF-8."`
	ValueBase64 []byte    `json:"value_base64,omitempty" doc:"A value that is not UTF-8, in base64."`
	Headers     []header  `json:"headers,omitempty" doc:"Headers, in their order."`
}

// header is a header of a record.
type header struct {
	Key         string  `json:"key" doc:"Name of the header."`
	Value       *string `json:"value" doc:"Value, null if there is none, or if it is not UTF-8."`
	ValueBase64 []byte  `json:"value_base64,omitempty" doc:"A value that is not UTF-8, in base64."`
}

func recordOf(r *kgo.Record) record {
	out := record{Topic: r.Topic, Partition: &r.Partition, Offset: &r.Offset, Time: r.Timestamp.UTC()}
	out.Key, out.KeyBase64 = textOf(r.Key)
	out.Value, out.ValueBase64 = textOf(r.Value)
	for _, h := range r.Headers {
		of := header{Key: h.Key}
		of.Value, of.ValueBase64 = textOf(h.Value)
		out.Headers = append(out.Headers, of)
	}
	return out
}

// textOf returns bytes as text if they are that.
func textOf(b []byte) (*string, []byte) {
	if b == nil {
		return nil, nil
	}
	if !utf8.Valid(b) {
		return nil, b
	}
	s := string(b)
	return &s, nil
}

func bytesOf(s *string, b []byte) []byte {
	if s == nil {
		return b
	}
	return []byte(*s)
}

// parseRecord reads one line of JSON.
func parseRecord(line []byte) (*kgo.Record, error) {
	var in record
	if err := json.Unmarshal(line, &in); err != nil {
		return nil, err
	}
	r := &kgo.Record{Key: bytesOf(in.Key, in.KeyBase64), Value: bytesOf(in.Value, in.ValueBase64), Timestamp: in.Time}
	for _, h := range in.Headers {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: h.Key, Value: bytesOf(h.Value, h.ValueBase64)})
	}
	return r, nil
}

// printer writes records as text.
type printer struct {
	format string // with verbs
	safe   bool   // escape what could harm a terminal
}

// formatHelp describes what a printer understands.
const formatHelp = `%t topic, %p partition, %o offset, %T time, %k key, %v value, %h headers, %%; \n and \t`

// check refuses verbs that are none.
func (p *printer) check() error {
	for i := 0; i < len(p.format); i++ {
		if p.format[i] != '%' {
			continue
		}
		if i++; i == len(p.format) || !strings.ContainsRune("tpoTkvh%", rune(p.format[i])) {
			return MisuseError("--format knows " + formatHelp)
		}
	}
	return nil
}

// print writes one record.
func (p *printer) print(w io.Writer, r *kgo.Record) error {
	out := make([]byte, 0, len(r.Key)+len(r.Value)+len(p.format)+16)
	for i := 0; i < len(p.format); i++ {
		c := p.format[i]
		if c != '%' && c != '\\' || i+1 == len(p.format) {
			out = append(out, c)
			continue
		}
		i++
		switch string([]byte{c, p.format[i]}) {
		case `\n`:
			out = append(out, '\n')
		case `\t`:
			out = append(out, '\t')
		case "%t":
			out = append(out, name(r.Topic)...)
		case "%p":
			out = strconv.AppendInt(out, int64(r.Partition), 10)
		case "%o":
			out = strconv.AppendInt(out, r.Offset, 10)
		case "%T":
			out = r.Timestamp.UTC().AppendFormat(out, "2006-01-02T15:04:05.000Z")
		case "%k":
			out = append(out, p.bytes(r.Key)...)
		case "%v":
			out = append(out, p.bytes(r.Value)...)
		case "%h":
			for i, h := range r.Headers {
				if i > 0 {
					out = append(out, ' ')
				}
				out = fmt.Appendf(out, "%s=%s", p.bytes([]byte(h.Key)), p.bytes(h.Value))
			}
		default: // %% and other escapes
			out = append(out, p.format[i])
		}
	}
	_, err := w.Write(out)
	return err
}

func (p *printer) bytes(b []byte) []byte {
	if !p.safe {
		return b
	}
	return []byte(display.Text(string(b)))
}
