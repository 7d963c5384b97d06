package coordinator

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"rota/internal/group"
)

// The file of a panic is a scenario: comments say what the group was, "log"
// lines what the log holds of it, and after the reload come the last requests
// of its clients. Playing it repeats the panic as far as the log and the last
// requests are to blame for it. Answers are left out: the player fills them in.

// groupCrash is the file of a panic in a group, without what the log holds.
func groupCrash(c *Crash[group.Request, group.Response, group.Event], p *panicked, state []byte) (head, tail []byte) {
	return crashHead(c, p, state), crashTail(c)
}

// crashHead is the beginning of the file: the panic, the group's state and
// its last events as comments.
func crashHead(c *Crash[group.Request, group.Response, group.Event], p *panicked, state []byte) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "core-only: the report of a panic in %s: member ids in it are those of the broker\n\n", c.What)
	comment(&b, fmt.Sprintf("panic: %v\n%s", p.value, p.stack))
	comment(&b, "\nThe group:\n"+string(state))
	if len(c.Events) > 0 {
		comment(&b, "\nIts last events:")
	}
	for _, lot := range c.Events {
		for i := range lot.Events {
			e := &lot.Events[i]
			comment(&b, fmt.Sprintf("%s generation=%d cause=%s member=%s client=%s", e.Kind, e.Generation, e.Cause, quote(e.Member.ID), quote(e.Member.ClientID)))
		}
	}
	fmt.Fprintf(&b, "\ngroup %s\n", quote(c.ID))
	return b.Bytes()
}

func comment(b *bytes.Buffer, text string) {
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimRight("# "+strings.TrimSuffix(line, "\n"), " \t"))
		b.WriteByte('\n')
	}
}

// crashRecords are the last record for each key, in the order of the log.
type crashRecords struct {
	lines []string
	at    map[string]int
}

func (r *crashRecords) add(key, value []byte) {
	if r.at == nil {
		r.at = make(map[string]int)
	}
	if i, ok := r.at[string(key)]; ok {
		r.lines[i] = ""
	}
	r.at[string(key)] = len(r.lines)
	word := "null"
	if value != nil {
		word = "0x" + hex.EncodeToString(value)
	}
	r.lines = append(r.lines, "log = raw key=0x"+hex.EncodeToString(key)+" value="+word)
}

func (r *crashRecords) text() []byte {
	var b bytes.Buffer
	for _, line := range r.lines {
		if line != "" {
			b.WriteString(line)
			b.WriteByte('\n')
		}
	}
	if b.Len() > 0 {
		b.WriteString("reload\n")
	}
	return b.Bytes()
}

// crashTail is the end of the file: the group's last requests. Clients have
// the names A, B, ... in the order in which they appear.
func crashTail(c *Crash[group.Request, group.Response, group.Event]) []byte {
	var b bytes.Buffer
	clients := make(map[string]string)
	var last time.Duration
	for i, call := range c.Calls {
		if i > 0 && call.now.Mono > last {
			fmt.Fprintf(&b, "+%s\n", call.now.Mono-last)
		}
		last = call.now.Mono
		if call.tick {
			continue // a tick: letting the time pass is all it takes
		}
		who, words := requestWords(call.req)
		if len(words) == 0 {
			continue
		}
		if clients[who] == "" {
			clients[who] = clientName(len(clients))
		}
		fmt.Fprintf(&b, "%s -> %s\n", clients[who], strings.Join(words, " "))
	}
	return b.Bytes()
}

// clientName names the n-th client: A to Z, then AA, AB, ...
func clientName(n int) string {
	name := string(rune('A' + n%26))
	if n >= 26 {
		name = clientName(n/26-1) + name
	}
	return name
}

// RequestWords writes a request in the language of scenarios: what stands
// behind the arrow.
func RequestWords(req group.Request) []string {
	_, words := requestWords(req)
	return words
}

