package wire

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A request that is used again holds nothing of the one before.
func TestRequestsAreUsedAgain(t *testing.T) {
	text := "text"
	large := map[kmsg.Key]kmsg.Request{
		kmsg.JoinGroup: &kmsg.JoinGroupRequest{
			Version: 9, Group: "g", MemberID: "m", InstanceID: &text, Reason: &text, RebalanceTimeoutMillis: 5, SessionTimeoutMillis: 6, ProtocolType: "t",
			Protocols: []kmsg.JoinGroupRequestProtocol{{Name: "a", Metadata: []byte{1}}, {Name: "b", Metadata: []byte{2}}},
		},
		kmsg.SyncGroup: &kmsg.SyncGroupRequest{
			Version: 5, Group: "g", MemberID: "m", InstanceID: &text, Generation: 3, ProtocolType: &text, Protocol: &text,
			GroupAssignment: []kmsg.SyncGroupRequestGroupAssignment{{MemberID: "m", MemberAssignment: []byte{1}}},
		},
		kmsg.Heartbeat: &kmsg.HeartbeatRequest{Version: 4, Group: "g", MemberID: "m", InstanceID: &text, Generation: 3},
	}
	for key, used := range large {
		for version := int16(0); version <= used.GetVersion(); version++ {
			small := key.Request()
			small.SetVersion(version)
			body := small.AppendTo(nil)
			if err := small.ReadFrom(body); err != nil {
				t.Fatal(err)
			}
			again := key.Request()
			again.SetVersion(used.GetVersion())
			if err := again.ReadFrom(used.AppendTo(nil)); err != nil {
				t.Fatal(err)
			}
			resets[key](again)
			again.SetVersion(version)
			if err := again.ReadFrom(body); err != nil {
				t.Fatal(err)
			}
			small.SetVersion(used.GetVersion()) // which has all fields
			again.SetVersion(used.GetVersion())
			if diff := cmp.Diff(small.AppendTo(nil), again.AppendTo(nil)); diff != "" {
				t.Errorf("%s v%d: %s", key.Name(), version, diff)
			}
		}
	}
}
