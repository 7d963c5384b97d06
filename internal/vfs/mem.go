package vfs

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"sync"
)

// Mem is a file system in memory. Its zero value is not usable. All methods
// may be called from any goroutine.
type Mem struct {
	faults faults
	// tracked says that changes are kept until they are synced.
	tracked bool

	mu    sync.Mutex
	root  *node           // the folders "." and "/" are both the root
	locks map[string]bool // held locks, by path
}

// NewMem returns an empty file system that keeps no account of what has been
// synced, for brokers that live in memory.
func NewMem() *Mem { return newMem(false) }

// NewCrashMem returns an empty file system that knows what has been synced,
// so that CrashClone works. It holds each unsynced write twice.
func NewCrashMem() *Mem { return newMem(true) }

func newMem(tracked bool) *Mem {
	return &Mem{tracked: tracked, root: newDirNode(), locks: map[string]bool{}}
}

// node is a file or a folder. Names, folders and the count of opens are
// guarded by Mem.mu, contents by the node's own.
type node struct {
	// A folder: its names, those that are durable, and what happened to them
	// since the last sync (tracked only).
	names   map[string]*node
	durable map[string]*node
	moves   []move

	// A file.
	opens    int
	unlinked bool
	mu       sync.RWMutex
	bytes    chunks
	track    *track // nil if not tracked
}

// move is a change of a folder: a name that goes, one that comes, or both; or
// two names that swap.
type move struct {
	gone, name string
	node       *node
	swapped    string // the other name, for other
	other      *node
}

func newDirNode() *node {
	return &node{names: map[string]*node{}, durable: map[string]*node{}}
}

func (n *node) isDir() bool { return n.names != nil }

var (
	errIsDir  = errors.New("is a folder")
	errNotDir = errors.New("is not a folder")
	errInUse  = errors.New("folder is not empty")
	errNegPos = errors.New("negative position")
)

