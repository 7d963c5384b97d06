//go:build !linux

package vfs

import (
	"errors"
	"math"
	"os"
)

// vector is not needed where WriteVec writes piece by piece.
type vector struct{}

// WriteVec writes piece by piece.
func (f *osFile) WriteVec(bufs [][]byte, off int64) error {
	for _, b := range bufs {
		n, err := f.WriteAt(b, off)
		if err != nil {
			return err
		}
		off += int64(n)
	}
	return nil
}

func syncAll(_ *os.File, names []string) error { return syncEach(names) }

func exchange(string, string) error { return errors.ErrUnsupported }

func space(string) (total, free int64, err error) { return math.MaxInt64, math.MaxInt64, nil }
