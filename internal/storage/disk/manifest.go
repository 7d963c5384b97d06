package disk

import (
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"rota/internal/storage"
	"rota/internal/vfs"
)

// The bytes of a manifest: docs/format/manifest.md.
const (
	manifestMagic   = "ROTAMANI"
	manifestVersion = 2
	manifestFixed   = 88
	segmentFixed    = 61 // and the token
	segmentFixed1   = 49 // of version 1, which knew no transactions
	epochSize       = 12
	// manifestMax bounds what is read of a manifest.
	manifestMax = 64 << 20
)

// appendManifest encodes m behind b.
func appendManifest(b []byte, m *storage.Manifest, d Durability) []byte {
	from := len(b)
	be := binary.BigEndian
	var head [manifestFixed]byte
	putPreamble(head[:], manifestMagic, manifestVersion, d)
	be.PutUint32(head[20:], uint32(m.Partition.Index))
	copy(head[24:], m.Partition.Topic[:])
	be.PutUint64(head[40:], uint64(m.Start))
	be.PutUint64(head[48:], uint64(m.End))
	be.PutUint64(head[56:], m.Flush)
	be.PutUint64(head[64:], uint64(m.LastStable))
	be.PutUint32(head[72:], uint32(len(m.Segments)))
	be.PutUint32(head[76:], uint32(len(m.Epochs)))
	be.PutUint32(head[80:], uint32(len(m.Producers)))
	be.PutUint32(head[84:], uint32(m.Cleaned))
	b = append(b, head[:]...)
	for i := range m.Segments {
		s := &m.Segments[i]
		for _, v := range [...]int64{s.Base, s.End, s.Size, s.MaxTimestamp, s.MaxTimestampOffset, s.Created} {
			b = be.AppendUint64(b, uint64(v))
		}
		b = be.AppendUint64(b, uint64(s.LastStable))
		b = be.AppendUint32(b, uint32(s.Aborted))
		b = append(b, byte(len(s.Token)))
		b = append(b, s.Token...)
	}
	for _, e := range m.Epochs {
		b = be.AppendUint32(b, uint32(e.Epoch))
		b = be.AppendUint64(b, uint64(e.Start))
	}
	b = append(b, m.Producers...)
	whole := b[from:]
	be.PutUint32(whole[16:], uint32(len(whole)))
	be.PutUint32(whole[atFileCRC:], crcAround(whole, atFileCRC))
	return b
}

// decodeManifest reads a manifest. Errors: *storage.CorruptError, *VersionError.
func decodeManifest(file string, b []byte) (*storage.Manifest, error) {
	corrupt := func(why string) error { return &storage.CorruptError{File: file, Reason: why} }
	why, err := checkPreamble(file, b, manifestMagic, manifestVersion)
	switch {
	case err != nil:
		return nil, err
	case why != "":
		return nil, corrupt(why)
	case len(b) < manifestFixed:
		return nil, corrupt("it is cut off")
	}
	be := binary.BigEndian
	if int64(be.Uint32(b[16:])) != int64(len(b)) {
		return nil, corrupt("its length is not what it says")
	}
	if be.Uint32(b[atFileCRC:]) != crcAround(b, atFileCRC) {
		return nil, corrupt("its checksum is wrong")
	}
	m := &storage.Manifest{
		Partition: storage.Partition{Topic: storage.TopicID(b[24:40]), Index: int32(be.Uint32(b[20:]))},
		Start:     int64(be.Uint64(b[40:])), End: int64(be.Uint64(b[48:])),
		Flush: be.Uint64(b[56:]), LastStable: int64(be.Uint64(b[64:])),
		Cleaned: int(be.Uint32(b[84:])),
	}
	segments, epochs, producers := int64(be.Uint32(b[72:])), int64(be.Uint32(b[76:])), int64(be.Uint32(b[80:]))
	rest := b[manifestFixed:]
	if int64(m.Cleaned) > segments {
		return nil, corrupt("more segments are compacted than there are")
	}
	version, fixed := be.Uint16(b[8:]), int64(segmentFixed)
	if version == 1 {
		fixed = segmentFixed1
	}
	if segments*fixed+epochs*epochSize+producers > int64(len(rest)) {
		return nil, corrupt("its parts do not add up to its length")
	}
	for range segments {
		s, after, ok := decodeSegment(rest, version)
		if !ok {
			return nil, corrupt("its parts do not add up to its length")
		}
		m.Segments = append(m.Segments, s)
		rest = after
	}
	if epochs*epochSize+producers != int64(len(rest)) {
		return nil, corrupt("its parts do not add up to its length")
	}
	for range epochs {
		m.Epochs = append(m.Epochs, storage.EpochStart{Epoch: int32(be.Uint32(rest)), Start: int64(be.Uint64(rest[4:]))})
		rest = rest[epochSize:]
	}
	if len(rest) > 0 {
		m.Producers = rest
	}
	return m, nil
}

