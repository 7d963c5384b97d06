//go:build !linux

package wire

import (
	"errors"
	"syscall"
)

const sendsFiles = false

func sendFile(syscall.RawConn, uintptr, int64, int, func(int)) error { return errors.ErrUnsupported }
