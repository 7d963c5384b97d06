package disk

import (
	"errors"
	"io/fs"
	"path/filepath"

	"rota/internal/storage"
	"rota/internal/vfs"
)

const (
	// eachLimit is how many files are synced one by one; more are cheaper
	// together.
	eachLimit = 6
	// eachLimitUnsynced is the same where the journal is not synced: together
	// means the journal too, all of which would go to the device for nothing.
	eachLimitUnsynced = 64
)

// settler is the state of Settle and Remove, which one goroutine calls.
type settler struct {
	manifests vfs.Dir
	folders   map[storage.Partition]bool // that exist under segments
	// unsynced says that a name in manifests may have changed without being
	// durable.
	unsynced bool
	// listed are new segments of rounds that failed when they had been synced:
	// manifests may list them already, so they must stay as they are.
	listed map[segmentKey]bool
	buf    []byte
	pieces [][]byte // scratch space of writeRun
}

func (st *settler) open(c Config) (err error) {
	st.folders = map[storage.Partition]bool{}
	st.listed = map[segmentKey]bool{}
	st.manifests, err = c.FS.OpenDir(filepath.Join(c.Dir, manifestName))
	return err
}

func (st *settler) close() {
	if st.manifests != nil {
		st.manifests.Close()
	}
}

// syncManifests makes the names of manifests durable.
func (st *settler) syncManifests() error {
	if err := st.manifests.Sync(); err != nil {
		return err
	}
	st.unsynced = false
	return nil
}

// round is a settling round under way.
type round struct {
	names   []string // files to sync
	folders []string // and folders
	// newFolder says that segments has a new folder.
	newFolder bool
	few       bool       // so few that each is synced by itself
	segments  []*segment // in use, if few
	opened    []vfs.File // new manifests and indexes of aborted transactions, if few
}

// addFolder notes a folder that got a new name. Those of one partition come
// one behind the other.
func (r *round) addFolder(dir string) {
	if n := len(r.folders); n == 0 || r.folders[n-1] != dir {
		r.folders = append(r.folders, dir)
	}
}

// Settle implements storage.Medium: docs/format/manifest.md, "Replacing many
// at once".
func (m *Medium) Settle(moves []storage.Move) error {
	r := &round{}
	err := m.prepare(r, moves)
	if err == nil {
		err = m.sync(r)
	}
	for _, sg := range r.segments {
		m.segments.release(sg)
	}
	for _, f := range r.opened {
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		if r.newFolder {
			clear(m.settler.folders) // their names may not be durable
		}
		return err
	}
	return m.installAll(moves)
}

// installAll makes all spares the manifests, durably.
func (m *Medium) installAll(moves []storage.Move) error {
	var fresh []segmentKey
	for i := range moves {
		for j := range moves[i].Writes {
			if w := &moves[i].Writes[j]; w.At == 0 {
				fresh = append(fresh, segmentKey{moves[i].Manifest.Partition, w.Token})
				m.settler.listed[fresh[len(fresh)-1]] = true
			}
		}
	}
	for i := range moves {
		if err := m.install(moves[i].Manifest.Partition); err != nil {
			return err
		}
	}
	if err := m.settler.syncManifests(); err != nil {
		return err
	}
	for _, key := range fresh {
		delete(m.settler.listed, key)
	}
	return nil
}

// prepare writes segment bytes and new manifests.
func (m *Medium) prepare(r *round, moves []storage.Move) error {
	// A spare may be written over only when it is not, on the disk, still the
	// manifest.
	if m.settler.unsynced {
		if err := m.settler.syncManifests(); err != nil {
			return err
		}
	}
	r.few = countFiles(moves) <= m.eachLimit()
	for i := range moves {
		manifest := moves[i].Manifest
		for left := moves[i].Writes; len(left) > 0; {
			n := runLength(left)
			if err := m.prepareSegment(r, manifest, left[:n]); err != nil {
				return err
			}
			left = left[n:]
		}
		p := manifest.Partition
		f, err := m.writeManifest(manifest)
		if err != nil {
			return err
		}
		if err := r.add(f, filepath.Join(m.c.Dir, manifestPath(p)+manifestSpareExt)); err != nil {
			return err
		}
	}
	return nil
}

// add takes a file that has been written.
func (r *round) add(f vfs.File, name string) error {
	r.names = append(r.names, name)
	if !r.few {
		return f.Close()
	}
	r.opened = append(r.opened, f)
	return nil
}

// sync makes everything durable that prepare wrote.
func (m *Medium) sync(r *round) error {
	if r.newFolder {
		r.folders = append(r.folders, filepath.Join(m.c.Dir, segmentName))
	}
	if !r.few {
		return m.root.SyncAll(append(r.names, r.folders...))
	}
	for _, sg := range r.segments {
		if err := sg.f.Sync(); err != nil {
			return err
		}
	}
	for _, f := range r.opened {
		if err := f.Sync(); err != nil {
			return err
		}
	}
	for _, folder := range r.folders {
		if err := vfs.SyncDir(m.c.FS, folder); err != nil {
			return err
		}
	}
	return nil
}

func (m *Medium) eachLimit() int {
	if m.c.Durability == Fsync {
		return eachLimit
	}
	return eachLimitUnsynced
}

// countFiles is how many files a round writes.
func countFiles(moves []storage.Move) (files int) {
	for i := range moves {
		files++ // the manifest
		writes := moves[i].Writes
		for j := range writes {
			if j == 0 || writes[j].Token != writes[j-1].Token {
				files++
			}
			if len(writes[j].Aborted) > 0 {
				files++
			}
		}
	}
	return files
}