// decodeSegment reads what b begins with.
func decodeSegment(b []byte, version uint16) (s storage.Segment, rest []byte, ok bool) {
	be := binary.BigEndian
	fixed := segmentFixed
	if version == 1 {
		fixed = segmentFixed1
	}
	if len(b) < fixed || len(b) < fixed+int(b[fixed-1]) {
		return s, nil, false
	}
	end := fixed + int(b[fixed-1])
	s = storage.Segment{
		Base: int64(be.Uint64(b[0:])), End: int64(be.Uint64(b[8:])), Size: int64(be.Uint64(b[16:])),
		MaxTimestamp: int64(be.Uint64(b[24:])), MaxTimestampOffset: int64(be.Uint64(b[32:])),
		Created: int64(be.Uint64(b[40:])), Token: string(b[fixed:end]),
	}
	s.LastStable = s.End // no transactions, everything is stable
	if version > 1 {
		s.LastStable, s.Aborted = int64(be.Uint64(b[48:])), int32(be.Uint32(b[56:]))
	}
	return s, b[end:], true
}

// recoverManifests delivers the manifests whose segments are there, and notes
// the damaged ones in the report. It deletes what no manifest names.
func (m *Medium) recoverManifests(ctx context.Context, into storage.Recovery, report *storage.Report) error {
	names, err := m.c.FS.List(filepath.Join(m.c.Dir, manifestName))
	if err != nil {
		return err
	}
	listed := map[storage.Partition][]storage.Segment{}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		rel := filepath.Join(manifestName, name)
		if of, spare := strings.CutSuffix(name, manifestSpareExt); spare {
			if _, used := slices.BinarySearch(names, of); !used {
				if err := removeIfThere(m.c.FS, filepath.Join(m.c.Dir, rel)); err != nil {
					return err
				}
			}
			continue
		}
		base, ok := strings.CutSuffix(name, manifestExt)
		p, known := parsePartition(base)
		if !ok || !known {
			continue // not ours
		}
		manifest, err := m.readManifest(p)
		if _, newer := errors.AsType[*VersionError](err); newer {
			return err
		}
		if err != nil {
			m.c.Log.Error("partition is damaged", "file", rel, "err", err)
			report.Corrupt[p] = err
			continue
		}
		listed[p] = manifest.Segments
		report.LastFlush = max(report.LastFlush, manifest.Flush)
		if err := into.Manifest(manifest); err != nil {
			return err
		}
	}
	// The last process may have ended between giving names, or taking the last
	// one away, and syncing that.
	if err := m.settler.syncManifests(); err != nil {
		return err
	}
	return m.removeOrphans(listed, report.Corrupt)
}

// readManifest reads the manifest of p and checks that its segments are there.
func (m *Medium) readManifest(p storage.Partition) (*storage.Manifest, error) {
	file := manifestPath(p)
	b, err := vfs.ReadFile(m.c.FS, filepath.Join(m.c.Dir, file), manifestMax)
	if err != nil {
		return nil, asDamage(file, err)
	}
	manifest, err := decodeManifest(file, b)
	if err != nil {
		return nil, err
	}
	if manifest.Partition != p {
		return nil, &storage.CorruptError{File: file, Offset: 20, Reason: "it is another partition's"}
	}
	for i := range manifest.Segments {
		s := &manifest.Segments[i]
		if !validToken(s.Token) || s.Size < 0 || s.End < s.Base || s.Aborted < 0 {
			return nil, &storage.CorruptError{File: file, Offset: manifestFixed, Reason: "a segment that cannot be"}
		}
		if err := checkSegment(m.c, p, s); err != nil {
			return nil, asDamage(segmentPath(p, s.Token), err)
		}
	}
	return manifest, nil
}

// asDamage is the error for a file that the system does not let a start look at,
// or that is damaged: either way nobody looks again before the next start.
func asDamage(file string, err error) error {
	if _, damaged := errors.AsType[*storage.CorruptError](err); damaged {
		return err
	}
	if _, newer := errors.AsType[*VersionError](err); newer {
		return err
	}
	return &storage.CorruptError{File: file, Reason: err.Error()}
}

// removeOrphans deletes segment files that no manifest lists: left behind by a
// round of writing that did not end, or a deletion. Nothing of a damaged
// partition is touched.
func (m *Medium) removeOrphans(listed map[storage.Partition][]storage.Segment, corrupt map[storage.Partition]error) error {
	root := filepath.Join(m.c.Dir, segmentName)
	folders, err := m.c.FS.List(root)
	if err != nil {
		return err
	}
	for _, folder := range folders {
		p, ok := parsePartition(folder)
		if !ok || corrupt[p] != nil {
			continue
		}
		segments, live := listed[p]
		keep := map[string]bool{}
		for i := range segments {
			keep[segments[i].Token] = true
		}
		dir := filepath.Join(root, folder)
		names, err := m.c.FS.List(dir)
		if err != nil {
			return err
		}
		for _, name := range names {
			if token, ours := cutSegmentExt(name); ours && !keep[token] {
				if err := removeIfThere(m.c.FS, filepath.Join(dir, name)); err != nil {
					return err
				}
			}
		}
		if live {
			m.settler.folders[p] = true
		} else if err := m.c.FS.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			m.c.Log.Warn("folder of a deleted partition stays", "dir", dir, "err", err)
		}
	}
	return nil
}

// cutSegmentExt returns the token of a segment that a file belongs to.
func cutSegmentExt(name string) (token string, ours bool) {
	for _, ext := range [...]string{segmentExt, indexExt, abortedExt} {
		if token, ours := strings.CutSuffix(name, ext); ours {
			return token, true
		}
	}
	return "", false
}
