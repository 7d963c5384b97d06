package wire

import (
	"bytes"
	"os"
	"sync"
	"syscall"
)

// paces reports whether the system's congestion control is BBR.
var paces = sync.OnceValue(func() bool {
	name, err := os.ReadFile("/proc/sys/net/ipv4/tcp_congestion_control")
	return err == nil && bytes.HasPrefix(name, []byte("bbr"))
})

// unpace leaves the connection as it is if the system does not have Reno, which
// nobody needs a privilege for.
func unpace(raw syscall.RawConn) {
	_ = raw.Control(func(fd uintptr) {
		_ = syscall.SetsockoptString(int(fd), syscall.IPPROTO_TCP, syscall.TCP_CONGESTION, "reno")
	})
}

func cork(raw syscall.RawConn, on bool) {
	value := 0
	if on {
		value = 1
	}
	_ = raw.Control(func(fd uintptr) {
		_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_CORK, value)
	})
}
