package disk

import (
	"errors"
	"fmt"
	"hash/crc32"

	"rota/internal/record"
)

// checker verifies batches that come in pieces, cut anywhere.
type checker struct {
	head [record.HeaderSize]byte
	have int // bytes of head, while it is cut
	left int // bytes of the batch to come
	body int // bytes of the batch behind its header
	sum  uint32
	want uint32
	// first is the offset that the first batch must begin with; -1: any.
	first int64
	next  int64 // the offset after the last batch
	end   int64 // no batch has this offset or a later one
}

// take checks the next piece and returns what is wrong, if anything.
func (k *checker) take(b []byte) (why string) {
	for len(b) > 0 {
		if k.left > 0 {
			n := min(k.left, len(b))
			k.sum = crc32.Update(k.sum, castagnoli, b[:n])
			b = b[n:]
			k.left -= n
		} else {
			n, why := k.begin(b)
			if why != "" {
				return why
			}
			b = b[n:]
			if k.have > 0 {
				return "" // the header goes on in the next piece
			}
		}
		if k.left == 0 && k.sum != k.want {
			return "the batch's checksum is wrong"
		}
	}
	return ""
}

// begin takes a header, or the part of it that is there.
func (k *checker) begin(b []byte) (n int, why string) {
	head := b
	n = record.HeaderSize
	if k.have > 0 || len(b) < record.HeaderSize {
		n = copy(k.head[k.have:], b)
		k.have += n
		if k.have < record.HeaderSize {
			return n, ""
		}
		head = k.head[:]
		k.have = 0
	}
	head = head[:record.HeaderSize]
	h, err := record.ParseHeader(head)
	switch {
	case err != nil && !errors.Is(err, record.ErrShort):
		return n, err.Error()
	case k.first >= 0 && h.BaseOffset != k.first:
		return n, fmt.Sprintf("offset %d where %d was expected", h.BaseOffset, k.first)
	case h.BaseOffset < k.next:
		return n, fmt.Sprintf("offset %d where at least %d was expected", h.BaseOffset, k.next)
	case h.NextOffset() > k.end:
		return n, fmt.Sprintf("offset %d in batches that end at %d", h.LastOffset(), k.end)
	}
	k.first, k.next, k.want = -1, h.NextOffset(), h.CRC
	k.body = h.Size() - record.HeaderSize
	k.left = k.body
	k.sum = crc32.Checksum(head[atCovered:], castagnoli)
	return n, ""
}

// whole reports whether the last piece ended with a batch.
func (k *checker) whole() bool { return k.left == 0 && k.have == 0 }

// begun is how many bytes there have been of a batch that is not whole yet.
func (k *checker) begun() int {
	if k.left > 0 {
		return record.HeaderSize + k.body - k.left
	}
	return k.have
}

// skip leaves out whole batches that need no checking.
func (k *checker) skip() { k.first = -1 }
