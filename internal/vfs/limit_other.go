//go:build !unix

package vfs

// MaxOpen is how many files and connections the process may have open, as far
// as is known.
func MaxOpen() int { return 1024 }
