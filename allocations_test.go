//go:build !race && !invariants

package rota_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"net"
	"runtime"
	"strconv"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rota"
)

// hotPath is what a whole broker may allocate for one operation on a path that
// carries the load, in objects and bytes. Timings say nothing on a busy machine;
// these counts are nearly the same on all. Who makes a path cheaper lowers its
// bound, who needs more says why in the commit.
type hotPath struct {
	name           string
	objects, bytes float64
	history        bool // with the events of groups kept and written, as by default
	prepare        func(*peer) (operation func())
}

var hotPaths = []hotPath{
	{"produce", 11, 2300, false, repeating(produceRequest)},
	{"fetch", 10, 750, false, repeating(fetchRequest)},
	{"commit", 18.5, 1350, false, repeating(commitRequest)},
	{"heartbeat", 5.5, 180, false, heartbeats},
	{"join and sync", 48, 6700, false, generations},
	{"join and sync with their history", 68, 13_000, true, generations},
}

// What a broker allocates for each operation over TCP, with a data folder,
// stays within bounds. Half a bound is wrong too: a bound that is far away
// guards nothing.
func TestHotPathAllocations(t *testing.T) {
	for _, path := range hotPaths {
		t.Run(path.name, func(t *testing.T) {
			b, err := rota.Start(t.Context(), rota.Config{DataDir: t.TempDir(), Properties: map[string]string{
				"durability": "never", "group.initial.rebalance.delay.ms": "0", "rota.history.enable": strconv.FormatBool(path.history),
			}})
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			p := connect(t, b.Addr())
			p.createTopic()
			objects, size := allocations(path.prepare(p))
			t.Logf("%.1f objects, %.0f bytes", objects, size)
			if objects > path.objects || size > path.bytes {
				t.Errorf("%.1f objects and %.0f bytes are allocated for each, at most %.1f and %.0f are allowed", objects, size, path.objects, path.bytes)
			}
			if objects < path.objects/2 || size < path.bytes/2 {
				t.Errorf("%.1f objects and %.0f bytes are allocated for each: lower the bounds of %.1f and %.0f", objects, size, path.objects, path.bytes)
			}
		})
	}
}

