package scenario

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/group"
)

// Record types of the group log; the key of a record begins with its type.
const (
	typeOldOffset = 0
	typeOffset    = 1
	typeGroup     = 2
)

// batchWords writes a batch: its records in order, those of one kind and group
// together, others after a "+". The bytes are read by a codec that is not
// ours, so each file checks the format of the records as well.
func batchWords(b group.Batch, typeOf func(string) string, wall int64) []string {
	var words []string
	last := ""
	for _, r := range b.Records {
		heading, word := recordWords(r, typeOf, wall)
		switch joined := strings.Join(heading, " "); {
		case joined != last:
			if len(words) > 0 {
				words = append(words, "+")
			}
			words = append(append(words, heading...), word...)
			last = joined
		default:
			words = append(words, word...)
		}
	}
	return words
}

// recordWords writes a record in two parts: its kind and group, and the rest.
func recordWords(r group.Record, typeOf func(string) string, wall int64) (heading, rest []string) {
	raw := []string{"raw"}
	bytesOf := []string{"key=0x" + hex.EncodeToString(r.Key), "value=0x" + hex.EncodeToString(r.Value)}
	if len(r.Key) < 2 {
		return raw, bytesOf
	}
	switch binary.BigEndian.Uint16(r.Key) {
	case typeOldOffset, typeOffset:
		var key kmsg.OffsetCommitKey
		word, err := "", key.ReadFrom(r.Key)
		if err == nil {
			word, err = offsetRecordWord(key, r.Value, wall)
		}
		if err == nil {
			return []string{"offset", quote(key.Group)}, []string{word}
		}
	case typeGroup:
		var key kmsg.GroupMetadataKey
		if key.ReadFrom(r.Key) == nil {
			if words, err := groupRecordWords(r.Value, typeOf(key.Group), wall); err == nil {
				return []string{"group-metadata", quote(key.Group)}, words
			}
		}
	}
	return raw, bytesOf
}

func offsetRecordWord(key kmsg.OffsetCommitKey, value []byte, wall int64) (string, error) {
	partition := partitionWord(group.TopicPartition{Topic: key.Topic, Partition: key.Partition})
	if value == nil {
		return partition + "=tombstone", nil
	}
	v := kmsg.NewOffsetCommitValue()
	v.LeaderEpoch, v.ExpireTimestamp = -1, -1
	if err := v.ReadFrom(value); err != nil {
		return "", err
	}
	word := partition + "=" + offsetWord(v.Offset, v.LeaderEpoch, v.Metadata)
	var facts []string
	if v.CommitTimestamp != wall {
		facts = append(facts, "time="+formatDuration(millis(v.CommitTimestamp-wall)))
	}
	if v.ExpireTimestamp != -1 {
		facts = append(facts, "expires="+formatDuration(millis(v.ExpireTimestamp-wall)))
	}
	// Version 3 is what every reader since 2.1 knows; 1 alone has an expiry.
	if v.Version != 3 && (v.Version != 1 || v.ExpireTimestamp == -1) {
		facts = append(facts, "v="+strconv.Itoa(int(v.Version)))
	}
	if len(facts) > 0 {
		word += "(" + strings.Join(facts, " ") + ")"
	}
	return word, nil
}

func groupRecordWords(value []byte, protocolType string, wall int64) ([]string, error) {
	if value == nil {
		return []string{"tombstone"}, nil
	}
	v := kmsg.NewGroupMetadataValue()
	if err := v.ReadFrom(value); err != nil {
		return nil, err
	}
	words := []string{"generation=" + strconv.Itoa(int(v.Generation))}
	if v.Version != 3 {
		words = append(words, "v="+strconv.Itoa(int(v.Version)))
	}
	if v.ProtocolType != protocolType {
		words = append(words, "type="+quote(v.ProtocolType))
	}
	if v.Protocol != nil {
		words = append(words, "protocol="+quote(*v.Protocol))
	}
	if v.Leader != nil {
		words = append(words, "leader="+quote(*v.Leader))
	}
	if v.CurrentStateTimestamp != wall {
		words = append(words, "time="+formatDuration(millis(v.CurrentStateTimestamp-wall)))
	}
	var members []string
	for _, m := range v.Members {
		members = append(members, memberWord(m.MemberID, m.InstanceID, m.Subscription)+":"+formatPayload(m.Assignment))
	}
	slices.Sort(members)
	return append(words, members...), nil
}