// requestWords writes a request in the language of scenarios, with the key by
// which its sender is known.
func requestWords(req group.Request) (who string, words []string) {
	switch r := req.(type) {
	case group.Join:
		return sender(r.MemberID, r.InstanceID, r.ClientID), joinWords(&r)
	case group.Sync:
		words = identityWords([]string{"sync", version(r.Version)}, r.MemberID, r.InstanceID, r.Generation)
		words = optional(optional(words, "type", r.ProtocolType), "protocol", r.ProtocolName)
		for _, a := range r.Assignments {
			words = append(words, quote(a.MemberID)+"=0x"+hex.EncodeToString(a.Data))
		}
		return sender(r.MemberID, r.InstanceID, ""), words
	case group.Heartbeat:
		return sender(r.MemberID, r.InstanceID, ""), identityWords([]string{"heartbeat"}, r.MemberID, r.InstanceID, r.Generation)
	case group.Leave:
		words = []string{"leave", version(r.Version)}
		for _, m := range r.Members {
			words = append(words, memberWord(m.MemberID, m.InstanceID))
		}
		return "admin", words
	case group.Commit:
		words = identityWords([]string{"commit", version(r.Version)}, r.MemberID, r.InstanceID, r.Generation)
		if r.Retention >= 0 {
			words = append(words, "retention="+r.Retention.String())
		}
		for i := range r.Offsets {
			words = append(words, offsetWord(&r.Offsets[i]))
		}
		return sender(r.MemberID, r.InstanceID, ""), words
	case group.TxnCommit:
		words = []string{"txn-commit", version(r.Version), "producer=" + strconv.FormatInt(r.ProducerID, 10)}
		if r.MemberID != "" || r.InstanceID != nil || r.Generation >= 0 {
			words = identityWords(words, r.MemberID, r.InstanceID, r.Generation)
		}
		for i := range r.Offsets {
			words = append(words, offsetWord(&r.Offsets[i]))
		}
		return "producer " + strconv.FormatInt(r.ProducerID, 10), words
	case group.FetchOffsets:
		return "admin", append([]string{"fetch-offsets"}, fetchWords(&r)...)
	case group.DeleteOffsets:
		return "admin", append([]string{"delete-offsets"}, partitionWords(r.Partitions)...)
	case group.Delete:
		return "admin", []string{"delete"}
	case group.Describe:
		return "admin", []string{"describe", version(r.Version)}
	}
	return "", nil
}

func joinWords(j *group.Join) []string {
	words := []string{"join", version(j.Version)}
	if j.MemberID != "" {
		words = append(words, "member="+quote(j.MemberID))
	}
	words = optional(words, "instance", j.InstanceID)
	words = append(words, "session="+j.SessionTimeout.String(), "rebalance="+j.RebalanceTimeout.String(),
		"type="+quote(j.ProtocolType), "client="+quote(j.ClientID), "host="+quote(j.ClientHost))
	list := make([]string, len(j.Protocols))
	for i, p := range j.Protocols {
		list[i] = quote(p.Name) + ":0x" + hex.EncodeToString(p.Metadata)
	}
	if len(list) == 0 {
		list = []string{"none"}
	}
	return append(words, "protocols="+strings.Join(list, ","))
}

// sender is the key by which a client is known.
func sender(member string, instance *string, client string) string {
	switch {
	case member != "":
		return "member " + member
	case instance != nil:
		return "instance " + *instance
	}
	return "client " + client
}

func version(v int16) string { return "v=" + strconv.Itoa(int(v)) }

func identityWords(words []string, member string, instance *string, generation int32) []string {
	if member != "" {
		words = append(words, "member="+quote(member))
	}
	words = optional(words, "instance", instance)
	return append(words, "generation="+strconv.Itoa(int(generation)))
}

func optional(words []string, key string, value *string) []string {
	if value == nil {
		return words
	}
	return append(words, key+"="+quote(*value))
}

func memberWord(id string, instance *string) string {
	word := ""
	if id != "" || instance == nil {
		word = quote(id)
	}
	if instance != nil {
		word += "/" + quote(*instance)
	}
	return word
}

func offsetWord(o *group.CommitOffset) string {
	word := partitionWord(o.TopicPartition) + "=" + strconv.FormatInt(o.Offset, 10)
	if o.LeaderEpoch != -1 {
		word += "@" + strconv.Itoa(int(o.LeaderEpoch))
	}
	if o.Metadata != "" {
		word += ":0x" + hex.EncodeToString([]byte(o.Metadata))
	}
	return word
}

func fetchWords(f *group.FetchOffsets) []string {
	words := partitionWords(f.Partitions)
	if f.All {
		words = append(words, "all")
	}
	if f.RequireStable {
		words = append(words, "stable")
	}
	return words
}

func partitionWords(list []group.TopicPartition) []string {
	words := make([]string, len(list))
	for i, tp := range list {
		words[i] = partitionWord(tp)
	}
	return words
}

func partitionWord(tp group.TopicPartition) string {
	return quote(tp.Topic) + "-" + strconv.Itoa(int(tp.Partition))
}

// quote writes text as a word of a scenario.
func quote(text string) string {
	plain := text != ""
	for i := range len(text) {
		c := text[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && (i == 0 || !strings.ContainsRune("_.-", rune(c))) {
			plain = false
		}
	}
	if plain {
		return text
	}
	return strconv.Quote(text)
}
