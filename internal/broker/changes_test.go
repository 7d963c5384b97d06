package broker

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
)

// held knows one list, one number, and nothing else.
func held(name string) (string, bool) {
	switch name {
	case "list":
		return "a,b", true
	case "number":
		return "1", false
	}
	return "", false
}

func TestAlterationAgainstWhatIsSet(t *testing.T) {
	set := map[string]string{"number": "1", "other": "x"}
	tests := []struct {
		name string
		a    Alteration
		want map[string]*string
	}{
		{"set", Alteration{Changes: []Change{{"number", Set, new("2")}}}, map[string]*string{"number": new("2")}},
		{"set to what it is", Alteration{Changes: []Change{{"number", Set, new("1")}}}, map[string]*string{}},
		{"unset", Alteration{Changes: []Change{{"number", Unset, nil}}}, map[string]*string{"number": nil}},
		{"unset with a value", Alteration{Changes: []Change{{"number", Unset, new("9")}}}, map[string]*string{"number": nil}},
		{"unset what is not set", Alteration{Changes: []Change{{"absent", Unset, nil}}}, map[string]*string{}},
		{"append to the default", Alteration{Changes: []Change{{"list", Append, new("c, a")}}}, map[string]*string{"list": new("a,b,c")}},
		{"subtract", Alteration{Changes: []Change{{"list", Subtract, new("a,z")}}}, map[string]*string{"list": new("b")}},
		{
			"replace",
			Alteration{Replace: true, Changes: []Change{{"new", Set, new("3")}}},
			map[string]*string{"new": new("3"), "number": nil, "other": nil},
		},
		{"replace by nothing", Alteration{Replace: true}, map[string]*string{"number": nil, "other": nil}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := test.a.against(set, held)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("difference (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAlterationRefuses(t *testing.T) {
	tests := []struct {
		name    string
		changes []Change
		want    *kerr.Error
	}{
		{"a setting twice", []Change{{"number", Set, new("1")}, {"number", Unset, nil}}, kerr.InvalidRequest},
		{"no value", []Change{{"number", Set, nil}}, kerr.InvalidRequest},
		{"no value to append", []Change{{"list", Append, nil}}, kerr.InvalidRequest},
		{"an unknown operation", []Change{{"number", 4, new("1")}}, kerr.InvalidRequest},
		{"appending to a number", []Change{{"number", Append, new("1")}}, kerr.InvalidConfig},
		{"subtracting from what does not exist", []Change{{"absent", Subtract, new("1")}}, kerr.InvalidConfig},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if _, err := (Alteration{Changes: test.changes}).against(nil, held); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want.Message)
			}
		})
	}
}