// handBatch is a batch that a file writes by hand.
type handBatch struct {
	// encode makes its records when it is appended: their times are relative.
	encode func(wall int64) ([]group.Record, error)
	// producer is -1 unless the batch belongs to a transaction.
	producer int64
	control  group.Control
}

// parseHandBatch reads what follows "log =".
func parseHandBatch(words []string) (*handBatch, error) {
	o, err := readOptions(words, "producer")
	if err != nil {
		return nil, err
	}
	if len(o.args) == 0 {
		return nil, errors.New("which record?")
	}
	b := &handBatch{}
	if b.producer, err = o.number("producer", -1, 64); err != nil {
		return nil, err
	}
	switch o.args[0] {
	case "commit":
		b.control = group.ControlCommit
	case "abort":
		b.control = group.ControlAbort
	default:
		if b.encode, err = handRecords(o.args); err != nil {
			return nil, err
		}
		// Encode once now, so that mistakes are found before the file plays.
		_, err = b.encode(wallOrigin)
		return b, err
	}
	b.encode = func(int64) ([]group.Record, error) { return []group.Record{{}}, nil }
	if len(o.args) > 1 || b.producer < 0 {
		return nil, fmt.Errorf("%s takes producer= and nothing else", o.args[0])
	}
	return b, nil
}

func handRecords(words []string) (func(wall int64) ([]group.Record, error), error) {
	kind, rest := words[0], words[1:]
	if kind == "raw" {
		return rawRecord(rest)
	}
	if len(rest) == 0 {
		return nil, fmt.Errorf("%s takes a group", kind)
	}
	name, err := unquote(rest[0])
	if err != nil {
		return nil, err
	}
	rest = rest[1:]
	switch kind {
	case "offset":
		return func(wall int64) ([]group.Record, error) { return offsetsByHand(name, rest, wall) }, nil
	case "group-metadata":
		return func(wall int64) ([]group.Record, error) { return groupByHand(name, rest, wall) }, nil
	}
	return nil, fmt.Errorf("a record is an offset, group-metadata or raw, not %q", kind)
}

func rawRecord(words []string) (func(int64) ([]group.Record, error), error) {
	o, err := readOptions(words, "key", "value")
	if err != nil {
		return nil, err
	}
	var r group.Record
	if r.Key, err = parsePayload(o.values["key"]); err != nil {
		return nil, err
	}
	if value := o.values["value"]; value != "null" {
		if r.Value, err = parsePayload(value); err != nil {
			return nil, err
		}
	}
	return func(int64) ([]group.Record, error) { return []group.Record{r}, nil }, noArguments(o)
}

// offsetsByHand encodes words such as t-0=10@5:note(v=1 time=-1h expires=1h).
func offsetsByHand(name string, words []string, wall int64) ([]group.Record, error) {
	var records []group.Record
	for _, w := range words {
		partition, value, _ := cutOutside(w, '=')
		tp, err := parsePartition(partition)
		if err != nil {
			return nil, err
		}
		key := kmsg.OffsetCommitKey{Version: typeOffset, Group: name, Topic: tp.Topic, Partition: tp.Partition}
		r := group.Record{Key: key.AppendTo(nil)}
		if value != "tombstone" {
			if r.Value, err = offsetValue(value, wall); err != nil {
				return nil, err
			}
		}
		records = append(records, r)
	}
	return records, nil
}

