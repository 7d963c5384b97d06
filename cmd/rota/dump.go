package main

import (
	"bufio"
	"errors"
	"fmt"

	"rota/internal/storage/disk"
	"rota/internal/vfs"
)

// dumpCommand prints what a file of a data folder holds.
type dumpCommand struct {
	Files []string `arg:"" name:"file" help:"Journal, segment or manifest files. The broker may be running."`
}

// Run prints the files, one line for each frame or batch, and goes on after a
// damaged one.
func (c *dumpCommand) Run(s *streams) error {
	out := bufio.NewWriter(s.out)
	var failed error
	for _, name := range c.Files {
		if len(c.Files) > 1 {
			fmt.Fprintf(out, "%s:\n", name)
		}
		if err := disk.Dump(out, vfs.OS(), name); err != nil {
			failed = errors.Join(failed, err)
		}
	}
	return errors.Join(failed, out.Flush())
}
