package schema

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzGroupLog decodes one record of __consumer_offsets. Nothing panics, and
// what can be decoded survives being written and read again.
func FuzzGroupLog(f *testing.F) {
	f.Add(AppendOffsetKey(nil, OffsetKey{"g1", "t", 7}), AppendOffsetValue(nil, OffsetValue{Offset: 1, LeaderEpoch: 2, Metadata: "m", ExpireTimestamp: None}))
	f.Add(AppendOffsetKey(nil, OffsetKey{"g1", "t", 7}), []byte("\x00\x04\x00\x00\x00\x00\x00\x00\x00\x2a\x00\x00\x00\x05\x02m\x00\x00\x01\x8b\xcf\xe5\x68\x00\x01\x07\x02ab"))
	f.Add(AppendGroupKey(nil, GroupKey{"g1"}), AppendGroupValue(nil, GroupValue{
		ProtocolType: "consumer", Protocol: new("range"), Leader: new("a"),
		Members: []MemberValue{{ID: "a", InstanceID: new("i"), Subscription: []byte("s"), Assignment: []byte{}}},
	}))
	f.Fuzz(func(t *testing.T, key, value []byte) {
		k, err := ParseKey(key)
		if err != nil {
			return
		}
		switch k := k.(type) {
		case OffsetKey:
			again, err := ParseKey(AppendOffsetKey(nil, k))
			if err != nil || again != Key(k) {
				t.Fatalf("key %+v reads back as %+v, %v", k, again, err)
			}
			checkOffsetValue(t, value)
		case GroupKey:
			again, err := ParseKey(AppendGroupKey(nil, k))
			if err != nil || again != Key(k) {
				t.Fatalf("key %+v reads back as %+v, %v", k, again, err)
			}
			checkGroupValue(t, value)
		}
	})
}

func checkOffsetValue(t *testing.T, b []byte) {
	v, err := ParseOffsetValue(b)
	if err != nil || len(v.Metadata) > MaxString {
		return
	}
	v.TopicID = [16]byte{} // not written
	if v.ExpireTimestamp != None {
		v.LeaderEpoch = None // version 1 has none
	}
	again, err := ParseOffsetValue(AppendOffsetValue(nil, v))
	if err != nil || again != v {
		t.Fatalf("value %+v reads back as %+v, %v", v, again, err)
	}
}

func checkGroupValue(t *testing.T, b []byte) {
	v, err := ParseGroupValue(b)
	if err != nil || tooLong(v) {
		return
	}
	again, err := ParseGroupValue(AppendGroupValue(nil, v))
	if err != nil {
		t.Fatalf("value %+v does not read back: %v", v, err)
	}
	if diff := cmp.Diff(v, again); diff != "" {
		t.Fatalf("value reads back differently (-first +second):\n%s", diff)
	}
}

// tooLong reports whether a flexible version held a string that others cannot.
func tooLong(v GroupValue) bool {
	long := func(s *string) bool { return s != nil && len(*s) > MaxString }
	if long(&v.ProtocolType) || long(v.Protocol) || long(v.Leader) {
		return true
	}
	for _, m := range v.Members {
		if long(&m.ID) || long(m.InstanceID) || long(&m.ClientID) || long(&m.ClientHost) {
			return true
		}
	}
	return false
}

// FuzzConsumerProtocol decodes subscriptions and assignments.
func FuzzConsumerProtocol(f *testing.F) {
	f.Add(AppendSubscription(nil, Subscription{Version: 3, Topics: []string{"t"}, Owned: []TopicPartitions{{"t", []int32{1}}}, Rack: new("r")}))
	f.Add(AppendAssignment(nil, Assignment{Partitions: []TopicPartitions{{"t", []int32{1}}}, UserData: []byte("u")}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, err := ParseSubscription(b); err == nil {
			s.Version = min(s.Version, highestConsumer)
			again, err := ParseSubscription(AppendSubscription(nil, s))
			if diff := cmp.Diff(s, again); diff != "" || err != nil {
				t.Fatalf("subscription reads back differently, %v (-first +second):\n%s", err, diff)
			}
		}
		if a, err := ParseAssignment(b); err == nil {
			again, err := ParseAssignment(AppendAssignment(nil, a))
			if diff := cmp.Diff(a, again); diff != "" || err != nil {
				t.Fatalf("assignment reads back differently, %v (-first +second):\n%s", err, diff)
			}
		}
	})
}
