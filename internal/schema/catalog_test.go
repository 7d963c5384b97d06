package schema

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// catalogRecord is a record of the catalog's log, decoded.
type catalogRecord struct {
	Key   CatalogKey
	Value any
}

func parseCatalog(key, value []byte) (r catalogRecord, err error) {
	if r.Key, err = ParseCatalogKey(key); err != nil {
		return r, err
	}
	switch r.Key.(type) {
	case TopicKey:
		r.Value, err = ParseTopicValue(value)
	case SettingKey:
		r.Value, err = ParseSettingValue(value)
	case ClusterKey:
		r.Value, err = ParseClusterValue(value)
	case ProducerBlockKey:
		r.Value, err = ParseProducerBlockValue(value)
	}
	return r, err
}

func appendCatalog(r catalogRecord) (key, value []byte) {
	key = AppendCatalogKey(nil, r.Key)
	switch v := r.Value.(type) {
	case TopicValue:
		value = AppendTopicValue(nil, v)
	case SettingValue:
		value = AppendSettingValue(nil, v)
	case ClusterValue:
		value = AppendClusterValue(nil, v)
	case ProducerBlockValue:
		value = AppendProducerBlockValue(nil, v)
	}
	return key, value
}

// The bytes of docs/format/catalog.md.
func TestCatalogBytes(t *testing.T) {
	doc, err := os.ReadFile("../../docs/format/catalog.md")
	if err != nil {
		t.Fatal(err)
	}
	id := [16]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
	for _, tt := range []struct {
		name, key, value string
		record           catalogRecord
	}{
		{
			"topic", "0001 000102030405060708090a0b0c0d0e0f", "0000 07 6f7264657273 00000003 0000 02 0d 726574656e74696f6e2e6d73 05 31303030 00",
			catalogRecord{TopicKey{id}, TopicValue{Name: "orders", Partitions: 3, Config: []Setting{{"retention.ms", "1000"}}}},
		},
		{
			"internal topic being deleted", "0001 000102030405060708090a0b0c0d0e0f", "0000 02 74 00000001 0003 01 00",
			catalogRecord{TopicKey{id}, TopicValue{Name: "t", Partitions: 1, Internal: true, Deleting: true}},
		},
		{
			"setting", "0002 0f 67726f75702e6d61782e73697a65", "0000 03 3130 00",
			catalogRecord{SettingKey{"group.max.size"}, SettingValue{"10"}},
		},
		{"cluster", "0003", "0000 04 616263 00", catalogRecord{ClusterKey{}, ClusterValue{"abc"}}},
		{"producer ids", "0004", "0000 00000000000003e8 00", catalogRecord{ProducerBlockKey{}, ProducerBlockValue{1000}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, example := range []string{"key    " + tt.key + "\n", "value  " + tt.value + "\n"} {
				if !strings.Contains(string(doc), example) {
					t.Errorf("docs/format/catalog.md lacks %q", example)
				}
			}
			key, value := unhex(t, tt.key), unhex(t, tt.value)
			got, err := parseCatalog(key, value)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.record, got); diff != "" {
				t.Errorf("record (-want +got):\n%s", diff)
			}
			gotKey, gotValue := appendCatalog(tt.record)
			if diff := cmp.Diff([][]byte{key, value}, [][]byte{gotKey, gotValue}); diff != "" {
				t.Errorf("bytes (-want +got):\n%s", diff)
			}
			for n := range key {
				if _, err := ParseCatalogKey(key[:n]); !errors.Is(err, ErrMalformed) {
					t.Errorf("key %x: error %v, want malformed", key[:n], err)
				}
			}
			for n := range value {
				if _, err := parseCatalog(key, value[:n]); !errors.Is(err, ErrMalformed) {
					t.Errorf("value %x: error %v, want malformed", value[:n], err)
				}
			}
			// A later build may add tagged fields.
			later := append(value[:len(value)-1:len(value)-1], 1, 9, 2, 0xaa, 0xbb)
			if got, err := parseCatalog(key, later); err != nil || !cmp.Equal(tt.record, got) {
				t.Errorf("with a tagged field: %+v, %v", got, err)
			}
			// A value of a later version is not guessed at.
			value[1] = 1
			if _, err := parseCatalog(key, value); !errors.Is(err, ErrMalformed) {
				t.Errorf("version 1: error %v, want malformed", err)
			}
		})
	}
	if k, err := ParseCatalogKey([]byte{0, 77, 1}); err != nil || k != CatalogKey(UnknownKey{77}) {
		t.Errorf("unknown type: %v, %v", k, err)
	}
}

// FuzzCatalogLog decodes one record of the catalog's log. Nothing panics, and
// what can be decoded survives being written and read again.
func FuzzCatalogLog(f *testing.F) {
	for _, r := range []catalogRecord{
		{TopicKey{}, TopicValue{Name: "t", Partitions: 1, Deleting: true, Config: []Setting{{"a", "b"}}}},
		{SettingKey{"n"}, SettingValue{"v"}},
		{ClusterKey{}, ClusterValue{"id"}},
		{ProducerBlockKey{}, ProducerBlockValue{1}},
	} {
		key, value := appendCatalog(r)
		f.Add(key, value)
	}
	f.Fuzz(func(t *testing.T, key, value []byte) {
		r, err := parseCatalog(key, value)
		if _, unknown := r.Key.(UnknownKey); err != nil || unknown {
			return
		}
		again, err := parseCatalog(appendCatalog(r))
		if diff := cmp.Diff(r, again); diff != "" || err != nil {
			t.Fatalf("record reads back differently, %v (-first +second):\n%s", err, diff)
		}
	})
}
