package record

// Recompress appends to dst the whole batch with its records compressed by
// another codec, at that codec's level (0: its default). Everything else in
// the header stays; length and checksum follow. A batch that has the codec
// already is copied as it is. The batch has been verified; c must not be nil.
// Errors: those of a batch that cannot be inflated.
func Recompress(dst, batch []byte, to Compression, level int, c *Codec) ([]byte, error) {
	h, err := ParseHeader(batch)
	if err != nil {
		return dst, err
	}
	batch = batch[:h.Size()]
	from := h.Attributes.Compression()
	if from == to {
		return append(dst, batch...), nil
	}
	data, err := c.inflate(from, batch[HeaderSize:])
	if err != nil {
		return dst, err
	}
	start := len(dst)
	out, err := c.deflater.deflate(append(dst, batch[:HeaderSize]...), to, level, data)
	if err != nil {
		return dst, err
	}
	h.Attributes = h.Attributes&^compressionMask | Attributes(to)
	putHeader(out[start:], &h)
	return out, nil
}

// FinishCompressed is Finish with the records compressed, at the codec's own
// level (0: its default).
func (b *Builder) FinishCompressed(to Compression, level int, c *Codec) ([]byte, error) {
	if to == Uncompressed {
		return b.Finish(), nil
	}
	records := b.start + HeaderSize
	out, err := c.deflater.deflate(c.scratch[:0], to, level, b.buf[records:])
	if err != nil {
		return b.buf[:b.start], err
	}
	b.attributes |= Attributes(to)
	b.buf = append(b.buf[:records], out...)
	c.keep(out)
	return b.Finish(), nil
}