func offsetValue(word string, wall int64) ([]byte, error) {
	offset, facts, err := parseOffset(word)
	if err != nil {
		return nil, err
	}
	o, err := readOptions(strings.Fields(facts), "v", "time", "expires")
	if err != nil {
		return nil, err
	}
	version, err := o.number("v", 3, 16)
	if err != nil {
		return nil, err
	}
	if version < 0 || version > 4 {
		return nil, fmt.Errorf("no offset value has version %d", version)
	}
	at, err := o.duration("time", 0)
	if err != nil {
		return nil, err
	}
	v := kmsg.NewOffsetCommitValue()
	v.Version = int16(version)
	v.Offset, v.LeaderEpoch, v.Metadata = offset.Offset, offset.LeaderEpoch, offset.Metadata
	v.CommitTimestamp, v.ExpireTimestamp = wall+at.Milliseconds(), -1
	if o.values["expires"] != "never" {
		expires, err := o.duration("expires", -1)
		if err != nil {
			return nil, err
		}
		if expires != -1 {
			v.ExpireTimestamp = wall + expires.Milliseconds()
		}
	}
	return v.AppendTo(nil), noArguments(o)
}

// groupByHand encodes the members of a group, each as a1:p0 or
// a1(instance=i1 session=10s rebalance=30s client=a host=/h metadata=[t] assignment=p0).
func groupByHand(name string, words []string, wall int64) ([]group.Record, error) {
	key := kmsg.GroupMetadataKey{Version: typeGroup, Group: name}
	r := group.Record{Key: key.AppendTo(nil)}
	if len(words) == 1 && words[0] == "tombstone" {
		return []group.Record{r}, nil
	}
	o, err := readOptions(words, "v", "generation", "type", "protocol", "leader", "time")
	if err != nil {
		return nil, err
	}
	v := kmsg.NewGroupMetadataValue()
	version, err := o.number("v", 3, 16)
	if err != nil {
		return nil, err
	}
	if version < 0 || version > 4 {
		return nil, fmt.Errorf("no group value has version %d", version)
	}
	n, err := o.number("generation", 0, 32)
	if err != nil {
		return nil, err
	}
	v.Version, v.Generation, v.CurrentStateTimestamp = int16(version), int32(n), -1
	if o.values["time"] != "absent" {
		at, err := o.duration("time", 0)
		if err != nil {
			return nil, err
		}
		v.CurrentStateTimestamp = wall + at.Milliseconds()
	}
	if v.ProtocolType, err = o.text("type", "consumer"); err != nil {
		return nil, err
	}
	if v.Protocol, err = o.optional("protocol"); err != nil {
		return nil, err
	}
	if v.Leader, err = o.optional("leader"); err != nil {
		return nil, err
	}
	for _, w := range o.args {
		m, err := memberByHand(w)
		if err != nil {
			return nil, err
		}
		v.Members = append(v.Members, m)
	}
	r.Value = v.AppendTo(nil)
	return []group.Record{r}, nil
}

func memberByHand(word string) (kmsg.GroupMetadataValueMember, error) {
	m := kmsg.NewGroupMetadataValueMember()
	facts := ""
	if i := indexOutside(word, '('); i >= 0 && strings.HasSuffix(word, ")") {
		word, facts = word[:i], word[i+1:len(word)-1]
	}
	entry, assignment, _ := cutOutside(word, ':')
	inner, err := splitWords(facts)
	if err != nil {
		return m, err
	}
	o, err := readOptions(inner, "session", "rebalance", "client", "host", "metadata", "assignment")
	if err != nil {
		return m, err
	}
	if m.MemberID, m.InstanceID, err = parseMemberEntry(entry); err != nil {
		return m, err
	}
	if m.ClientID, err = o.text("client", "a"); err != nil {
		return m, err
	}
	if m.ClientHost, err = o.text("host", "/127.0.0.1"); err != nil {
		return m, err
	}
	session, err := o.duration("session", 10*time.Second)
	if err != nil {
		return m, err
	}
	rebalance, err := o.duration("rebalance", 30*time.Second)
	if err != nil {
		return m, err
	}
	m.SessionTimeoutMillis = int32(session.Milliseconds())
	m.RebalanceTimeoutMillis = int32(rebalance.Milliseconds())
	metadata := "[t]"
	if word, ok := o.values["metadata"]; ok {
		metadata = word
	}
	if m.Subscription, err = parsePayload(metadata); err != nil {
		return m, err
	}
	if word, ok := o.values["assignment"]; ok {
		assignment = word
	}
	m.Assignment, err = parsePayload(assignment)
	return m, err
}
