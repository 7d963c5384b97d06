package disk

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"rota/internal/storage"
)

// The bytes of journal files: docs/format/journal.md.
const (
	journalMagic   = "ROTAJRNL"
	journalVersion = 1
	// journalHeader is where frames begin.
	journalHeader = 4096
	// headerUsed is the part of the header that carries anything.
	headerUsed = 128

	frameHeader = 64
	frameAlign  = 8
)

const (
	flagPredecessorSynced = 1 << 0

	flagFirst = 1 << 0
	flagLast  = 1 << 1
)

// atFileCRC is where every binary file has its header's CRC.
const atFileCRC = 12

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// crcAround is the CRC of b without the four bytes at hole.
func crcAround(b []byte, hole int) uint32 {
	return crc32.Update(crc32.Checksum(b[:hole], castagnoli), castagnoli, b[hole+4:])
}

// fileHeader is the header of a journal file.
type fileHeader struct {
	durability        Durability
	seq               uint64
	salt              uint64
	first             uint64 // number of the first flush
	prev              uint64 // sequence of the predecessor, 0 = none
	prevSalt          uint64
	prevEnd           int64
	predecessorSynced bool
	epoch             int32 // of the leader epoch counter, -1 = none
	created           int64 // milliseconds
}

// putPreamble writes what all binary files begin with, but for the CRC.
func putPreamble(b []byte, magic string, version uint16, d Durability) {
	copy(b, magic)
	binary.BigEndian.PutUint16(b[8:], version)
	b[10] = byte(d)
}

// checkPreamble checks what all binary files begin with. why is empty, or says
// what is wrong.
func checkPreamble(file string, b []byte, magic string, version int) (why string, err error) {
	if len(b) < 16 || string(b[:8]) != magic {
		return "it does not begin with " + magic, nil
	}
	if v := int(binary.BigEndian.Uint16(b[8:])); v > version {
		return "", &VersionError{File: file, Found: v, Known: version}
	}
	return "", nil
}

func (h *fileHeader) encode() []byte {
	b := make([]byte, headerUsed)
	putPreamble(b, journalMagic, journalVersion, h.durability)
	if h.predecessorSynced {
		b[11] |= flagPredecessorSynced
	}
	be := binary.BigEndian
	be.PutUint64(b[16:], h.seq)
	be.PutUint64(b[24:], h.salt)
	be.PutUint64(b[32:], h.first)
	be.PutUint64(b[40:], h.prev)
	be.PutUint64(b[48:], h.prevSalt)
	be.PutUint64(b[56:], uint64(h.prevEnd))
	be.PutUint32(b[64:], uint32(h.epoch))
	be.PutUint64(b[72:], uint64(h.created))
	be.PutUint32(b[atFileCRC:], crcAround(b, atFileCRC))
	return b
}

// decodeFileHeader reads a header. Errors: *storage.CorruptError, *VersionError.
func decodeFileHeader(file string, b []byte) (h fileHeader, err error) {
	corrupt := func(why string) error { return &storage.CorruptError{File: file, Reason: why} }
	why, err := checkPreamble(file, b, journalMagic, journalVersion)
	switch {
	case err != nil:
		return h, err
	case why != "":
		return h, corrupt(why)
	case len(b) < headerUsed:
		return h, corrupt("the header is cut off")
	}
	b = b[:headerUsed]
	be := binary.BigEndian
	if be.Uint32(b[atFileCRC:]) != crcAround(b, atFileCRC) {
		return h, corrupt("the header's checksum is wrong")
	}
	h = fileHeader{
		durability:        Durability(b[10]),
		predecessorSynced: b[11]&flagPredecessorSynced != 0,
		seq:               be.Uint64(b[16:]),
		salt:              be.Uint64(b[24:]),
		first:             be.Uint64(b[32:]),
		prev:              be.Uint64(b[40:]),
		prevSalt:          be.Uint64(b[48:]),
		prevEnd:           int64(be.Uint64(b[56:])),
		epoch:             int32(be.Uint32(b[64:])),
		created:           int64(be.Uint64(b[72:])),
	}
	if !h.durability.known() || h.seq == 0 || h.first == 0 || h.prev >= h.seq || h.prev > 0 && h.prevEnd < journalHeader {
		return h, corrupt("the header contradicts itself")
	}
	return h, nil
}

// frameHead is the header of a frame.
type frameHead struct {
	salt       uint64
	flush      uint64
	payloadCRC uint32
	partition  storage.Partition
	epoch      int32
	offset     int64
	length     int // of the payload
	kind       storage.FrameKind
	flags      byte
}

// padded is the space that a payload takes.
func padded(n int) int { return (n + frameAlign - 1) &^ (frameAlign - 1) }

// frameSpace is the space that a frame takes.
func frameSpace(payload int) int64 { return int64(frameHeader + padded(payload)) }

// put writes a frame header. b has frameHeader bytes.
func (h *frameHead) put(b []byte) {
	_ = b[frameHeader-1]
	be := binary.BigEndian
	be.PutUint64(b[0:], h.salt)
	be.PutUint64(b[8:], h.flush)
	be.PutUint32(b[20:], h.payloadCRC)
	copy(b[24:40], h.partition.Topic[:])
	be.PutUint32(b[40:], uint32(h.partition.Index))
	be.PutUint32(b[44:], uint32(h.epoch))
	be.PutUint64(b[48:], uint64(h.offset))
	be.PutUint32(b[56:], uint32(h.length))
	b[60], b[61], b[62], b[63] = byte(h.kind), h.flags, 0, 0
	be.PutUint32(b[16:], crcAround(b[:frameHeader], 16))
}

// parseFrameHead reads a frame header and reports whether its CRC holds.
func parseFrameHead(b []byte) (h frameHead, intact bool) {
	be := binary.BigEndian
	if be.Uint32(b[16:]) != crcAround(b[:frameHeader], 16) {
		return h, false
	}
	h = frameHead{
		salt:       be.Uint64(b[0:]),
		flush:      be.Uint64(b[8:]),
		payloadCRC: be.Uint32(b[20:]),
		partition:  storage.Partition{Topic: storage.TopicID(b[24:40]), Index: int32(be.Uint32(b[40:]))},
		epoch:      int32(be.Uint32(b[44:])),
		offset:     int64(be.Uint64(b[48:])),
		length:     int(be.Uint32(b[56:])),
		kind:       storage.FrameKind(b[60]),
		flags:      b[61],
	}
	return h, true
}

// misfit says why an intact header cannot be that of the next frame: nothing
// if it can. room is how many bytes there are for the payload.
func (h *frameHead) misfit(flush uint64, first bool, room int64) string {
	switch {
	case h.flush != flush:
		return fmt.Sprintf("flush %d where %d was expected", h.flush, flush)
	case h.flags&flagFirst != 0 != first:
		return "a flush that does not begin where it should"
	case int64(h.length) > room:
		return "a frame that is longer than the file"
	case h.kind < storage.FrameBatch || h.kind > storage.FrameRemove:
		return fmt.Sprintf("a frame of unknown kind %d", h.kind)
	}
	return ""
}

func (h *frameHead) frame(payload []byte) storage.Frame {
	return storage.Frame{Kind: h.kind, Partition: h.partition, Offset: h.offset, Epoch: h.epoch, Batch: payload}
}
