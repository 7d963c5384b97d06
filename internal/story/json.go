package story

import (
	"encoding/json"
	"strconv"
	"time"
)

// The writer of events. It writes what encoding/json writes by the tags of the
// types, a test compares the two, but a rebalance of a large group is thousands
// of events at once, and reflection would cost more than all else about them.

// JSON is the event as the value of a record.
func (e *Event) JSON() []byte { return e.AppendJSON(nil) }

// AppendJSON appends what JSON returns.
func (e *Event) AppendJSON(dst []byte) []byte {
	dst = strconv.AppendInt(append(dst, `{"v":`...), int64(e.Version), 10)
	dst = strconv.AppendInt(append(dst, `,"time_ms":`...), e.TimeMillis, 10)
	dst = appendString(append(dst, `,"group":`...), e.Group)
	dst = appendString(append(dst, `,"kind":`...), string(e.Kind))
	dst = strconv.AppendInt(append(dst, `,"generation":`...), int64(e.Generation), 10)
	dst = textField(dst, `,"cause":`, string(e.Cause))
	if e.Member != nil {
		dst = append(dst, `,"member":{`...)
		dst = append(e.Member.appendFields(dst), '}')
	}
	dst = textField(dst, `,"replaced":`, e.Replaced)
	dst = numberField(dst, `,"error_code":`, int64(e.ErrorCode))
	dst = textField(dst, `,"error":`, e.Error)
	dst = millisField(dst, `,"duration_ms":`, e.Duration)
	dst = millisField(dst, `,"timeout_ms":`, e.Timeout)
	dst = numberField(dst, `,"last_heard_ms":`, e.LastHeardMillis)
	dst = numberField(dst, `,"members":`, int64(e.Members))
	dst = numberField(dst, `,"offsets":`, int64(e.Offsets))
	dst = numberField(dst, `,"events":`, int64(e.Events))
	dst = numberField(dst, `,"repeated":`, int64(e.Repeated))
	if e.Initial {
		dst = append(dst, `,"initial":true`...)
	}
	if e.Changed != nil {
		dst = append(append(dst, `,"changed":`...), marshal(e.Changed)...)
	}
	if len(e.WaitedFor) > 0 {
		dst = append(dst, `,"waited_for":`...)
		dst = appendList(dst, e.WaitedFor, (*Waited).appendJSON)
	}
	dst = numberField(dst, `,"waited_for_more":`, int64(e.WaitedForMore))
	dst = textField(dst, `,"protocol_type":`, e.ProtocolType)
	dst = textField(dst, `,"protocol":`, e.Protocol)
	if e.Assignment != nil {
		dst = e.Assignment.appendJSON(append(dst, `,"assignment":`...))
	}
	return append(dst, '}')
}

// appendFields appends the fields of a member, which are also those of what
// embeds one.
func (m *Member) appendFields(dst []byte) []byte {
	dst = appendString(append(dst, `"id":`...), m.ID)
	dst = textField(dst, `,"client_id":`, m.ClientID)
	dst = textField(dst, `,"host":`, m.Host)
	dst = textField(dst, `,"instance_id":`, m.InstanceID)
	return textField(dst, `,"reason":`, m.Reason)
}

func (w *Waited) appendJSON(dst []byte) []byte {
	dst = w.appendFields(append(dst, '{'))
	dst = appendMillis(append(dst, `,"took_ms":`...), w.Took)
	dst = appendString(append(dst, `,"outcome":`...), string(w.Outcome))
	return append(dst, '}')
}

func (a *Assignment) appendJSON(dst []byte) []byte {
	dst = strconv.AppendBool(append(dst, `{"decoded":`...), a.Decoded)
	dst = appendList(append(dst, `,"members":`...), a.Members, (*MemberAssignment).appendJSON)
	dst = numberField(dst, `,"members_more":`, int64(a.MembersMore))
	dst = strconv.AppendInt(append(dst, `,"partitions":`...), int64(a.Partitions), 10)
	dst = strconv.AppendInt(append(dst, `,"kept":`...), int64(a.Kept), 10)
	dst = strconv.AppendInt(append(dst, `,"moved":`...), int64(a.Moved), 10)
	dst = strconv.AppendInt(append(dst, `,"added":`...), int64(a.Added), 10)
	dst = strconv.AppendInt(append(dst, `,"orphaned":`...), int64(a.Orphaned), 10)
	dst = strconv.AppendInt(append(dst, `,"unassigned":`...), int64(a.Unassigned), 10)
	if a.MovesNotNeeded != nil {
		dst = strconv.AppendInt(append(dst, `,"moves_not_needed":`...), int64(*a.MovesNotNeeded), 10)
	}
	if len(a.Topics) > 0 {
		dst = append(append(dst, `,"topics":`...), marshal(a.Topics)...)
	}
	return append(dst, '}')
}

