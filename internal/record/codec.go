package record

import (
	"bytes"
	"errors"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

const (
	// DefaultLimit is how many bytes the records of one batch may inflate to.
	DefaultLimit = 128 << 20

	windowSize = 64 << 10
	// keepScratch is the largest buffer that a Codec keeps for its next use.
	keepScratch = 4 << 20
	// zstdWindow is the largest window that is decoded as a stream: what the
	// format asks every decoder to support. Frames with a larger one (levels
	// above 19) are decoded into memory as a whole, so that their header
	// alone cannot make a decoder reserve it.
	zstdWindow = 8 << 20
	// zstdWideWindow is the largest window of the reference implementation's
	// levels.
	zstdWideWindow = 128 << 20
)

// Codec holds the working memory of compression and decompression, made as it
// is needed and kept for the next use. The zero value is ready. One caller at a
// time may use it. A nil *Codec does for uncompressed batches.
type Codec struct {
	// Limit bounds the inflated size of one batch, in bytes. 0 is DefaultLimit.
	Limit int64

	in      bytes.Reader
	window  []byte
	scratch []byte

	gunzip *gzip.Reader
	plain  lz4Reader
	unlz4  *lz4.Reader
	unzstd *zstd.Decoder
	wide   *zstd.Decoder
	xerial xerialReader

	deflater deflater
}

func (c *Codec) limit() int64 {
	if c.Limit > 0 {
		return c.Limit
	}
	return DefaultLimit
}

// open makes w read the records in data. An error is one of the package's own.
func (c *Codec) open(w *walker, compression Compression, data []byte) error {
	if compression == Uncompressed {
		*w = walker{b: data}
		return nil
	}
	if whole, ok, err := c.whole(compression, data); ok || err != nil {
		*w = walker{b: whole}
		return err
	}
	src, err := c.stream(compression, data)
	if err != nil {
		return err
	}
	if c.window == nil {
		c.window = make([]byte, windowSize)
	}
	*w = walker{b: c.window[:0], src: src, left: c.limit()}
	return nil
}

// whole inflates the formats that cannot be streamed: a bare snappy block, a
// zstd frame with a very large window. ok is false for all others. The result
// is valid until the next use of c.
func (c *Codec) whole(compression Compression, data []byte) (out []byte, ok bool, err error) {
	switch {
	case compression == Snappy && !isXerial(data):
		out, err = unsnappy(c.scratch[:0], data, c.limit())
	case compression == Zstd && wideZstd(data):
		if err = c.makeWide(); err != nil {
			return nil, false, err
		}
		out, err = c.wide.DecodeAll(data, c.scratch[:0])
		if err == nil && int64(len(out)) > c.limit() { // several frames
			err = ErrTooLarge
		}
		if err != nil {
			err = inflateError(err)
		}
	default:
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	c.keep(out)
	return out, true, nil
}

// stream returns a reader of the inflated data.
func (c *Codec) stream(compression Compression, data []byte) (io.Reader, error) {
	c.in.Reset(data)
	switch compression {
	case Gzip:
		if c.gunzip == nil {
			c.gunzip = new(gzip.Reader)
		}
		if err := c.gunzip.Reset(&c.in); err != nil {
			return nil, inflateError(err)
		}
		return c.gunzip, nil
	case Snappy:
		c.xerial.reset(data)
		return &c.xerial, nil
	case LZ4:
		if c.plain.open(data) {
			return &c.plain, nil
		}
		if err := checkLZ4(data); err != nil {
			return nil, err
		}
		if c.unlz4 == nil {
			c.unlz4 = lz4.NewReader(&c.in)
		} else {
			c.unlz4.Reset(&c.in)
		}
		return c.unlz4, nil
	case Zstd:
		if c.unzstd == nil {
			d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
				zstd.WithDecoderMaxWindow(zstdWindow), zstd.WithDecoderMaxMemory(zstdWindow))
			if err != nil {
				return nil, err
			}
			c.unzstd = d
		}
		if err := c.unzstd.Reset(&c.in); err != nil {
			return nil, inflateError(err)
		}
		return c.unzstd, nil
	default:
		return nil, ErrUnsupportedCompression
	}
}

// checkLZ4 refuses what the library would read and Java clients would not: the
// legacy frame, and blocks that depend on each other.
func checkLZ4(data []byte) error {
	if len(data) <= len(lz4Magic) || string(data[:len(lz4Magic)]) != lz4Magic || data[len(lz4Magic)]&lz4Independent == 0 {
		return invalidBatch("not an lz4 frame of independent blocks")
	}
	return nil
}

func (c *Codec) makeWide() error {
	if c.wide != nil {
		return nil
	}
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(zstdWideWindow), zstd.WithDecoderMaxMemory(uint64(c.limit())))
	c.wide = d
	return err
}

// inflate returns the inflated records of a batch in one piece, valid until
// the next use of c.
func (c *Codec) inflate(compression Compression, data []byte) ([]byte, error) {
	if compression == Uncompressed {
		return data, nil
	}
	if whole, ok, err := c.whole(compression, data); ok || err != nil {
		return whole, err
	}
	src, err := c.stream(compression, data)
	if err != nil {
		return nil, err
	}
	out := c.scratch[:0]
	for {
		if len(out) == cap(out) {
			out = append(out, make([]byte, max(windowSize, 4*len(data), len(out)))...)[:len(out)]
		}
		n, err := src.Read(out[len(out):cap(out)])
		out = out[:len(out)+n]
		switch {
		case int64(len(out)) > c.limit():
			return nil, ErrTooLarge
		case err == io.EOF:
			c.keep(out)
			return out, nil
		case err != nil:
			return nil, inflateError(err)
		}
	}
}

// keep remembers a buffer for the next use, unless it is so large that a pool
// of codecs should not hold on to it.
func (c *Codec) keep(b []byte) {
	if cap(b) <= keepScratch {
		c.scratch = b[:0]
	}
}

// wideZstd reports whether the first frame's window is too large to stream.
func wideZstd(data []byte) bool {
	var h zstd.Header
	if err := h.Decode(data); err != nil {
		return false
	}
	return max(h.WindowSize, h.FrameContentSize*b2u(h.SingleSegment)) > zstdWindow
}

func b2u(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// inflateError turns what a decompressor says into one of the package's errors.
func inflateError(err error) error {
	switch {
	case errors.Is(err, errInflateLimit), errors.Is(err, zstd.ErrDecoderSizeExceeded), errors.Is(err, zstd.ErrWindowSizeExceeded):
		return ErrTooLarge
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return invalidBatch("compressed records are cut off")
	case errors.Is(err, ErrInvalid), errors.Is(err, ErrTooLarge):
		return err
	default:
		return invalidBatch("compressed records are damaged")
	}
}
