//go:build !linux

package wire

import "syscall"

func paces() bool { return false }

func unpace(syscall.RawConn) {}

func cork(syscall.RawConn, bool) {}
