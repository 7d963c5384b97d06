// Package record knows record batches, magic 2: the one unit in which records
// are sent, stored and fetched (KIP-98).
//
// It reads and changes batch headers in place, verifies what a client sent,
// walks over records, builds batches, and compresses. It never decides an
// offset, keeps a producer's state, or knows a topic; it has no clock and no
// goroutine. A batch is a []byte that begins at its base offset and is
// exactly as long as its header says.
//
// # A batch
//
//	 0 base offset       int64     outside the checksum
//	 8 batch length      int32     bytes that follow this field
//	12 leader epoch      int32     outside the checksum
//	16 magic             int8      2
//	17 CRC-32C           uint32    of everything from attributes on
//	21 attributes        int16     see Attributes
//	23 last offset delta int32
//	27 base timestamp    int64     milliseconds
//	35 max timestamp     int64
//	43 producer id       int64     -1 if none
//	51 producer epoch    int16
//	53 base sequence     int32
//	57 record count      int32
//	61 records, compressed together if the attributes say so
//
// # Who owns what
//
// Functions that read a batch keep nothing of it. A Codec owns the buffers of
// compression: what it yields is valid until its next use. A Codec serves one
// caller at a time; callers keep a pool of them.
//
// Start reading at header.go, then verify.go and builder.go.
package record
