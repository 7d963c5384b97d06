package group

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"time"

	"rota/internal/schema"
)

func offsetEntry(at Offset, producer int64, partition int32, value int64) Entry {
	return Entry{
		Offset: at, ProducerID: producer,
		Key:   schema.AppendOffsetKey(nil, schema.OffsetKey{Group: "g", Topic: "t", Partition: partition}),
		Value: schema.AppendOffsetValue(nil, schema.OffsetValue{Offset: value, LeaderEpoch: -1, ExpireTimestamp: schema.None, CommitTimestamp: wallOrigin}),
	}
}

func tombstone(e Entry) Entry {
	e.Value = nil
	return e
}

func marker(at Offset, producer int64, c Control) Entry {
	return Entry{Offset: at, ProducerID: producer, Control: c}
}

func groupEntry(at Offset, epoch int32, v *schema.GroupValue) Entry {
	e := Entry{Offset: at, LeaderEpoch: epoch, ProducerID: -1, Key: schema.AppendGroupKey(nil, schema.GroupKey{Group: "g"})}
	if v != nil {
		e.Value = schema.AppendGroupValue(nil, *v)
	}
	return e
}

// fetched is what is committed for a partition: -1 for nothing, -2 for what a
// transaction has left open.
func (d *driver) fetched(partition int32) int64 {
	d.tb.Helper()
	o := d.ask(FetchOffsets{Partitions: []TopicPartition{{"t", partition}}, RequireStable: true}).(FetchedOffsets).Offsets[0]
	if o.Code == codeUnstableOffsetCommit {
		return -2
	}
	return o.Offset
}

func TestApplyOffsets(t *testing.T) {
	for _, c := range []struct {
		name    string
		entries []Entry
		want    int64
	}{
		{"the last one wins", []Entry{offsetEntry(0, -1, 0, 1), offsetEntry(1, -1, 0, 2), tombstone(offsetEntry(2, -1, 0, 0)), offsetEntry(3, -1, 0, 3)}, 3},
		{"tombstone", []Entry{offsetEntry(0, -1, 0, 1), tombstone(offsetEntry(1, -1, 0, 0))}, -1},
		{"tombstone first", []Entry{tombstone(offsetEntry(0, -1, 0, 0)), offsetEntry(1, -1, 0, 4)}, 4},
		{"open transaction", []Entry{offsetEntry(0, -1, 0, 1), offsetEntry(1, 5, 0, 2)}, -2},
		{"commit", []Entry{offsetEntry(0, -1, 0, 1), offsetEntry(1, 5, 0, 2), marker(2, 5, ControlCommit)}, 2},
		{"abort", []Entry{offsetEntry(0, -1, 0, 1), offsetEntry(1, 5, 0, 2), marker(2, 5, ControlAbort)}, 1},
		{"marker of another", []Entry{offsetEntry(1, 5, 0, 2), marker(2, 6, ControlCommit)}, -2},
		{"plain after open", []Entry{offsetEntry(10, 5, 0, 1), offsetEntry(11, -1, 0, 2), marker(12, 5, ControlCommit)}, 2},
		{"open after plain", []Entry{offsetEntry(10, -1, 0, 1), offsetEntry(11, 5, 0, 2), marker(12, 5, ControlCommit)}, 2},
		{"two producers", []Entry{offsetEntry(0, 5, 0, 1), offsetEntry(1, 6, 0, 2), marker(2, 6, ControlCommit)}, -2},
		{"two producers, later first", []Entry{offsetEntry(0, 5, 0, 1), offsetEntry(1, 6, 0, 2), marker(2, 6, ControlCommit), marker(3, 5, ControlCommit)}, 2},
		{"twice in one transaction", []Entry{offsetEntry(0, 5, 0, 1), offsetEntry(1, 5, 0, 2), marker(2, 5, ControlCommit)}, 2},
		{"tombstone of the open one", []Entry{offsetEntry(0, 5, 0, 1), tombstone(offsetEntry(1, -1, 0, 0)), marker(2, 5, ControlCommit)}, -1},
		{"tombstone in a transaction", []Entry{offsetEntry(0, -1, 0, 9), offsetEntry(1, 5, 0, 1), tombstone(offsetEntry(2, 6, 0, 0))}, -1},
		{"marker alone", []Entry{marker(0, 5, ControlCommit)}, -1},
		{"unknown type", []Entry{offsetEntry(0, -1, 0, 1), {Offset: 1, ProducerID: -1, Key: []byte{0, 99}, Value: []byte{1}}}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDriver(t, nil)
			d.log = c.entries
			d.g = d.replayed()
			d.settle(d.g.Loaded(d.now, Offset(len(d.log)), 1))
			if got := d.fetched(0); got != c.want {
				t.Errorf("committed %d, want %d", got, c.want)
			}
		})
	}
}

