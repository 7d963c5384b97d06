package schema

import (
	"encoding/binary"
)

// Record types of the catalog's log: the first two bytes of a key.
// docs/format/catalog.md describes every byte.
const (
	typeTopic         = 1
	typeSetting       = 2
	typeCluster       = 3
	typeProducerBlock = 4
)

// CatalogKey is the key of a record of the catalog's log: a TopicKey, a
// SettingKey, a ClusterKey, a ProducerBlockKey or an UnknownKey.
type CatalogKey interface{ isCatalogKey() }

// TopicKey is the key of a topic. Its tombstone says that the topic is gone.
type TopicKey struct{ ID [16]byte }

// SettingKey is the key of a dynamic broker setting. Its value is a
// SettingValue, its tombstone says that the setting is not set.
type SettingKey struct{ Name string }

// ClusterKey is the key of the cluster id. Its value is a ClusterValue.
type ClusterKey struct{}

// ProducerBlockKey is the key of the producer ids given so far. Its value is a
// ProducerBlockValue.
type ProducerBlockKey struct{}

func (TopicKey) isCatalogKey()         {}
func (SettingKey) isCatalogKey()       {}
func (ClusterKey) isCatalogKey()       {}
func (ProducerBlockKey) isCatalogKey() {}
func (UnknownKey) isCatalogKey()       {}

// TopicValue is a topic.
type TopicValue struct {
	Name       string
	Partitions int32
	Internal   bool // belongs to the broker
	Deleting   bool // between the begin and the end of its deletion
	// Config holds what was set on the topic.
	Config []Setting
}

// Setting is one entry of a configuration, by Kafka's name.
type Setting struct{ Name, Value string }

// SettingValue is the value of a dynamic broker setting.
type SettingValue struct{ Value string }

// ClusterValue is the identity of the cluster.
type ClusterValue struct{ ID string }

// ProducerBlockValue says that every producer id below Next may have been
// given to a producer.
type ProducerBlockValue struct{ Next int64 }

const (
	topicInternal = 1 << 0
	topicDeleting = 1 << 1
)

// ParseCatalogKey decodes a key of the catalog's log. A key that is cut off is
// an ErrMalformed.
func ParseCatalogKey(b []byte) (CatalogKey, error) {
	c := cursor{b: b, flexible: true}
	switch kind := c.int16("record type"); {
	case c.why != "":
		return nil, c.failed("key")
	case kind == typeTopic:
		var k TopicKey
		copy(k.ID[:], c.take(len(k.ID), "topic id"))
		return k, c.failed("topic key")
	case kind == typeSetting:
		k := SettingKey{Name: c.string("name")}
		return k, c.failed("setting key")
	case kind == typeCluster:
		return ClusterKey{}, nil
	case kind == typeProducerBlock:
		return ProducerBlockKey{}, nil
	default:
		return UnknownKey{Type: kind}, nil
	}
}

// AppendCatalogKey appends a key of the catalog's log. An UnknownKey is a bug
// of the caller.
func AppendCatalogKey(dst []byte, k CatalogKey) []byte {
	switch k := k.(type) {
	case TopicKey:
		return append(binary.BigEndian.AppendUint16(dst, typeTopic), k.ID[:]...)
	case SettingKey:
		return appendCompactString(binary.BigEndian.AppendUint16(dst, typeSetting), k.Name)
	case ClusterKey:
		return binary.BigEndian.AppendUint16(dst, typeCluster)
	case ProducerBlockKey:
		return binary.BigEndian.AppendUint16(dst, typeProducerBlock)
	default:
		panic("schema: not a key of the catalog")
	}
}

// highestCatalogValue is the version of every value. What an older reader may
// overlook is added as a tagged field; anything else needs a new version, which
// older readers refuse.
const highestCatalogValue = 0

// catalogValue begins to read a value.
func catalogValue(b []byte, what string) (*cursor, error) {
	c := &cursor{b: b, flexible: true}
	_, err := c.version(what, highestCatalogValue)
	return c, err
}

// ParseTopicValue decodes a topic. Tagged fields are skipped.
func ParseTopicValue(b []byte) (TopicValue, error) {
	c, err := catalogValue(b, "topic")
	if err != nil {
		return TopicValue{}, err
	}
	v := TopicValue{Name: c.string("name"), Partitions: c.int32("partitions")}
	flags := c.int16("flags")
	v.Internal, v.Deleting = flags&topicInternal != 0, flags&topicDeleting != 0
	if n := c.count(2, "settings"); n > 0 {
		v.Config = make([]Setting, n)
	}
	for i := range v.Config {
		v.Config[i] = Setting{Name: c.string("setting name"), Value: c.string("setting value")}
	}
	c.tags(nil)
	if err := c.failed("topic"); err != nil {
		return TopicValue{}, err
	}
	return v, nil
}

// AppendTopicValue appends a topic.
func AppendTopicValue(dst []byte, v TopicValue) []byte {
	dst = appendCompactString(binary.BigEndian.AppendUint16(dst, highestCatalogValue), v.Name)
	dst = binary.BigEndian.AppendUint32(dst, uint32(v.Partitions))
	flags := uint16(0)
	if v.Internal {
		flags |= topicInternal
	}
	if v.Deleting {
		flags |= topicDeleting
	}
	dst = binary.BigEndian.AppendUint16(dst, flags)
	dst = binary.AppendUvarint(dst, uint64(len(v.Config))+1)
	for _, s := range v.Config {
		dst = appendCompactString(appendCompactString(dst, s.Name), s.Value)
	}
	return append(dst, 0)
}

// ParseSettingValue decodes a broker setting. Tagged fields are skipped.
func ParseSettingValue(b []byte) (SettingValue, error) {
	c, err := catalogValue(b, "setting")
	if err != nil {
		return SettingValue{}, err
	}
	v := SettingValue{Value: c.string("value")}
	c.tags(nil)
	return v, c.failed("setting")
}

// AppendSettingValue appends a broker setting.
func AppendSettingValue(dst []byte, v SettingValue) []byte {
	dst = binary.BigEndian.AppendUint16(dst, highestCatalogValue)
	return append(appendCompactString(dst, v.Value), 0)
}

// ParseClusterValue decodes the cluster's identity. Tagged fields are skipped.
func ParseClusterValue(b []byte) (ClusterValue, error) {
	c, err := catalogValue(b, "cluster")
	if err != nil {
		return ClusterValue{}, err
	}
	v := ClusterValue{ID: c.string("cluster id")}
	c.tags(nil)
	return v, c.failed("cluster")
}

// AppendClusterValue appends the cluster's identity.
func AppendClusterValue(dst []byte, v ClusterValue) []byte {
	dst = binary.BigEndian.AppendUint16(dst, highestCatalogValue)
	return append(appendCompactString(dst, v.ID), 0)
}

// ParseProducerBlockValue decodes the end of the producer ids given so far.
// Tagged fields are skipped.
func ParseProducerBlockValue(b []byte) (ProducerBlockValue, error) {
	c, err := catalogValue(b, "producer id block")
	if err != nil {
		return ProducerBlockValue{}, err
	}
	v := ProducerBlockValue{Next: c.int64("next id")}
	c.tags(nil)
	return v, c.failed("producer id block")
}

// AppendProducerBlockValue appends the end of the producer ids given so far.
func AppendProducerBlockValue(dst []byte, v ProducerBlockValue) []byte {
	dst = binary.BigEndian.AppendUint16(dst, highestCatalogValue)
	return append(binary.BigEndian.AppendUint64(dst, uint64(v.Next)), 0)
}

func appendCompactString(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))+1), s...)
}