func (m *MemberAssignment) appendJSON(dst []byte) []byte {
	dst = m.appendFields(append(dst, '{'))
	if m.New {
		dst = append(dst, `,"new":true`...)
	}
	if len(m.Subscribed) > 0 {
		dst = append(dst, `,"subscribed":`...)
		dst = appendList(dst, m.Subscribed, func(s *string, dst []byte) []byte { return appendString(dst, *s) })
	}
	dst = strconv.AppendInt(append(dst, `,"partitions":`...), int64(m.Partitions), 10)
	dst = strconv.AppendInt(append(dst, `,"kept":`...), int64(m.Kept), 10)
	dst = strconv.AppendInt(append(dst, `,"gained_count":`...), int64(m.GainedN), 10)
	dst = strconv.AppendInt(append(dst, `,"lost_count":`...), int64(m.LostN), 10)
	if len(m.Gained) > 0 {
		dst = appendList(append(dst, `,"gained":`...), m.Gained, (*TopicPartitions).appendJSON)
	}
	if len(m.Lost) > 0 {
		dst = appendList(append(dst, `,"lost":`...), m.Lost, (*TopicPartitions).appendJSON)
	}
	dst = strconv.AppendInt(append(dst, `,"subscription_bytes":`...), int64(m.SubscriptionBytes), 10)
	dst = strconv.AppendInt(append(dst, `,"assignment_bytes":`...), int64(m.AssignmentBytes), 10)
	return append(dst, '}')
}

func (t *TopicPartitions) appendJSON(dst []byte) []byte {
	dst = appendString(append(dst, `{"topic":`...), t.Topic)
	dst = append(dst, `,"partitions":`...)
	dst = appendList(dst, t.Partitions, func(p *int32, dst []byte) []byte { return strconv.AppendInt(dst, int64(*p), 10) })
	return append(dst, '}')
}

// appendList appends an array, or null for nil.
func appendList[T any](dst []byte, list []T, one func(*T, []byte) []byte) []byte {
	if list == nil {
		return append(dst, "null"...)
	}
	dst = append(dst, '[')
	for i := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = one(&list[i], dst)
	}
	return append(dst, ']')
}

// textField appends a field unless it is empty.
func textField(dst []byte, name, s string) []byte {
	if s == "" {
		return dst
	}
	return appendString(append(dst, name...), s)
}

// numberField appends a field unless it is 0.
func numberField(dst []byte, name string, n int64) []byte {
	if n == 0 {
		return dst
	}
	return strconv.AppendInt(append(dst, name...), n, 10)
}

// millisField appends a field unless it is 0.
func millisField(dst []byte, name string, m Millis) []byte {
	if m == 0 {
		return dst
	}
	return appendMillis(append(dst, name...), m)
}

// appendMillis appends milliseconds, with up to three decimals.
func appendMillis(dst []byte, m Millis) []byte {
	us := time.Duration(m).Round(time.Microsecond).Microseconds()
	dst = strconv.AppendInt(dst, us/1000, 10)
	rest := us % 1000
	if rest <= 0 {
		return dst
	}
	dst = append(dst, '.')
	for digit := int64(100); rest > 0; digit /= 10 {
		dst = append(dst, byte('0'+rest/digit))
		rest %= digit
	}
	return dst
}

// appendString appends a string in quotes.
func appendString(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x80 || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return append(dst, marshal(s)...)
		}
	}
	dst = append(dst, '"')
	dst = append(dst, s...)
	return append(dst, '"')
}

func marshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("story: an event that cannot be written: " + err.Error())
	}
	return b
}
