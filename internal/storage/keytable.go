package storage

import (
	"crypto/sha256"
	"encoding/binary"
)

// keyTable says at which offset each key was seen last. It knows keys by 128
// bits of their SHA-256: two keys that were taken for one would lose a record,
// and nobody can make two such keys.
type keyTable struct {
	slots []keySlot
	used  int
	most  int // slots that may be made
}

type keySlot struct {
	hash [16]byte
	next int64 // the offset after the key's last record; 0: an empty slot
}

const (
	keySlotBytes = 24
	keySlotsMin  = 1 << 10
	// keysPerSlots is the share of slots that may be in use, in percent.
	keysPerSlots = 90
)

func newKeyTable(memory int) *keyTable {
	most := keySlotsMin
	for 2*most*keySlotBytes <= memory {
		most *= 2
	}
	return &keyTable{most: most}
}

// fits reports whether n more keys have room. An empty table makes room for
// any number, so that every batch can be taken.
func (t *keyTable) fits(n int) bool {
	return t.used == 0 || (t.used+n)*100 <= t.most*keysPerSlots
}

// put notes that key was seen at offset, which never falls.
func (t *keyTable) put(key []byte, offset int64) {
	if (t.used+1)*100 > len(t.slots)*keysPerSlots {
		t.grow()
	}
	hash := hashKey(key)
	s := t.find(hash)
	if s.next == 0 {
		s.hash = hash
		t.used++
	}
	s.next = offset + 1
}

// last returns the offset at which key was seen last, -1 if it was not.
func (t *keyTable) last(key []byte) int64 {
	if t.used == 0 {
		return -1
	}
	return t.find(hashKey(key)).next - 1
}

func hashKey(key []byte) [16]byte {
	sum := sha256.Sum256(key)
	return [16]byte(sum[:16])
}

// find returns the hash's slot, or the empty one where it belongs.
func (t *keyTable) find(hash [16]byte) *keySlot {
	mask := uint64(len(t.slots) - 1)
	for i := binary.LittleEndian.Uint64(hash[:]) & mask; ; i = (i + 1) & mask {
		if s := &t.slots[i]; s.next == 0 || s.hash == hash {
			return s
		}
	}
}

func (t *keyTable) grow() {
	old := t.slots
	t.slots = make([]keySlot, max(keySlotsMin, 2*len(old)))
	for i := range old {
		if old[i].next != 0 {
			*t.find(old[i].hash) = old[i]
		}
	}
}
