package scenario

import (
	"slices"
	"strconv"
	"strings"

	"rota/internal/group"
)

// answerWords writes a reply in the words of the language, the verb first.
// What the request makes plain (the caller's own id, the group's type) is left
// out unless the reply differs from it.
func answerWords(q *call, r group.Response) []string {
	words := []string{q.verb}
	switch r := r.(type) {
	case group.Joined:
		return append(words, joinedWords(q, r)...)
	case group.Synced:
		return append(words, syncedWords(q, r)...)
	case group.Beat:
		return append(words, formatCode(r.Code))
	case group.Left:
		return append(words, leftWords(q, r)...)
	case group.Committed:
		return append(words, committedWords(q, r)...)
	case group.FetchedOffsets:
		return append(words, fetchedWords(r)...)
	case group.DeletedOffsets:
		return append(words, deletedOffsetsWords(q, r)...)
	case group.Deleted:
		return append(words, formatCode(r.Code))
	case group.Described:
		return append(words, describedWords(r)...)
	}
	return append(words, "NO-SUCH-REPLY")
}

func joinedWords(q *call, r group.Joined) []string {
	var words []string
	if r.Code != 0 {
		words = append(words, formatCode(r.Code))
	}
	if r.Code == 0 || r.Generation != -1 {
		words = append(words, "generation="+strconv.Itoa(int(r.Generation)))
	}
	words = append(words, typeWords(q, r.Code, r.ProtocolType)...)
	if r.ProtocolName != nil {
		words = append(words, "protocol="+quote(*r.ProtocolName))
	} else if r.Code == 0 {
		words = append(words, "protocol=null")
	}
	if r.Code == 0 || r.Leader != "" {
		words = append(words, "leader="+quote(r.Leader))
	}
	if own, ok := q.request.(group.Join); !ok || own.MemberID != r.MemberID {
		words = append(words, "member="+quote(r.MemberID))
	}
	if r.SkipAssignment {
		words = append(words, "skip")
	}
	var members []string
	for _, m := range r.Members {
		members = append(members, memberWord(m.MemberID, m.InstanceID, m.Metadata))
	}
	if len(members) > 0 {
		slices.Sort(members)
		words = append(words, "members="+strings.Join(members, ","))
	}
	return words
}

// memberWord is a member and its metadata in a list, where the metadata of
// most members is left out: the version 0 subscription to topic t.
func memberWord(id string, instance *string, metadata []byte) string {
	word := memberEntry(id, instance)
	if payload := formatPayload(metadata); payload != "[t]" {
		if _, _, list := cutOutside(payload, ','); list {
			payload = strconv.QuoteToASCII(payload)
		}
		word += ":" + payload
	}
	return word
}

// typeWords shows a protocol type that is not the one the file gave the group,
// and one in an error, where none belongs.
func typeWords(q *call, c group.Code, protocolType *string) []string {
	switch {
	case protocolType == nil && c == 0:
		return []string{"type=null"}
	case protocolType != nil && (c != 0 || *protocolType != q.protocolType):
		return []string{"type=" + quote(*protocolType)}
	}
	return nil
}

func syncedWords(q *call, r group.Synced) []string {
	var words []string
	if r.Code != 0 {
		words = append(words, formatCode(r.Code))
	}
	if q.version >= 5 {
		words = append(words, typeWords(q, r.Code, r.ProtocolType)...)
		if r.ProtocolName != nil {
			words = append(words, "protocol="+quote(*r.ProtocolName))
		}
	}
	if r.Code == 0 || len(r.Assignment) > 0 {
		words = append(words, "assignment="+formatPayload(r.Assignment))
	}
	return words
}

func leftWords(q *call, r group.Left) []string {
	if r.Code != 0 {
		return []string{formatCode(r.Code)}
	}
	if q.version < 3 {
		// One member, whose code is that of the whole answer.
		if len(r.Members) == 1 {
			return []string{formatCode(r.Members[0].Code)}
		}
		return []string{"ok"}
	}
	var words []string
	for _, m := range r.Members {
		words = append(words, memberEntry(m.MemberID, m.InstanceID)+"="+formatCode(m.Code))
	}
	return words
}

func committedWords(q *call, r group.Committed) []string {
	offsets := committedBy(q.request)
	if len(offsets) != len(r.Codes) {
		return []string{"WRONG-LENGTH"}
	}
	if len(r.Codes) == 0 {
		return []string{"empty"}
	}
	if !slices.ContainsFunc(r.Codes, func(c group.Code) bool { return c != r.Codes[0] }) {
		return []string{formatCode(r.Codes[0])}
	}
	var words []string
	for i, c := range r.Codes {
		words = append(words, partitionWord(offsets[i].TopicPartition)+"="+formatCode(c))
	}
	return words
}

// committedBy are the offsets that a request commits.
func committedBy(r group.Request) []group.CommitOffset {
	switch r := r.(type) {
	case group.Commit:
		return r.Offsets
	case group.TxnCommit:
		return r.Offsets
	}
	return nil
}

func fetchedWords(r group.FetchedOffsets) []string {
	if r.Code != 0 {
		return []string{formatCode(r.Code)}
	}
	if len(r.Offsets) == 0 {
		return []string{"empty"}
	}
	var words []string
	for _, o := range r.Offsets {
		value := offsetWord(o.Offset, o.LeaderEpoch, o.Metadata)
		if o.Code != 0 {
			if value == "none" {
				value = formatCode(o.Code)
			} else {
				value = formatCode(o.Code) + "," + value
			}
		}
		words = append(words, partitionWord(o.TopicPartition)+"="+value)
	}
	return words
}

func deletedOffsetsWords(q *call, r group.DeletedOffsets) []string {
	if r.Code != 0 {
		return []string{formatCode(r.Code)}
	}
	request, ok := q.request.(group.DeleteOffsets)
	if !ok || len(request.Partitions) != len(r.Codes) {
		return []string{"WRONG-LENGTH"}
	}
	if len(r.Codes) == 0 {
		return []string{"empty"}
	}
	var words []string
	for i, c := range r.Codes {
		words = append(words, partitionWord(request.Partitions[i])+"="+formatCode(c))
	}
	return words
}

func describedWords(r group.Described) []string {
	var words []string
	if r.Code != 0 {
		words = append(words, formatCode(r.Code))
	}
	words = append(words, quote(r.State), "type="+quote(r.ProtocolType), "protocol="+quote(r.ProtocolData))
	for _, m := range r.Members {
		word := quote(m.MemberID) + "(client=" + quote(m.ClientID) + " host=" + hostWord(m.ClientHost)
		if m.InstanceID != nil {
			word += " instance=" + quote(*m.InstanceID)
		}
		word += " metadata=" + formatPayload(m.Metadata) + " assignment=" + formatPayload(m.Assignment) + ")"
		words = append(words, word)
	}
	return words
}

// hostWord writes a host with its leading slash, which needs no quotes here.
func hostWord(host string) string {
	if rest, ok := strings.CutPrefix(host, "/"); ok && isPlain(rest) {
		return host
	}
	return quote(host)
}

// listWords writes the answer to "list": the groups that the file names.
func listWords(c group.Code, groups []group.Summary) []string {
	words := []string{"list"}
	if c != 0 {
		return append(words, formatCode(c))
	}
	for _, g := range groups {
		words = append(words, quote(g.ID)+"("+g.State+" type="+quote(g.ProtocolType)+" "+g.GroupType+")")
	}
	if len(groups) == 0 {
		words = append(words, "empty")
	}
	return words
}
