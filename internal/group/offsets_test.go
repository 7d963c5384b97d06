package group

import (
	"slices"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"rota/internal/schema"
)

// commitTo commits for a consumer that is no member.
func (d *driver) commitTo(tp TopicPartition, offset int64) {
	d.tb.Helper()
	c := Commit{Version: 8, Generation: -1, Retention: -1, Offsets: []CommitOffset{{TopicPartition: tp, Offset: offset, LeaderEpoch: -1, Timestamp: -1}}}
	if got := d.ask(c).(Committed).Codes[0]; got != codeNone {
		d.tb.Fatalf("commit: %d", got)
	}
}

func (d *driver) deleteOffset(topic string) Code {
	d.tb.Helper()
	a := d.ask(DeleteOffsets{Partitions: []TopicPartition{{topic, 0}}}).(DeletedOffsets)
	if a.Code != codeNone {
		return a.Code
	}
	return a.Codes[0]
}

// subscribing is a join of a member that subscribes to topics.
func (d *driver) subscribing(member string, topics ...string) Join {
	j := d.joinOf(member)
	j.Protocols = []Protocol{{"range", schema.AppendSubscription(nil, schema.Subscription{Topics: topics})}}
	return j
}

func TestWhoSubscribesToWhat(t *testing.T) {
	d := newDriver(t, func(c *Config) { c.InitialDelay = 0 })
	for _, topic := range []string{"t", "u", "v"} {
		d.commitTo(TopicPartition{topic, 0}, 1)
	}
	a := d.ask(d.subscribing("", "t")).(Joined).MemberID
	b := d.ask(d.subscribing("", "t", "u")).(Joined).MemberID
	joins := []Ticket{d.step(d.subscribing(a, "t")), d.step(d.subscribing(b, "t", "u"))}
	if c := d.deleteOffset("v"); c != codeGroupSubscribedToTopic {
		t.Errorf("before the first generation: %d", c)
	}
	d.pass(0)
	d.syncAll([]string{a, b}, joins)
	want := map[string]Code{"t": codeGroupSubscribedToTopic, "u": codeGroupSubscribedToTopic, "v": codeNone}
	for topic, code := range want {
		if got := d.deleteOffset(topic); got != code {
			t.Errorf("delete of %s: %d, want %d", topic, got, code)
		}
	}
	d.reload()
	d.commitTo2(a, "v")
	for topic, code := range want {
		if got := d.deleteOffset(topic); got != code {
			t.Errorf("after a restart, delete of %s: %d, want %d", topic, got, code)
		}
	}
	// One member whose metadata cannot be read, and it may be any topic.
	bad := d.joinOf(a)
	bad.Protocols = []Protocol{{"range", []byte("?")}}
	joins = []Ticket{d.step(bad), d.step(d.subscribing(b, "t"))}
	d.syncAll([]string{a, b}, joins)
	d.commitTo2(a, "v")
	if c := d.deleteOffset("v"); c != codeGroupSubscribedToTopic {
		t.Errorf("with a member that cannot be read: %d", c)
	}
	d.now.Wall += (8 * 24 * time.Hour).Milliseconds()
	d.step(Expire{})
	if n := d.g.log.committed.len(); n != 3 {
		t.Errorf("%d offsets are left while the topics are not known", n)
	}
	d.ask(Leave{Version: 3, Members: []LeavingMember{{MemberID: a}, {MemberID: b}}})
	d.wantState(Empty, d.g.generation, 0)
	if c := d.deleteOffset("v"); c != codeNone {
		t.Errorf("of an empty group: %d", c)
	}
}

// commitTo2 commits as a member.
func (d *driver) commitTo2(member, topic string) {
	d.tb.Helper()
	c := d.commitOf(member)
	c.Offsets[0].Topic = topic
	if got := d.ask(c).(Committed).Codes[0]; got != codeNone {
		d.tb.Fatalf("commit: %d", got)
	}
}