// allocations is what the whole process allocates for each call of f.
func allocations(f func()) (objects, bytes float64) {
	const calls = 4000
	for range calls / 4 {
		f()
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range calls {
		f()
	}
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / calls, float64(after.TotalAlloc-before.TotalAlloc) / calls
}

// repeating prepares one request to be sent again and again. The whole answer
// is checked once.
func repeating(request func(*peer) kmsg.Request) func(*peer) func() {
	return func(p *peer) func() {
		req := request(p)
		p.do(req)
		frame := kmsg.NewRequestFormatter().AppendRequest(nil, req, 1)
		return func() { p.repeat(frame) }
	}
}

// peer is a connection that allocates nothing for a repeated request.
type peer struct {
	t   testing.TB
	c   net.Conn
	buf []byte
}

func connect(t testing.TB, addr string) *peer {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &peer{t: t, c: c, buf: make([]byte, 1<<20)}
}

// repeat sends a frame and reads the answer, whose length it returns.
func (p *peer) repeat(frame []byte) int {
	if _, err := p.c.Write(frame); err != nil {
		p.t.Fatal(err)
	}
	if _, err := io.ReadFull(p.c, p.buf[:4]); err != nil {
		p.t.Fatal(err)
	}
	n := int(binary.BigEndian.Uint32(p.buf))
	if _, err := io.ReadFull(p.c, p.buf[:n]); err != nil {
		p.t.Fatal(err)
	}
	return n
}

// do sends a request, decodes its answer and fails on an error code in it.
func (p *peer) do(req kmsg.Request) kmsg.Response {
	p.t.Helper()
	n := p.repeat(kmsg.NewRequestFormatter().AppendRequest(nil, req, 1))
	resp := req.ResponseKind()
	resp.SetVersion(req.GetVersion())
	if err := resp.ReadFrom(p.buf[4:n]); err != nil {
		p.t.Fatal(err)
	}
	var code int16
	switch r := resp.(type) {
	case *kmsg.ProduceResponse:
		code = r.Topics[0].Partitions[0].ErrorCode
	case *kmsg.FetchResponse:
		code = r.Topics[0].Partitions[0].ErrorCode
		if len(r.Topics[0].Partitions[0].RecordBatches) == 0 {
			p.t.Fatal("the fetch is empty")
		}
	case *kmsg.OffsetCommitResponse:
		code = r.Topics[0].Partitions[0].ErrorCode
	case *kmsg.HeartbeatResponse:
		code = r.ErrorCode
	case *kmsg.SyncGroupResponse:
		code = r.ErrorCode
	case *kmsg.JoinGroupResponse:
		if code = r.ErrorCode; code == kerr.MemberIDRequired.Code {
			code = 0
		}
	}
	if err := kerr.ErrorForCode(code); err != nil {
		p.t.Fatalf("%T: %v", resp, err)
	}
	return resp
}

func (p *peer) createTopic() {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version, req.TimeoutMillis = 4, 10_000
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = "t", 1, 1
	req.Topics = append(req.Topics, topic)
	resp := p.do(req).(*kmsg.CreateTopicsResponse)
	if code := resp.Topics[0].ErrorCode; code != 0 && code != kerr.TopicAlreadyExists.Code {
		p.t.Fatal(kerr.ErrorForCode(code))
	}
}

// produceRequest is a batch of one record with 1 KiB.
func produceRequest(*peer) kmsg.Request {
	rec := kmsg.Record{Value: make([]byte, 1<<10)}
	rec.Length = int32(len(rec.AppendTo(nil))) - 1 // as encoded with a zero length byte
	batch := kmsg.RecordBatch{
		PartitionLeaderEpoch: -1, Magic: 2, ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1, NumRecords: 1, Records: rec.AppendTo(nil),
	}
	batch.Length = int32(len(batch.AppendTo(nil))) - 12
	raw := batch.AppendTo(nil)
	binary.BigEndian.PutUint32(raw[17:], crc32.Checksum(raw[21:], crc32.MakeTable(crc32.Castagnoli)))

	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = 8, -1, 30_000
	partition := kmsg.NewProduceRequestTopicPartition()
	partition.Records = raw
	topic := kmsg.NewProduceRequestTopic()
	topic.Topic, topic.Partitions = "t", append(topic.Partitions, partition)
	req.Topics = append(req.Topics, topic)
	return req
}

// fetchRequest fetches one such batch, outside of a session.
func fetchRequest(p *peer) kmsg.Request {
	p.do(produceRequest(p))
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.ReplicaID, req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.SessionEpoch = 11, -1, 500, 1, 1<<20, -1
	partition := kmsg.NewFetchRequestTopicPartition()
	partition.PartitionMaxBytes, partition.CurrentLeaderEpoch = 1, -1
	topic := kmsg.NewFetchRequestTopic()
	topic.Topic, topic.Partitions = "t", append(topic.Partitions, partition)
	req.Topics = append(req.Topics, topic)
	return req
}

// commitRequest is a commit for one partition.
func commitRequest(*peer) kmsg.Request {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Version, req.Group, req.Generation = 7, "commits", -1
	partition := kmsg.NewOffsetCommitRequestTopicPartition()
	partition.Offset = 42
	topic := kmsg.NewOffsetCommitRequestTopic()
	topic.Topic, topic.Partitions = "t", append(topic.Partitions, partition)
	req.Topics = append(req.Topics, topic)
	return req
}

// heartbeats beats in a stable group of one.
func heartbeats(p *peer) func() { return beatsIn(p, "beats") }

func beatsIn(p *peer, group string) func() {
	join := joinRequest(p, group)
	sync := syncRequest(join, p.do(join).(*kmsg.JoinGroupResponse).Generation)
	p.do(sync)
	return repeating(func(*peer) kmsg.Request {
		req := kmsg.NewPtrHeartbeatRequest()
		req.Version, req.Group, req.MemberID, req.Generation = 3, sync.Group, sync.MemberID, sync.Generation
		return req
	})(p)
}

// generations has the leader of a group of one join again, which makes a new
// generation, and sync, which records its assignment.
func generations(p *peer) func() { return generationsIn(p, "joins") }

func generationsIn(p *peer, group string) func() {
	const marker = 0x01020304
	join := joinRequest(p, group)
	sync := kmsg.NewRequestFormatter().AppendRequest(nil, syncRequest(join, marker), 1)
	place := bytes.Index(sync, binary.BigEndian.AppendUint32(nil, marker))
	rejoin := kmsg.NewRequestFormatter().AppendRequest(nil, join, 1)
	return func() {
		p.repeat(rejoin)
		if code := binary.BigEndian.Uint16(p.buf[8:]); code != 0 {
			p.t.Fatal(kerr.ErrorForCode(int16(code)))
		}
		copy(sync[place:place+4], p.buf[10:14])
		p.repeat(sync)
		if code := binary.BigEndian.Uint16(p.buf[8:]); code != 0 {
			p.t.Fatal(kerr.ErrorForCode(int16(code)))
		}
	}
}

// joinRequest is a join with the member id that the group has given.
func joinRequest(p *peer, group string) *kmsg.JoinGroupRequest {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Version, req.Group, req.ProtocolType, req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = 5, group, "consumer", 60_000, 60_000
	protocol := kmsg.NewJoinGroupRequestProtocol()
	protocol.Name, protocol.Metadata = "range", make([]byte, 32)
	req.Protocols = append(req.Protocols, protocol)
	req.MemberID = p.do(req).(*kmsg.JoinGroupResponse).MemberID
	return req
}

func syncRequest(join *kmsg.JoinGroupRequest, generation int32) *kmsg.SyncGroupRequest {
	req := kmsg.NewPtrSyncGroupRequest()
	req.Version, req.Group, req.MemberID, req.Generation = 3, join.Group, join.MemberID, generation
	assignment := kmsg.NewSyncGroupRequestGroupAssignment()
	assignment.MemberID, assignment.MemberAssignment = join.MemberID, make([]byte, 32)
	req.GroupAssignment = append(req.GroupAssignment, assignment)
	return req
}