func TestApplyRefusesDamage(t *testing.T) {
	good := groupEntry(0, 1, &schema.GroupValue{ProtocolType: "consumer", Generation: 1})
	cut := good
	cut.Value = good.Value[:5]
	foreign := good
	foreign.Key = schema.AppendGroupKey(nil, schema.GroupKey{Group: "other"})
	badOffset := offsetEntry(0, -1, 0, 1)
	badOffset.Value = []byte{0, 3, 1}
	newer := offsetEntry(0, -1, 0, 1)
	newer.Value = binary.BigEndian.AppendUint16(nil, 77)
	for name, e := range map[string]Entry{
		"group value": cut, "offset value": badOffset, "version": newer,
		"key": {ProducerID: -1, Key: []byte{0}}, "empty value": {ProducerID: -1, Key: good.Key, Value: []byte{}},
	} {
		if err := New("g", &Config{}).Apply(e); !errors.Is(err, schema.ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := New("g", &Config{}).Apply(foreign); err == nil || !strings.Contains(err.Error(), `"other"`) {
		t.Errorf("record of another group: %v", err)
	}
	if err := New("g", &Config{}).Apply(good); err != nil {
		t.Error(err)
	}
}

func TestGenerationsOfEpochsAreApart(t *testing.T) {
	record := &schema.GroupValue{ProtocolType: "consumer", Generation: 5, StateTimestamp: wallOrigin}
	for _, c := range []struct {
		name    string
		entries []Entry
		epoch   int32
		want    int32
	}{
		{"next epoch", []Entry{groupEntry(0, 2, record)}, 3, 1005},
		{"later epoch", []Entry{groupEntry(0, 2, record)}, 12, 10005},
		{"a commit since then hides nothing", []Entry{groupEntry(0, 2, record), {Offset: 1, LeaderEpoch: 3, ProducerID: -1, Key: offsetEntry(1, -1, 0, 1).Key, Value: offsetEntry(1, -1, 0, 1).Value}}, 4, 2005},
		{"same epoch", []Entry{groupEntry(0, 2, record)}, 2, 6},
		{"no number is left", []Entry{groupEntry(0, 0, record)}, 1 << 30, 1},
		{"offsets only", []Entry{offsetEntry(0, -1, 0, 1)}, 7, 7000},
		{"nothing", nil, 7, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDriver(t, nil)
			d.log = c.entries
			d.g = d.replayed()
			d.settle(d.g.Loaded(d.now, Offset(len(d.log)), c.epoch))
			ids := []string{d.ask(d.joinOf("")).(Joined).MemberID}
			d.step(d.joinOf(ids[0]))
			d.pass(3 * time.Second)
			d.wantState(CompletingRebalance, c.want, 1)
		})
	}
}

func TestLoadOfOddRecords(t *testing.T) {
	member := func(id string, instance *string) schema.MemberValue {
		return schema.MemberValue{ID: id, InstanceID: instance, SessionTimeout: 10000, RebalanceTimeout: -1}
	}
	d := newDriver(t, nil)
	d.log = []Entry{groupEntry(0, 1, &schema.GroupValue{
		ProtocolType: "connect", Generation: -3, Leader: new("nobody"),
		Members: []schema.MemberValue{member("a", nil), member("a", nil), member("b", new("i")), member("c", new("i"))},
	})}
	d.g = d.replayed()
	d.settle(d.g.Loaded(d.now, 1, 1))
	d.wantState(Stable, -3, 2)
	if d.g.leader.id != "a" || d.g.members["b"].rebalanceTimeout != 10*time.Second {
		t.Errorf("leader %q, members %+v", d.g.leader.id, d.g.members["b"])
	}
	d.pass(10 * time.Second)
	d.wantState(Empty, 1, 0)
	d.compareReplay()
}

func TestRestartGivesEveryoneAFullSession(t *testing.T) {
	d := newDriver(t, nil)
	ids := d.form(3)
	d.step(d.commitOf(ids[1]))
	d.pass(8 * time.Second)
	d.reload()
	d.wantState(Stable, 1, 3)
	if d.g.leader.id != ids[0] {
		t.Errorf("leader %q, was %q", d.g.leader.id, ids[0])
	}
	d.pass(10*time.Second - 1)
	d.wantState(Stable, 1, 3)
	if got := d.fetched(0); got != 7 {
		t.Errorf("committed %d", got)
	}
	a := d.ask(Sync{Version: 3, MemberID: ids[2], Generation: 1}).(Synced)
	if string(a.Assignment) != "for "+ids[2] {
		t.Errorf("after the restart: %+v", a)
	}
	d.pass(1)
	d.wantState(PreparingRebalance, 1, 1)
}

func TestUnloadAnswersInTheOrderOfArrival(t *testing.T) {
	d := newDriver(t, nil)
	ids := d.form(3)
	want := []Ticket{d.step(d.joinOf(ids[0])), d.step(d.joinOf(ids[2]))}
	// The leader comes again after the other: its place is now the last.
	again := d.step(d.joinOf(ids[0]))
	if a := d.answers[want[0]].(Joined); a.Code != codeNotCoordinator || a.MemberID != ids[0] {
		t.Fatalf("the first of two joins: %+v", a)
	}
	want = []Ticket{want[1], again}
	if got := d.g.Parked(); got[0] != want[0] || got[1] != want[1] || len(got) != 2 {
		t.Fatalf("parked %v, want %v", got, want)
	}
	fx := d.g.Unload(d.now)
	for i, r := range fx.Replies {
		if a := r.Body.(Joined); r.Ticket != want[i] || a.Code != codeNotCoordinator || a.MemberID == "" {
			t.Errorf("%+v", r)
		}
	}
	if d.g.Exists() || d.g.Summary().State != "Dead" {
		t.Error("there is life after unload")
	}
	if a := d.g.Step(d.now, 0, 1, Heartbeat{MemberID: ids[0]}).Replies[0].Body; a != (Beat{codeCoordinatorNotAvailable}) {
		t.Errorf("heartbeat: %+v", a)
	}
	if a := d.g.Step(d.now, 0, 1, Describe{}).Replies[0].Body.(Described); a.State != "Dead" || a.Code != codeNone {
		t.Errorf("describe: %+v", a)
	}
}

// FuzzGroupLog reads bytes as a log: damaged entries are refused with an error
// and all others load into a group that works.
func FuzzGroupLog(f *testing.F) {
	d := newDriver(f, nil)
	ids := d.form(2)
	d.step(d.commitOf(ids[0]))
	f.Add(flatten(d.log))
	f.Add(flatten([]Entry{offsetEntry(0, 5, 0, 1), offsetEntry(1, -1, 1, 2), marker(2, 5, ControlCommit), tombstone(offsetEntry(3, -1, 0, 0))}))
	f.Fuzz(func(t *testing.T, data []byte) {
		d := newDriver(t, func(c *Config) { c.MaxSize = 3 })
		for at := Offset(0); len(data) > 0; at++ {
			var e Entry
			e, data = unflatten(data)
			e.Offset = at
			if d.g.Apply(e) != nil {
				return
			}
		}
		d.settle(d.g.Loaded(d.now, 0, 5))
		d.ask(Describe{Version: 6})
		d.ask(FetchOffsets{All: true, RequireStable: true})
		d.step(Expire{})
		fresh := d.joinOf("")
		fresh.NewMemberID = "an id that no log has"
		d.step(fresh)
		for range 20 {
			if at, ok := d.g.Deadline(); ok {
				d.moveTo(max(at, d.now.Mono))
				d.settle(d.g.Tick(d.now, Offset(len(d.log))))
			}
		}
	})
}

func flatten(entries []Entry) []byte {
	var b []byte
	for _, e := range entries {
		b = append(b, byte(e.Control), byte(e.ProducerID), byte(e.LeaderEpoch), byte(len(e.Key)))
		b = append(b, e.Key...)
		if e.Value == nil {
			b = append(b, 0xff, 0xff)
			continue
		}
		b = binary.BigEndian.AppendUint16(b, uint16(len(e.Value)))
		b = append(b, e.Value...)
	}
	return b
}

func unflatten(b []byte) (Entry, []byte) {
	take := func(n int) []byte {
		n = min(n, len(b))
		taken := b[:n:n]
		b = b[n:]
		return taken
	}
	var head [4]byte
	copy(head[:], take(4))
	e := Entry{Control: Control(head[0] % 3), ProducerID: int64(int8(head[1])), LeaderEpoch: int32(head[2]), Key: take(int(head[3]))}
	var size [2]byte
	copy(size[:], take(2))
	if n := binary.BigEndian.Uint16(size[:]); n != 0xffff {
		e.Value = bytes.Clone(take(int(n)))
		if e.Value == nil {
			e.Value = []byte{}
		}
	}
	return e, b
}
