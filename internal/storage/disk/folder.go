package disk

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"rota/internal/storage"
	"rota/internal/vfs"
)

// Names in a data folder: docs/format/folder.md.
const (
	formatName   = "format"
	lockName     = "lock"
	journalName  = "journal"
	manifestName = "manifests"
	segmentName  = "segments"

	journalExt  = ".journal"
	manifestExt = ".manifest"
	segmentExt  = ".segment"
	indexExt    = ".index"
	abortedExt  = ".aborted"
	tmpExt      = ".tmp"
	spareStart  = "spare-"
	// manifestSpareExt follows a manifest's name.
	manifestSpareExt = ".spare"
	prepareName      = "prepare" + tmpExt
	spareTmpName     = "spare" + tmpExt
)

// FolderVersion is the version of the data folder that this build makes. Of the
// earlier ones, 1 knew no transactions.
const FolderVersion = 2

const formatTitle = "rota data folder"

// VersionError says that a newer build wrote what is to be read.
type VersionError struct {
	File         string // relative to the data folder
	Found, Known int
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("%s has version %d, this build knows %d: use a newer rota", e.File, e.Found, e.Known)
}

// folders are those in a data folder.
var folders = [...]string{journalName, manifestName, segmentName}

// prepareFolder checks the version of the folder, and makes what a new one
// has. A folder of an earlier version becomes one of this before anything else
// is written: what follows could be misread by what knows the earlier one only.
func prepareFolder(fsys vfs.FS, dir string) error {
	names, err := fsys.List(dir)
	if err != nil {
		return err
	}
	made := !slices.Contains(names, formatName)
	if made {
		err = makeFormat(fsys, dir, names)
	} else {
		var version int
		if version, err = checkFormat(fsys, dir); err == nil && version < FolderVersion {
			made = true
			err = writeFormat(fsys, dir)
		}
	}
	if err != nil {
		return err
	}
	for _, name := range folders {
		if !slices.Contains(names, name) {
			made = true
			if err := fsys.Mkdir(filepath.Join(dir, name)); err != nil {
				return err
			}
		}
	}
	if made {
		return vfs.SyncDir(fsys, dir)
	}
	return nil
}

func checkFormat(fsys vfs.FS, dir string) (version int, err error) {
	b, err := vfs.ReadFile(fsys, filepath.Join(dir, formatName), 1<<10)
	if err != nil {
		return 0, err
	}
	rest, ok := strings.CutPrefix(string(b), formatTitle+"\nversion ")
	version, err = strconv.Atoi(strings.TrimSuffix(rest, "\n"))
	switch {
	case !ok || err != nil || version < 1:
		return 0, &storage.CorruptError{File: formatName, Reason: "it does not say which version the folder has"}
	case version > FolderVersion:
		return 0, &VersionError{File: "data folder", Found: version, Known: FolderVersion}
	}
	return version, nil
}

// makeFormat makes the format file of a new folder. A crash may have kept the
// folders in it and not the file, but then they are empty.
func makeFormat(fsys vfs.FS, dir string, names []string) error {
	for _, name := range folders {
		if !slices.Contains(names, name) {
			continue
		}
		inside, err := fsys.List(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		if len(inside) > 0 {
			return fmt.Errorf("it holds %s but no file %s: it is damaged, or not a data folder", name, formatName)
		}
	}
	return writeFormat(fsys, dir)
}

// writeFormat makes or replaces the format file. The folder is not synced.
func writeFormat(fsys vfs.FS, dir string) error {
	text := fmt.Sprintf("%s\nversion %d\n", formatTitle, FolderVersion)
	path := filepath.Join(dir, formatName)
	f, err := fsys.Create(path + tmpExt)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte(text), 0); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return fsys.Rename(path+tmpExt, path)
}

// partitionName is how files and folders name a partition.
func partitionName(p storage.Partition) string {
	return hex.EncodeToString(p.Topic[:]) + "-" + strconv.Itoa(int(p.Index))
}

func parsePartition(name string) (p storage.Partition, ok bool) {
	topic, index, found := strings.Cut(name, "-")
	n, err := strconv.ParseInt(index, 10, 32)
	if !found || err != nil || n < 0 || len(topic) != 2*len(p.Topic) {
		return p, false
	}
	if _, err := hex.Decode(p.Topic[:], []byte(topic)); err != nil {
		return p, false
	}
	p.Index = int32(n)
	return p, partitionName(p) == name
}

// Paths relative to the data folder, as errors name them.

func manifestPath(p storage.Partition) string {
	return filepath.Join(manifestName, partitionName(p)+manifestExt)
}

func segmentFolder(p storage.Partition) string {
	return filepath.Join(segmentName, partitionName(p))
}

func segmentPath(p storage.Partition, token string) string {
	return filepath.Join(segmentFolder(p), token+segmentExt)
}

func indexPath(p storage.Partition, token string) string {
	return filepath.Join(segmentFolder(p), token+indexExt)
}

func abortedPath(p storage.Partition, token string) string {
	return filepath.Join(segmentFolder(p), token+abortedExt)
}

func journalPath(seq uint64) string {
	return filepath.Join(journalName, fmt.Sprintf("%020d%s", seq, journalExt))
}

func sparePath(seq uint64) string {
	return filepath.Join(journalName, fmt.Sprintf("%s%020d", spareStart, seq))
}

func parseSeq(digits string) (uint64, bool) {
	if len(digits) != 20 {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	return n, err == nil && n > 0
}

// removeIfThere deletes a file that may be gone already.
func removeIfThere(fsys vfs.FS, path string) error {
	if err := fsys.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
