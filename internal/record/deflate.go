package record

import (
	"fmt"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// deflater keeps one encoder for each codec, at the level last asked for.
type deflater struct {
	out    appendWriter
	gzip   *gzip.Writer
	gzipAt int
	lz4    *lz4.Writer
	zstd   *zstd.Encoder
	zstdAt zstd.EncoderLevel
}

// appendWriter is an io.Writer that appends.
type appendWriter struct{ b []byte }

func (w *appendWriter) Write(p []byte) (int, error) {
	w.b = append(w.b, p...)
	return len(p), nil
}

// deflate appends the compressed form of data to dst. level is the codec's own
// (compression.gzip.level and so on, KIP-390); 0 is the codec's default.
func (d *deflater) deflate(dst []byte, to Compression, level int, data []byte) ([]byte, error) {
	switch to {
	case Uncompressed:
		return append(dst, data...), nil
	case Gzip:
		return d.deflateGzip(dst, level, data)
	case Snappy:
		return appendXerial(dst, data), nil
	case LZ4:
		return d.deflateLZ4(dst, level, data)
	case Zstd:
		return d.deflateZstd(dst, level, data)
	default:
		return dst, ErrUnsupportedCompression
	}
}

func (d *deflater) deflateGzip(dst []byte, level int, data []byte) ([]byte, error) {
	if level == 0 {
		level = gzip.DefaultCompression
	}
	d.out.b = dst
	if d.gzip == nil || d.gzipAt != level {
		w, err := gzip.NewWriterLevel(&d.out, level)
		if err != nil {
			return dst, fmt.Errorf("compress with gzip: %w", err)
		}
		d.gzip, d.gzipAt = w, level
	} else {
		d.gzip.Reset(&d.out)
	}
	if _, err := d.gzip.Write(data); err != nil {
		return dst, fmt.Errorf("compress with gzip: %w", err)
	}
	if err := d.gzip.Close(); err != nil {
		return dst, fmt.Errorf("compress with gzip: %w", err)
	}
	return d.out.take(), nil
}

func (d *deflater) deflateLZ4(dst []byte, level int, data []byte) ([]byte, error) {
	d.out.b = dst
	if d.lz4 == nil {
		d.lz4 = lz4.NewWriter(&d.out)
	} else {
		d.lz4.Reset(&d.out)
	}
	// Blocks of 64 KiB without checksums: what Java writes, and the least
	// that any client has to reserve.
	err := d.lz4.Apply(lz4.ConcurrencyOption(1), lz4.BlockSizeOption(lz4.Block64Kb), lz4.ChecksumOption(false),
		lz4.CompressionLevelOption(lz4Level(level)))
	if err == nil {
		_, err = d.lz4.Write(data)
	}
	if err == nil {
		err = d.lz4.Close()
	}
	if err != nil {
		return dst, fmt.Errorf("compress with lz4: %w", err)
	}
	return d.out.take(), nil
}

// lz4Level maps Kafka's levels, 1 to 17, onto the library's ten.
func lz4Level(level int) lz4.CompressionLevel {
	levels := [...]lz4.CompressionLevel{
		lz4.Fast, lz4.Level1, lz4.Level2, lz4.Level3, lz4.Level4,
		lz4.Level5, lz4.Level6, lz4.Level7, lz4.Level8, lz4.Level9,
	}
	return levels[max(0, min(level, len(levels)-1))]
}

func (d *deflater) deflateZstd(dst []byte, level int, data []byte) ([]byte, error) {
	if level == 0 {
		level = 3
	}
	if at := zstd.EncoderLevelFromZstd(level); d.zstd == nil || d.zstdAt != at {
		w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true),
			zstd.WithEncoderLevel(at), zstd.WithWindowSize(1<<20), zstd.WithZeroFrames(true))
		if err != nil {
			return dst, fmt.Errorf("compress with zstd: %w", err)
		}
		d.zstd, d.zstdAt = w, at
	}
	return d.zstd.EncodeAll(data, dst), nil
}

// take hands the written bytes over.
func (w *appendWriter) take() []byte {
	b := w.b
	w.b = nil
	return b
}
