package story

import "testing"

func TestMembersOfOneClientIDHaveDifferentNames(t *testing.T) {
	const one, two = "6f7c4b0e-a89c-4b0e-a89c-6ed5ca2704b6", "ee6b47ec-a89c-4b0e-b437-29bbf377f089"
	for _, c := range []struct {
		m                 Member
		name, role, label string
	}{
		{Member{ID: "rdkafka-" + one, ClientID: "rdkafka", Host: "/10.0.0.1"}, `member "rdkafka" (..04b6) on 10.0.0.1`, `member "rdkafka" on 10.0.0.1`, "rdkafka ..04b6"},
		{Member{ID: "rdkafka-" + two, ClientID: "rdkafka", Host: "/10.0.0.1"}, `member "rdkafka" (..f089) on 10.0.0.1`, `member "rdkafka" on 10.0.0.1`, "rdkafka ..f089"},
		{Member{ID: "0Fe7x-Qk_1mHc2pT5yZzAw", ClientID: "app"}, `member "app" (..ZzAw)`, `member "app"`, "app ..ZzAw"},
		{Member{ID: "pay-1-" + one, InstanceID: "pay-1", ClientID: "pay"}, `static member "pay-1"`, `static member "pay-1"`, "pay-1"},
		{Member{ID: "m1", ClientID: "app"}, `member "app"`, `member "app"`, "app"},
		{Member{ID: "a-client-id-of-its-own", ClientID: "a-client-id-of-its-own"}, `member "a-client-id-of-its-own"`, `member "a-client-id-of-its-own"`, "a-client-id-of-its-own"},
		{Member{ID: "m1"}, `member "m1"`, `member "m1"`, "m1"},
		{Member{ID: "evil-0000000000000000000\x1b[2J", ClientID: "evil"}, `member "evil" (..\x1b[2J)`, `member "evil"`, `evil ..\x1b[2J`},
	} {
		if got := c.m.Name(); got != c.name {
			t.Errorf("the name of %+v is %s, not %s", c.m, got, c.name)
		}
		if got := c.m.Role(); got != c.role {
			t.Errorf("the role of %+v is %s, not %s", c.m, got, c.role)
		}
		if got := c.m.Label(); got != c.label {
			t.Errorf("the label of %+v is %s, not %s", c.m, got, c.label)
		}
	}
}
