// Command page writes docs/COMPATIBILITY.md after an interoperability run, and
// fails if one of its checks has failed.
package main

import (
	"fmt"
	"os"

	"rota/test/report"
)

func main() {
	if err := report.Write(); err != nil {
		fmt.Fprintln(os.Stderr, "interop:", err)
		os.Exit(1)
	}
}