func TestEmptyGroupTakesAnyType(t *testing.T) {
	d := newDriver(t, nil)
	ids := d.form(1)
	d.ask(Leave{Version: 3, Members: []LeavingMember{{MemberID: ids[0]}}})
	if got := d.g.Summary(); got.ProtocolType != "consumer" || got.State != "Empty" {
		t.Errorf("empty: %+v", got)
	}
	j := d.joinOf("")
	j.ProtocolType, j.Version = "connect", 3
	d.step(j)
	if got := d.g.Summary().ProtocolType; got != "connect" {
		t.Errorf("type %q", got)
	}
	// The first member is alone and gone: whoever comes next must still fit.
	d.ask(Leave{Version: 3, Members: []LeavingMember{{MemberID: d.g.leader.id}}})
	j = d.joinOf("")
	if a := d.ask(j).(Joined); a.Code != codeInconsistentGroupProtocol {
		t.Errorf("another type in the delay: %+v", a)
	}
}

func TestFullGroupHearsItsMembersAgain(t *testing.T) {
	d := newDriver(t, func(c *Config) { c.MaxSize = 2 })
	ids := d.form(2)
	first := d.step(d.joinOf(ids[0]))
	d.wantState(PreparingRebalance, 1, 2)
	again := d.step(d.joinOf(ids[0])) // waits already: no second place is needed
	if a := d.answers[first].(Joined); a.Code != codeNotCoordinator {
		t.Errorf("the first join: %+v", a)
	}
	other := d.step(d.joinOf(ids[1]))
	if a := d.answers[again].(Joined); a.Code != codeNone || len(a.Members) != 2 {
		t.Errorf("the second join: %+v", a)
	}
	d.syncAll(ids, []Ticket{again, other})

	d.cfg.MaxSize = 1
	one := d.step(d.joinOf(ids[0]))
	one2 := d.step(d.joinOf(ids[0]))
	two := d.step(d.joinOf(ids[1]))
	if a := d.answers[two].(Joined); a.Code != codeGroupMaxSizeReached || a.MemberID != "" {
		t.Errorf("the one too many: %+v", a)
	}
	// Its removal leaves nobody to wait for.
	if a := d.answers[one2].(Joined); a.Code != codeNone || len(a.Members) != 1 {
		t.Errorf("the one that stays: %+v (at first %+v)", a, d.answers[one])
	}
}

func TestMetadataIsMeasuredInUTF16(t *testing.T) {
	g := New("g", &Config{MaxMetadata: 4})
	for _, s := range []string{"", "abcd", "abcde", "äöüß", "äöüßé", "日本日本", "日本日本日", "😀😀", "😀😀😀", "\xff\xff\xff\xff", "\xff\xff\xff\xff\xff"} {
		want := len(utf16.Encode([]rune(s))) > 4
		if got := g.metadataTooLarge(s); got != want {
			t.Errorf("%q: %t", s, got)
		}
	}
	g.cfg.MaxMetadata = 1 << 20
	if !g.metadataTooLarge(string(make([]byte, schema.MaxString+1))) {
		t.Error("metadata that no record has room for is taken")
	}
}

func TestLongTombstonesComeInPieces(t *testing.T) {
	const n = 60000
	d := newDriver(t, func(c *Config) { c.CheckInvariants = false })
	topic := string(make([]byte, 100))
	for p := range n {
		d.g.log.putOffset(TopicPartition{topic, int32(p)}, offset{at: Offset(p)})
	}
	fx := d.g.Step(d.now, 0, 1, Delete{})
	records := 0
	for i, b := range fx.Batches {
		size := 0
		for _, r := range b.Records {
			size += len(r.Key)
		}
		records += len(b.Records)
		if size > chunkBytes+200 {
			t.Errorf("batch %d has %d bytes", i, size)
		}
	}
	last := fx.Batches[len(fx.Batches)-1].Records
	if records != n+1 || len(fx.Batches) < 5 || string(last[len(last)-1].Key) != "\x00\x02\x00\x01g" {
		t.Errorf("%d records in %d batches", records, len(fx.Batches))
	}
	if d.g.Exists() {
		t.Error("something is left")
	}
}

