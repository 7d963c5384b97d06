package catalog

import (
	"crypto/rand"
	"encoding/base64"

	"rota/internal/storage"
)

// randomID makes a random UUID (RFC 9562, version 4).
func randomID() storage.TopicID {
	var id storage.TopicID
	rand.Read(id[:]) // never fails
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return id
}

// newTopicID makes an id that no topic has.
func (c *Catalog) newTopicID() storage.TopicID {
	for {
		id := c.newID()
		_, live := c.View().TopicByID(id)
		_, deleting := c.View().deletingByID(id)
		if !live && !deleting && !awkward(id) {
			return id
		}
	}
}

// newClusterID makes the text of an id, as Kafka writes it.
func newClusterID(newID func() storage.TopicID) string {
	for {
		if id := newID(); !awkward(id) {
			return base64.RawURLEncoding.EncodeToString(id[:])
		}
	}
}

// awkward ids are not used: those that Kafka reserves (0 is none, 1 is the
// catalog's own) and, as in Kafka, those whose text begins like an option of a
// command.
func awkward(id storage.TopicID) bool {
	reserved := id
	reserved[15] &^= 1
	return reserved == storage.TopicID{} || base64.RawURLEncoding.EncodeToString(id[:])[0] == '-'
}
