package schema

import (
	"bytes"
	"encoding/hex"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func transactionValue() TransactionValue {
	return TransactionValue{
		ProducerID: 4000, PreviousProducerID: 3999, NextProducerID: 5000, ProducerEpoch: 32767, TimeoutMillis: 60_000,
		State:      TransactionPrepareCommit,
		Partitions: []TransactionPartitions{{"__consumer_offsets", []int32{7}}, {"t", []int32{0, 1, 300}}},
		UpdatedAt:  1_700_000_000_123, StartedAt: 1_700_000_000_000, ClientVersion: 2,
	}
}

// TestTransactionValueAsKafkaWritesIt compares with an independent reading of
// Kafka's format (version 0), and with bytes put down by hand (version 1).
func TestTransactionValueAsKafkaWritesIt(t *testing.T) {
	v := transactionValue()
	got := AppendTransactionValue(nil, &v, 0)
	k := kmsg.NewTxnMetadataValue()
	k.Version, k.ProducerID, k.ProducerEpoch, k.TimeoutMillis = 0, v.ProducerID, v.ProducerEpoch, v.TimeoutMillis
	k.State = kmsg.TransactionState(v.State)
	for _, p := range v.Partitions {
		k.Topics = append(k.Topics, kmsg.TxnMetadataValueTopic{Topic: p.Topic, Partitions: p.Partitions})
	}
	k.LastUpdateTimestamp, k.StartTimestamp = v.UpdatedAt, v.StartedAt
	if want := k.AppendTo(nil); !bytes.Equal(got, want) {
		t.Errorf("version 0:\n%x\n%x", got, want)
	}

	v = TransactionValue{
		ProducerID: 1, PreviousProducerID: 1, NextProducerID: None, ProducerEpoch: 2, TimeoutMillis: 3, State: TransactionOngoing,
		Partitions: []TransactionPartitions{{"t", []int32{5}}}, UpdatedAt: 8, StartedAt: 7, ClientVersion: 2,
	}
	want := "0001" + "0000000000000001" + "0002" + "00000003" + "01" + // version, producer, epoch, timeout, state
		"02" + "02" + "74" + "02" + "00000005" + "00" + // one topic "t" with one partition, no tags
		"0000000000000008" + "0000000000000007" +
		"02" + "00" + "08" + "0000000000000001" + "02" + "02" + "0002" // previous producer id, client version
	if got := hex.EncodeToString(AppendTransactionValue(nil, &v, 1)); got != want {
		t.Errorf("version 1:\n%s\n%s", got, want)
	}
	v.State, v.Partitions, v.StartedAt, v.ClientVersion = TransactionEmpty, nil, None, 0
	want = "0001" + "0000000000000001" + "0002" + "00000003" + "00" + "00" + // no topics: null
		"0000000000000008" + "ffffffffffffffff" + "01" + "00" + "08" + "0000000000000001"
	if got := hex.EncodeToString(AppendTransactionValue(nil, &v, 1)); got != want {
		t.Errorf("version 1, empty:\n%s\n%s", got, want)
	}
}

func TestTransactionValueIsReadBack(t *testing.T) {
	for _, version := range []int16{0, 1} {
		for state := TransactionEmpty; state <= TransactionCompleteAbort; state++ {
			v := transactionValue()
			v.State = state
			if state == TransactionEmpty {
				v.Partitions = nil
			}
			got, err := ParseTransactionValue(AppendTransactionValue(nil, &v, version))
			if err != nil {
				t.Fatal(err)
			}
			if version == 0 {
				v.PreviousProducerID, v.NextProducerID, v.ClientVersion = None, None, 0
			}
			if diff := cmp.Diff(v, got); diff != "" {
				t.Errorf("version %d, %s: %s", version, state, diff)
			}
		}
	}
}

func TestTransactionValueThatIsDamaged(t *testing.T) {
	v := transactionValue()
	for _, version := range []int16{0, 1} {
		whole := AppendTransactionValue(nil, &v, version)
		for n := range len(whole) {
			if _, err := ParseTransactionValue(whole[:n]); !errors.Is(err, ErrMalformed) {
				t.Fatalf("version %d, %d of %d bytes: %v", version, n, len(whole), err)
			}
		}
	}
	state := AppendTransactionValue(nil, &v, 1)
	state[2+8+2+4] = 6
	for name, b := range map[string][]byte{"version": {0, 2, 0}, "state": state} {
		if _, err := ParseTransactionValue(b); !errors.Is(err, ErrMalformed) {
			t.Errorf("unknown %s: %v", name, err)
		}
	}
	// NextProducerEpoch of KIP-939, which is not known here.
	v.NextProducerID = None
	b := AppendTransactionValue(nil, &v, 1)
	b[len(b)-14-1]++ // one tagged field more
	b = append(b, 3, 2, 0, 9)
	if got, err := ParseTransactionValue(b); err != nil || !cmp.Equal(got, v) {
		t.Errorf("with a tagged field more: %+v, %v", got, err)
	}
}

func TestTransactionKey(t *testing.T) {
	b := AppendTransactionKey(nil, TransactionKey{"payments"})
	k := kmsg.TxnMetadataKey{Version: 0, TransactionalID: "payments"}
	if want := k.AppendTo(nil); !bytes.Equal(b, want) {
		t.Errorf("%x, want %x", b, want)
	}
	got, unknown, err := ParseTransactionKey(b)
	if err != nil || unknown != nil || got.TransactionalID != "payments" {
		t.Errorf("%+v, %v, %v", got, unknown, err)
	}
	if _, unknown, err = ParseTransactionKey([]byte{0, 1, 9, 9}); err != nil || unknown == nil || *unknown != 1 {
		t.Errorf("a type that is not known: %v, %v", unknown, err)
	}
	for n := range len(b) {
		if _, _, err := ParseTransactionKey(b[:n]); !errors.Is(err, ErrMalformed) {
			t.Errorf("%d of %d bytes: %v", n, len(b), err)
		}
	}
}

func FuzzTransactionValue(f *testing.F) {
	v := transactionValue()
	f.Add(AppendTransactionValue(nil, &v, 0))
	f.Add(AppendTransactionValue(nil, &v, 1))
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := ParseTransactionValue(b)
		if err != nil || v.State == TransactionEmpty {
			return
		}
		again, err := ParseTransactionValue(AppendTransactionValue(nil, &v, 1))
		if err != nil || !cmp.Equal(v, again, cmp.Comparer(func(a, b []int32) bool { return len(a) == 0 && len(b) == 0 || cmp.Equal(a, b) })) {
			t.Fatalf("%+v is read back as %+v, %v", v, again, err)
		}
	})
}