func TestForgetTopicGoesByID(t *testing.T) {
	d := newDriver(t, nil)
	id, other := [16]byte{1}, [16]byte{2}
	put := func(partition int32, id [16]byte) {
		d.g.log.putOffset(TopicPartition{"t", partition}, offset{OffsetValue: schema.OffsetValue{TopicID: id, ExpireTimestamp: schema.None}})
	}
	put(0, [16]byte{})
	put(1, id)
	put(2, other)
	d.g.log.putPending(5, TopicPartition{"t", 3}, offset{})
	d.g.log.putPending(5, TopicPartition{"t", 4}, offset{OffsetValue: schema.OffsetValue{TopicID: other}})
	d.g.log.putOffset(TopicPartition{"u", 0}, offset{})
	d.ask(ForgetTopic{Topic: "t", ID: id})
	left := d.g.allPartitions()
	if diff := cmp.Diff([]TopicPartition{{"t", 2}, {"t", 4}, {"u", 0}}, left); diff != "" {
		t.Error(diff)
	}
	if slices.ContainsFunc(d.log, func(e Entry) bool { return e.Value != nil }) {
		t.Error("something else than tombstones is written")
	}
}

func TestCommitTooLargeHitsOnlyItself(t *testing.T) {
	d := newDriver(t, func(c *Config) { c.MaxRecordBytes = 1000 })
	d.commitTo(TopicPartition{"t", 0}, 1)
	c := Commit{Version: 8, Generation: -1, Retention: -1}
	for p := range int32(30) {
		c.Offsets = append(c.Offsets, CommitOffset{TopicPartition: TopicPartition{"t", p}, Offset: 2, LeaderEpoch: -1, Timestamp: -1})
	}
	c.Offsets[3].Metadata = string(make([]byte, 5000))
	codes := d.ask(c).(Committed).Codes
	for i, code := range codes {
		want := codeInvalidCommitOffsetSize
		if i == 3 {
			want = codeOffsetMetadataTooLarge
		}
		if code != want {
			t.Errorf("partition %d: %d", i, code)
		}
	}
	if got := d.fetched(0); got != 1 || len(d.log) != 1 {
		t.Errorf("committed %d, %d records", got, len(d.log))
	}
}

func TestNothingIsDeletedTwice(t *testing.T) {
	d := newDriver(t, nil)
	d.commitTo(TopicPartition{"t", 0}, 1)
	d.commitTo(TopicPartition{"t", 1}, 1)
	twice := []TopicPartition{{"t", 1}, {"t", 0}, {"t", 1}, {"t", 9}}
	if a := d.ask(DeleteOffsets{Partitions: twice}).(DeletedOffsets); a.Code != codeNone || !slices.Equal(a.Codes, make([]Code, 4)) {
		t.Errorf("%+v", a)
	}
	if n := len(d.log); n != 4 {
		t.Errorf("%d records", n)
	}
	d.compareReplay()
}

func TestOpenTransactionKeepsOffsetAndGroup(t *testing.T) {
	d := newDriver(t, nil)
	d.log = []Entry{offsetEntry(0, -1, 0, 1), offsetEntry(1, 5, 0, 2), offsetEntry(2, -1, 1, 1)}
	d.g = d.replayed()
	d.settle(d.g.Loaded(d.now, 3, 1))
	d.pass(8 * 24 * time.Hour)
	d.step(Expire{})
	if got := d.g.allPartitions(); !slices.Equal(got, []TopicPartition{{"t", 0}}) {
		t.Errorf("left: %v", got)
	}
	abort := marker(Offset(len(d.log)), 5, ControlAbort)
	d.log = append(d.log, abort)
	if err := d.g.Apply(abort); err != nil {
		t.Fatal(err)
	}
	d.step(Expire{})
	if d.g.Exists() {
		t.Error("the group outlives its last offset")
	}
	d.compareReplay()
}

func TestDeletedGroupBeginsAnew(t *testing.T) {
	d := newDriver(t, nil)
	ids := d.form(1)
	d.ask(Leave{Version: 3, Members: []LeavingMember{{MemberID: ids[0]}}})
	d.ask(Delete{})
	if c := d.beat(ids[0]); c != codeUnknownMemberID {
		t.Errorf("heartbeat: %d", c)
	}
	d.form(1)
	d.wantState(Stable, 1, 1)
	d.compareReplay()
}
