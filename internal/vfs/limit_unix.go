//go:build unix

package vfs

import (
	"math"
	"syscall"
)

// MaxOpen is how many files and connections the process may have open.
func MaxOpen() int {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return 256
	}
	return int(min(uint64(limit.Cur), math.MaxInt32)) //nolint:unconvert // the types differ between systems
}
