package vfs

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// BlockSize is the size of a Block.
const BlockSize = 1 << 20

// Block is memory for whole blocks of direct files. Where the system has huge
// pages it lies in one, which a device reads into at about half the price, as
// there is one page to find and to hold instead of hundreds. It is then not part
// of the heap, and goes back to the system when nobody refers to the Block any
// more: whoever uses B must keep the Block.
type Block struct{ B []byte }

// NewBlock returns a block. Two that are made one after the other may share a
// page.
func NewBlock() *Block {
	spare.mu.Lock()
	half := spare.half
	spare.half = nil
	spare.mu.Unlock()
	if half != nil {
		return half
	}
	page, mapped := hugePage()
	if page == nil {
		return &Block{Aligned(BlockSize)}
	}
	halves := &atomic.Int32{}
	halves.Store(2)
	first, second := &Block{page[:BlockSize:BlockSize]}, &Block{page[BlockSize:]}
	free := func(mapped []byte) {
		if halves.Add(-1) == 0 {
			freePage(mapped)
		}
	}
	runtime.AddCleanup(first, free, mapped)
	runtime.AddCleanup(second, free, mapped)
	spare.mu.Lock()
	defer spare.mu.Unlock()
	spare.half = second
	return first
}

// PageSize is the size of a page that NewPage returns.
const PageSize = 2 * BlockSize

// NewPage returns a whole page, for two blocks, as NewBlock does one. It takes
// heap memory where the file system knows no direct files, which are what pages
// are for.
func NewPage(fsys FS) *Block {
	if _, ok := fsys.(directFS); !ok {
		return &Block{Aligned(PageSize)}
	}
	page, mapped := hugePage()
	if page == nil {
		return &Block{Aligned(PageSize)}
	}
	b := &Block{page}
	runtime.AddCleanup(b, freePage, mapped)
	return b
}

// spare is the half of a page whose other half was handed out, nil if there is
// none.
var spare struct {
	mu   sync.Mutex
	half *Block
}
