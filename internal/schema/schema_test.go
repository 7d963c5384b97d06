package schema

import (
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// P1.
func TestPartitionOf(t *testing.T) {
	for _, tt := range []struct {
		group     string
		of50, of3 int32
	}{
		{"", 0, 0},
		{"a", 47, 1},
		{"foo", 24, 0},
		{"bar", 49, 0},
		{"test", 48, 1},
		{"group", 47, 2},
		{"group-id", 13, 0},
		{"my-group", 12, 0},
		{"console-consumer-12345", 6, 0},
		{"connect-cluster", 13, 1},
		{"polygenelubricants", 0, 0},
		{"gr\u00fc\u00dfe", 23, 1},
		{"\u65e5\u672c", 47, 0},
		{"\U0001f600", 49, 1},
	} {
		if got := PartitionOf(tt.group, 50); got != tt.of50 {
			t.Errorf("PartitionOf(%q, 50) = %d, want %d", tt.group, got, tt.of50)
		}
		if got := PartitionOf(tt.group, 3); got != tt.of3 {
			t.Errorf("PartitionOf(%q, 3) = %d, want %d", tt.group, got, tt.of3)
		}
	}
}

// P2, keys.
func TestKeyBytes(t *testing.T) {
	for _, tt := range []struct {
		name, hex string
		key       Key
		encode    func() []byte // nil: only read
	}{
		{
			"offset", "0001 0002 6731 0001 74 00000007",
			OffsetKey{"g1", "t", 7},
			func() []byte { return AppendOffsetKey(nil, OffsetKey{"g1", "t", 7}) },
		},
		{"legacy offset", "0000 0002 6731 0001 74 00000007", OffsetKey{"g1", "t", 7}, nil},
		{
			"group", "0002 0002 6731",
			GroupKey{"g1"},
			func() []byte { return AppendGroupKey(nil, GroupKey{"g1"}) },
		},
		{"consumer group", "0003 0002 6731", UnknownKey{3}, nil},
		{"unknown 99", "0063 ff", UnknownKey{99}, nil},
		{"negative", "ffff", UnknownKey{-1}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := unhex(t, tt.hex)
			got, err := ParseKey(want)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.key, got); diff != "" {
				t.Errorf("key (-want +got):\n%s", diff)
			}
			if tt.encode != nil {
				if diff := cmp.Diff(want, tt.encode()); diff != "" {
					t.Errorf("bytes (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestGroupOf(t *testing.T) {
	for _, tt := range []struct {
		key  Key
		want string
		ok   bool
	}{
		{OffsetKey{"g1", "t", 7}, "g1", true},
		{GroupKey{"g2"}, "g2", true},
		{UnknownKey{99}, "", false},
	} {
		if got, ok := GroupOf(tt.key); got != tt.want || ok != tt.ok {
			t.Errorf("GroupOf(%v) = %q, %v, want %q, %v", tt.key, got, ok, tt.want, tt.ok)
		}
	}
}

// P2, offset values; P22.
func TestOffsetValueBytes(t *testing.T) {
	value := OffsetValue{Offset: 42, LeaderEpoch: 5, Metadata: "m", CommitTimestamp: 1700000000000, ExpireTimestamp: None}
	noEpoch, expires, withID := value, value, value
	noEpoch.LeaderEpoch = None
	expires.LeaderEpoch, expires.ExpireTimestamp = None, 1700000060000
	withID.TopicID = [16]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
	for _, tt := range []struct {
		name, hex string
		value     OffsetValue
		written   bool
	}{
		{"v0", "0000 000000000000002a 0001 6d 0000018bcfe56800", noEpoch, false},
		{"v1", "0001 000000000000002a 0001 6d 0000018bcfe56800 0000018bcfe65260", expires, true},
		{"v2", "0002 000000000000002a 0001 6d 0000018bcfe56800", noEpoch, false},
		{"v3", "0003 000000000000002a 00000005 0001 6d 0000018bcfe56800", value, true},
		{"v4", "0004 000000000000002a 00000005 02 6d 0000018bcfe56800 00", value, false},
		{"v4 with topic id", "0004 000000000000002a 00000005 02 6d 0000018bcfe56800 01 00 10 000102030405060708090a0b0c0d0e0f", withID, false},
		{"P22: v4 with unknown tag 7", "0004 000000000000002a 00000005 02 6d 0000018bcfe56800 01 07 02 beef", value, false},
		{"v4 with both tags", "0004 000000000000002a 00000005 02 6d 0000018bcfe56800 02 00 10 000102030405060708090a0b0c0d0e0f 07 00", withID, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := unhex(t, tt.hex)
			got, err := ParseOffsetValue(want)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.value, got); diff != "" {
				t.Errorf("value (-want +got):\n%s", diff)
			}
			if tt.written {
				if diff := cmp.Diff(want, AppendOffsetValue(nil, tt.value)); diff != "" {
					t.Errorf("bytes (-want +got):\n%s", diff)
				}
			}
		})
	}
	// A commit with a retention time of its own loses its leader epoch.
	expires.LeaderEpoch = 5
	if diff := cmp.Diff(unhex(t, "0001 000000000000002a 0001 6d 0000018bcfe56800 0000018bcfe65260"), AppendOffsetValue(nil, expires)); diff != "" {
		t.Errorf("v1 with leader epoch (-want +got):\n%s", diff)
	}
}

// One member of the spec's vector, from client id on.
const (
	subscriptionHex = "000000000001000174ffffffff"
	assignmentHex   = "000000000001000174000000020000000000000001ffffffff"
)

// P2, group values; P6.
func TestGroupValueBytes(t *testing.T) {
	member := func(rebalance int32, instance *string) MemberValue {
		return MemberValue{
			ID: "c-1", InstanceID: instance, ClientID: "c", ClientHost: "/127.0.0.1", RebalanceTimeout: rebalance, SessionTimeout: 45000,
			Subscription: unhex(t, subscriptionHex), Assignment: unhex(t, assignmentHex),
		}
	}
	group := func(since int64, m MemberValue) GroupValue {
		return GroupValue{ProtocolType: "consumer", Generation: 1, Protocol: new("range"), Leader: new("c-1"), StateTimestamp: since, Members: []MemberValue{m}}
	}
	const (
		head  = " 0008 636f6e73756d6572 00000001 0005 72616e6765 0003 632d31 "
		since = " 0000018bcfe56800 "
		names = " 0001 63 000a 2f3132372e302e302e31 "
		data  = " 0000000d " + subscriptionHex + " 00000019 " + assignmentHex
	)
	for _, tt := range []struct {
		name, hex string
		value     GroupValue
		written   bool
	}{
		{
			"empty v3", "0003 0008 636f6e73756d6572 00000002 ffff ffff 0000018bcfe56800 00000000",
			GroupValue{ProtocolType: "consumer", Generation: 2, StateTimestamp: 1700000000000},
			true,
		},
		{
			"one member v3", "0003" + head + since + "00000001 0003 632d31 ffff" + names + "000493e0 0000afc8" + data,
			group(1700000000000, member(300000, nil)), true,
		},
		{
			"static member v3", "0003" + head + since + "00000001 0003 632d31 0002 6931" + names + "000493e0 0000afc8" + data,
			group(1700000000000, member(300000, new("i1"))), true,
		},
		{"P6: v0", "0000" + head + "00000001 0003 632d31" + names + "0000afc8" + data, group(None, member(45000, nil)), false},
		{"P6: v1", "0001" + head + "00000001 0003 632d31" + names + "000493e0 0000afc8" + data, group(None, member(300000, nil)), false},
		{"P6: v1 rebalance -1", "0001" + head + "00000001 0003 632d31" + names + "ffffffff 0000afc8" + data, group(None, member(45000, nil)), false},
		{"P6: v2", "0002" + head + since + "00000001 0003 632d31" + names + "000493e0 0000afc8" + data, group(1700000000000, member(300000, nil)), false},
		{
			"v4", `0004 09 636f6e73756d6572 00000001 06 72616e6765 04 632d31 0000018bcfe56800
			02 04 632d31 03 6931 02 63 0b 2f3132372e302e302e31 000493e0 0000afc8 0e ` + subscriptionHex + " 1a " + assignmentHex + " 01 05 01 aa 00",
			group(1700000000000, member(300000, new("i1"))), false,
		},
		{"empty v4", "0004 01 00000000 00 00 ffffffffffffffff 01 00", GroupValue{StateTimestamp: None}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := unhex(t, tt.hex)
			got, err := ParseGroupValue(want)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.value, got); diff != "" {
				t.Errorf("value (-want +got):\n%s", diff)
			}
			if tt.written {
				if diff := cmp.Diff(want, AppendGroupValue(nil, tt.value)); diff != "" {
					t.Errorf("bytes (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// P2, consumer protocol.
func TestConsumerProtocolBytes(t *testing.T) {
	owned := []TopicPartitions{{"t", []int32{0, 1}}}
	for _, tt := range []struct {
		name, hex string
		value     Subscription
		written   bool
	}{
		{"v0", "0000 00000001 0001 74 ffffffff", Subscription{Topics: []string{"t"}, Generation: None}, true},
		{"v0 user data", "0000 00000000 00000001 aa", Subscription{UserData: []byte{0xaa}, Generation: None}, true},
		{
			"v1", "0001 00000001 0001 74 00000000 00000001 0001 74 00000002 00000000 00000001",
			Subscription{Version: 1, Topics: []string{"t"}, UserData: []byte{}, Owned: owned, Generation: None},
			true,
		},
		{
			"v2", "0002 00000001 0001 74 ffffffff 00000000 00000004",
			Subscription{Version: 2, Topics: []string{"t"}, Generation: 4},
			true,
		},
		{
			"v3", "0003 00000001 0001 74 ffffffff 00000001 0001 74 00000002 00000000 00000001 00000004 0002 7231",
			Subscription{Version: 3, Topics: []string{"t"}, Owned: owned, Generation: 4, Rack: new("r1")},
			true,
		},
		{
			"v3 without rack", "0003 00000000 ffffffff 00000000 ffffffff ffff",
			Subscription{Version: 3, Generation: None},
			true,
		},
		{
			"newer", "0009 00000001 0001 74 ffffffff 00000000 00000004 ffff 0123456789",
			Subscription{Version: 9, Topics: []string{"t"}, Generation: 4},
			false,
		},
	} {
		t.Run("subscription "+tt.name, func(t *testing.T) {
			want := unhex(t, tt.hex)
			got, err := ParseSubscription(want)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.value, got); diff != "" {
				t.Errorf("value (-want +got):\n%s", diff)
			}
			topics, err := SubscribedTopics(want)
			if diff := cmp.Diff(tt.value.Topics, topics); diff != "" || err != nil {
				t.Errorf("topics, %v (-want +got):\n%s", err, diff)
			}
			if tt.written {
				if diff := cmp.Diff(want, AppendSubscription(nil, tt.value)); diff != "" {
					t.Errorf("bytes (-want +got):\n%s", diff)
				}
			}
		})
	}
	for _, tt := range []struct {
		name, hex string
		value     Assignment
	}{
		{"v0", "0000 00000001 0001 74 00000002 00000000 00000001 ffffffff", Assignment{Partitions: owned}},
		{"v3", "0003 00000001 0001 74 00000002 00000000 00000001 00000002 beef", Assignment{Version: 3, Partitions: owned, UserData: []byte{0xbe, 0xef}}},
		{"nothing", "0001 00000000 ffffffff", Assignment{Version: 1}},
	} {
		t.Run("assignment "+tt.name, func(t *testing.T) {
			want := unhex(t, tt.hex)
			got, err := ParseAssignment(want)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.value, got); diff != "" {
				t.Errorf("value (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want, AppendAssignment(nil, tt.value)); diff != "" {
				t.Errorf("bytes (-want +got):\n%s", diff)
			}
		})
	}
}

// Every vector, cut off anywhere, is malformed; so are the listed ones.
func TestMalformed(t *testing.T) {
	parsers := map[string]func([]byte) error{
		"key":          func(b []byte) error { _, err := ParseKey(b); return err },
		"offset":       func(b []byte) error { _, err := ParseOffsetValue(b); return err },
		"group":        func(b []byte) error { _, err := ParseGroupValue(b); return err },
		"subscription": func(b []byte) error { _, err := ParseSubscription(b); return err },
		"assignment":   func(b []byte) error { _, err := ParseAssignment(b); return err },
		"topics":       func(b []byte) error { _, err := SubscribedTopics(b); return err },
	}
	for _, tt := range []struct{ parser, hex string }{
		{"key", "0001 0002 6731 0001 74 00000007"},
		{"key", "0002 0002 6731"},
		{"offset", "0001 000000000000002a 0001 6d 0000018bcfe56800 0000018bcfe65260"},
		{"offset", "0004 000000000000002a 00000005 02 6d 0000018bcfe56800 01 00 10 000102030405060708090a0b0c0d0e0f"},
		{"group", "0003 0008 636f6e73756d6572 00000001 0005 72616e6765 0003 632d31 0000018bcfe56800 00000001 0003 632d31 ffff 0001 63 000a 2f3132372e302e302e31 000493e0 0000afc8 0000000d" + subscriptionHex + "00000019" + assignmentHex},
		{"subscription", "0003 00000001 0001 74 ffffffff 00000001 0001 74 00000002 00000000 00000001 00000004 0002 7231"},
		{"assignment", "0000 00000001 0001 74 00000002 00000000 00000001 ffffffff"},
	} {
		b := unhex(t, tt.hex)
		for n := range b {
			if err := parsers[tt.parser](b[:n]); !errors.Is(err, ErrMalformed) {
				t.Errorf("%s %x: error %v, want malformed", tt.parser, b[:n], err)
			}
		}
	}
	for _, tt := range []struct{ name, parser, hex string }{
		{"null group", "key", "0002 ffff"},
		{"negative length", "key", "0002 fffe"},
		{"future version", "offset", "0005 000000000000002a 00000005 02 6d 0000018bcfe56800 00"},
		{"negative version", "offset", "ffff 000000000000002a 0001 6d 0000018bcfe56800"},
		{"null metadata", "offset", "0003 000000000000002a 00000005 ffff 0000018bcfe56800"},
		{"short topic id", "offset", "0004 000000000000002a 00000005 02 6d 0000018bcfe56800 01 00 0f 000102030405060708090a0b0c0d0e"},
		{"huge tag", "offset", "0004 000000000000002a 00000005 02 6d 0000018bcfe56800 01 07 ffffffff0f"},
		{"tags without end", "offset", "0004 000000000000002a 00000005 02 6d 0000018bcfe56800 ffffffff0f 07 00"},
		{"future version", "group", "0005 01 00000000 00 00 ffffffffffffffff 01 00"},
		{"huge member count", "group", "0003 0000 00000000 ffff ffff 0000000000000000 7fffffff 00"},
		{"negative member count", "group", "0003 0000 00000000 ffff ffff 0000000000000000 ffffffff"},
		{"huge topic count", "topics", "0000 7fffffff 0001 74"},
		{"negative version", "topics", "ffff 00000000"},
		{"negative version", "subscription", "ffff 00000000 ffffffff"},
		{"huge partition count", "assignment", "0000 00000001 0001 74 40000000 00000000"},
		{"negative version", "assignment", "ffff 00000000 ffffffff"},
		{"zero bytes", "assignment", ""},
	} {
		if err := parsers[tt.parser](unhex(t, tt.hex)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s of %s: error %v, want malformed", tt.name, tt.parser, err)
		}
	}
}

// What is decoded does not change with the buffer it came from.
func TestDecodedValuesAreCopies(t *testing.T) {
	b := AppendGroupValue(nil, GroupValue{ProtocolType: "consumer", Members: []MemberValue{{ID: "m", Subscription: []byte("s"), Assignment: []byte("a")}}})
	v, err := ParseGroupValue(b)
	if err != nil {
		t.Fatal(err)
	}
	clear(b)
	if m := v.Members[0]; m.ID != "m" || string(m.Subscription) != "s" || string(m.Assignment) != "a" {
		t.Errorf("member changed with its buffer: %+v", m)
	}
}
