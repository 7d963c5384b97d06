package main

import (
	"fmt"
	"runtime"
)

// versionCommand prints what was built.
type versionCommand struct{}

// Run prints the version, the Go release and the platform.
func (versionCommand) Run(s *streams) error {
	fmt.Fprintf(s.out, "rota %s %s %s/%s\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return nil
}