func pathError(op, name string, err error) error {
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// find returns the node of a path. Mem.mu is held.
func (m *Mem) findLocked(name string) (*node, error) {
	name = filepath.Clean(name)
	parent := filepath.Dir(name)
	if name == "." || name == parent {
		return m.root, nil
	}
	dir, err := m.findLocked(parent)
	if err != nil {
		return nil, err
	}
	if !dir.isDir() {
		return nil, errNotDir
	}
	if n, ok := dir.names[filepath.Base(name)]; ok {
		return n, nil
	}
	return nil, fs.ErrNotExist
}

// folderLocked returns the folder that a path is or would be in.
func (m *Mem) folderLocked(name string) (*node, string, error) {
	name = filepath.Clean(name)
	dir, err := m.findLocked(filepath.Dir(name))
	if err == nil && !dir.isDir() {
		err = errNotDir
	}
	return dir, filepath.Base(name), err
}

// changeLocked makes a change of a folder.
func (m *Mem) changeLocked(dir *node, c move) {
	c.apply(dir.names)
	if m.tracked {
		dir.moves = append(dir.moves, c)
	}
}

// Create implements FS.
func (m *Mem) Create(name string) (File, error) {
	if err := m.faults.call(CreateCall, name, 0); err != nil {
		return nil, pathError("create", name, err)
	}
	m.mu.Lock()
	dir, base, err := m.folderLocked(name)
	if err != nil {
		m.mu.Unlock()
		return nil, pathError("create", name, err)
	}
	n := dir.names[base]
	if n != nil && n.isDir() {
		m.mu.Unlock()
		return nil, pathError("create", name, errIsDir)
	}
	fresh := n == nil
	if fresh {
		n = &node{}
		if m.tracked {
			n.track = &track{}
		}
		m.changeLocked(dir, move{name: base, node: n})
	}
	n.opens++
	m.mu.Unlock()
	if !fresh {
		m.resize(n, 0)
	}
	return &memFile{mem: m, node: n, name: name}, nil
}

// Open implements FS.
func (m *Mem) Open(name string) (File, error) {
	if err := m.faults.call(OpenCall, name, 0); err != nil {
		return nil, pathError("open", name, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.findLocked(name)
	if err == nil && n.isDir() {
		err = errIsDir
	}
	if err != nil {
		return nil, pathError("open", name, err)
	}
	n.opens++
	return &memFile{mem: m, node: n, name: name}, nil
}

// OpenDir implements FS.
func (m *Mem) OpenDir(name string) (Dir, error) {
	if err := m.faults.call(OpenCall, name, 0); err != nil {
		return nil, pathError("open", name, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.findLocked(name)
	if err == nil && !n.isDir() {
		err = errNotDir
	}
	if err != nil {
		return nil, pathError("open", name, err)
	}
	return &memDir{m, n, name}, nil
}

// Mkdir implements FS.
func (m *Mem) Mkdir(name string) error {
	if err := m.faults.call(MkdirCall, name, 0); err != nil {
		return pathError("mkdir", name, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if n, err := m.findLocked(name); err == nil && n != nil {
		return pathError("mkdir", name, fs.ErrExist)
	}
	dir, base, err := m.folderLocked(name)
	if err != nil {
		return pathError("mkdir", name, err)
	}
	m.changeLocked(dir, move{name: base, node: newDirNode()})
	return nil
}

// Rename implements FS.
func (m *Mem) Rename(from, to string) error {
	if err := m.faults.call(RenameCall, from, 0); err != nil {
		return pathError("rename", from, err)
	}
	if filepath.Dir(filepath.Clean(from)) != filepath.Dir(filepath.Clean(to)) {
		return pathError("rename", from, errOtherFolder)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, base, err := m.folderLocked(from)
	if err != nil {
		return pathError("rename", from, err)
	}
	n, ok := dir.names[base]
	if !ok {
		return pathError("rename", from, fs.ErrNotExist)
	}
	target := filepath.Base(filepath.Clean(to))
	if target == base {
		return nil
	}
	if old, ok := dir.names[target]; ok {
		if old.isDir() || n.isDir() {
			return pathError("rename", from, errIsDir)
		}
		m.unlinkLocked(old)
	}
	m.changeLocked(dir, move{gone: base, name: target, node: n})
	return nil
}

// Exchange implements FS.
func (m *Mem) Exchange(a, b string) error {
	if err := m.faults.call(RenameCall, a, 0); err != nil {
		return pathError("exchange", a, err)
	}
	if filepath.Dir(filepath.Clean(a)) != filepath.Dir(filepath.Clean(b)) {
		return pathError("exchange", a, errOtherFolder)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, first, err := m.folderLocked(a)
	if err != nil {
		return pathError("exchange", a, err)
	}
	second := filepath.Base(filepath.Clean(b))
	x, y := dir.names[first], dir.names[second]
	if x == nil || y == nil {
		return pathError("exchange", a, fs.ErrNotExist)
	}
	m.changeLocked(dir, move{name: first, node: y, swapped: second, other: x})
	return nil
}

// Remove implements FS.
func (m *Mem) Remove(name string) error {
	if err := m.faults.call(RemoveCall, name, 0); err != nil {
		return pathError("remove", name, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, base, err := m.folderLocked(name)
	if err != nil {
		return pathError("remove", name, err)
	}
	n, ok := dir.names[base]
	switch {
	case !ok:
		return pathError("remove", name, fs.ErrNotExist)
	case n.isDir() && len(n.names) > 0:
		return pathError("remove", name, errInUse)
	case !n.isDir():
		m.unlinkLocked(n)
	}
	m.changeLocked(dir, move{gone: base})
	return nil
}

// unlinkLocked is told that a file has lost its name.
func (m *Mem) unlinkLocked(n *node) {
	n.unlinked = true
	m.reclaimLocked(n)
}

// reclaimLocked takes back the space of a file that nobody can reach: its name
// is gone and it is not open. The bytes of a tracked one may come back in a
// crash.
func (m *Mem) reclaimLocked(n *node) {
	if !n.unlinked || n.opens > 0 {
		return
	}
	m.faults.grew(-n.bytes.size)
	if !m.tracked {
		n.bytes.release()
	}
}

// List implements FS.
func (m *Mem) List(name string) ([]string, error) {
	if err := m.faults.call(ReadCall, name, 0); err != nil {
		return nil, pathError("list", name, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.findLocked(name)
	if err == nil && !n.isDir() {
		err = errNotDir
	}
	if err != nil {
		return nil, pathError("list", name, err)
	}
	return slices.Sorted(maps.Keys(n.names)), nil
}

// Free implements FS. There is no limit unless SetFree has set one.
func (m *Mem) Free(name string) (int64, error) {
	if err := m.faults.call(ReadCall, name, 0); err != nil {
		return 0, pathError("free", name, err)
	}
	if free, limited := m.faults.room(); limited {
		return free, nil
	}
	return math.MaxInt64, nil
}

// Lock implements FS. The lock also ends with the Mem: a CrashClone has none.
func (m *Mem) Lock(name string) (io.Closer, error) {
	f, err := m.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = m.Create(name)
	}
	if err != nil {
		return nil, err
	}
	path := filepath.Clean(name)
	m.mu.Lock()
	held := m.locks[path]
	m.locks[path] = true
	m.mu.Unlock()
	if held {
		f.Close()
		return nil, pathError("lock", name, ErrLocked)
	}
	return &memLock{mem: m, path: path, file: f}, nil
}

type memLock struct {
	mem  *Mem
	path string
	file File
	once sync.Once
}

func (l *memLock) Close() error {
	l.once.Do(func() {
		l.mem.mu.Lock()
		delete(l.mem.locks, l.path)
		l.mem.mu.Unlock()
		l.file.Close()
	})
	return nil
}
