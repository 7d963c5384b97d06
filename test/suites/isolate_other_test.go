//go:build !linux

package suites

import (
	"errors"
	"os/exec"
)

func isolate(*exec.Cmd) error { return errors.New("network namespaces are of Linux") }

func raiseLoopback() error { return nil }