// prepareSegment writes a run of writes to one segment, and what they add to
// its index of aborted transactions.
func (m *Medium) prepareSegment(r *round, manifest *storage.Manifest, run []storage.SegmentWrite) error {
	p, token := manifest.Partition, run[0].Token
	sg, err := m.writeSegment(r, manifest, run)
	if err != nil {
		return err
	}
	if r.few {
		r.segments = append(r.segments, sg)
	} else {
		defer m.segments.release(sg)
	}
	r.names = append(r.names, filepath.Join(m.c.Dir, segmentPath(p, token)))
	for i := range run {
		f, made, err := m.writeAborted(sg, &run[i])
		if f != nil {
			err = r.add(f, filepath.Join(m.c.Dir, abortedPath(p, token)))
		}
		if made {
			r.addFolder(filepath.Join(m.c.Dir, segmentFolder(p)))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// writeSegment writes batches behind a segment's last or into a new one.
func (m *Medium) writeSegment(r *round, to *storage.Manifest, run []storage.SegmentWrite) (*segment, error) {
	sg, err := m.segmentFor(r, to.Partition, &run[0], to)
	if err != nil {
		return nil, err
	}
	err = m.appendBatches(sg, run, r.few)
	if err != nil {
		m.segments.release(sg)
		// What it holds behind the first write is unknown.
		m.segments.forget(sg.key)
		return nil, err
	}
	if _, unsaved := sg.state(); unsaved >= m.c.saveEvery {
		sg.save(m.c)
	}
	return sg, nil
}

func (m *Medium) segmentFor(r *round, p storage.Partition, w *storage.SegmentWrite, to *storage.Manifest) (*segment, error) {
	if w.At > 0 || m.settler.listed[segmentKey{p, w.Token}] {
		return m.segments.acquire(p, &storage.Segment{Base: w.Base, Token: w.Token, Size: w.At})
	}
	dir := filepath.Join(m.c.Dir, segmentFolder(p))
	if !m.settler.folders[p] {
		if err := m.c.FS.Mkdir(dir); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		m.settler.folders[p] = true
		r.newFolder = true
	}
	r.addFolder(dir)
	head := segmentHead{durability: m.c.Durability, partition: p, base: w.Base}
	for i := range to.Segments {
		if to.Segments[i].Token == w.Token {
			head.created = to.Segments[i].Created
		}
	}
	return m.segments.create(p, w.Token, head)
}

// writeManifest writes a manifest into the partition's spare file.
func (m *Medium) writeManifest(manifest *storage.Manifest) (vfs.File, error) {
	path := filepath.Join(m.c.Dir, manifestPath(manifest.Partition)+manifestSpareExt)
	f, err := m.c.FS.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = m.c.FS.Create(path)
	}
	if err != nil {
		return nil, err
	}
	m.settler.buf = appendManifest(m.settler.buf[:0], manifest, m.c.Durability)
	if err := overwrite(f, m.settler.buf); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// overwrite makes b all that a file holds.
func overwrite(f vfs.File, b []byte) error {
	if _, err := f.WriteAt(b, 0); err != nil {
		return err
	}
	size, err := f.Size()
	if err != nil || size == int64(len(b)) {
		return err
	}
	return f.Truncate(int64(len(b)))
}

// install makes a partition's spare its manifest. The old manifest becomes the
// spare: making and deleting a file each time would cost several times as much.
func (m *Medium) install(p storage.Partition) error {
	path := filepath.Join(m.c.Dir, manifestPath(p))
	m.settler.unsynced = true
	err := m.c.FS.Exchange(path, path+manifestSpareExt)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errors.ErrUnsupported) {
		err = m.c.FS.Rename(path+manifestSpareExt, path)
	}
	return err
}

// Drop implements storage.Medium.
func (m *Medium) Drop(p storage.Partition, segments []storage.Segment) {
	for i := range segments {
		m.dropSegment(p, segments[i].Token)
	}
}

func (m *Medium) dropSegment(p storage.Partition, token string) {
	m.segments.forget(segmentKey{p, token})
	defer m.segments.forget(segmentKey{p, token}) // a late reader may have opened it again
	for _, rel := range []string{segmentPath(p, token), indexPath(p, token), abortedPath(p, token)} {
		if err := removeIfThere(m.c.FS, filepath.Join(m.c.Dir, rel)); err != nil {
			m.c.Log.Warn("unused file stays", "file", rel, "err", err)
		}
	}
}

// Remove implements storage.Medium. The manifest is gone, durably, before any
// segment goes: a manifest without its segments would be damage.
func (m *Medium) Remove(p storage.Partition) error {
	path := filepath.Join(m.c.Dir, manifestPath(p))
	switch err := m.c.FS.Remove(path); {
	case err == nil:
		m.settler.unsynced = true
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if m.settler.unsynced {
		if err := m.settler.syncManifests(); err != nil {
			return err
		}
	}
	if err := removeIfThere(m.c.FS, path+manifestSpareExt); err != nil {
		return err
	}
	m.segments.forgetPartition(p)
	defer m.segments.forgetPartition(p) // a late reader may have opened one again
	dir := filepath.Join(m.c.Dir, segmentFolder(p))
	names, err := m.c.FS.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := removeIfThere(m.c.FS, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	delete(m.settler.folders, p)
	return m.c.FS.Remove(dir)
}
