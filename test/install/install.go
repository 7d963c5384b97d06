// Package install puts what the interoperability tests need on the machine:
// Debian packages, and what other package managers bring, below .cache in the
// checkout.
package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// limit is how long one package manager may take.
const limit = 8 * time.Minute

// Root is the checkout. It panics outside of one.
func Root() string {
	dir, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "test", "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			panic("not in the checkout")
		}
		dir = up
	}
}

// Cache is a path below .cache.
func Cache(path ...string) string {
	return filepath.Join(append([]string{Root(), ".cache"}, path...)...)
}

// Lock is held while a package manager runs: they lock each other out, and some
// wait for the other in vain.
var Lock sync.Mutex

// Run runs a command of an installation; its error has the end of the output.
func Run(dir, name string, args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), "DEBIAN_FRONTEND=noninteractive")
	if out, err := cmd.CombinedOutput(); err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		if len(lines) > 5 {
			lines = lines[len(lines)-5:]
		}
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.Join(lines, "\n"))
	}
	return nil
}

// Need installs Debian packages unless the tool is there.
func Need(tool string, packages ...string) error {
	if _, err := exec.LookPath(tool); err == nil {
		return nil
	}
	return Debian(packages...)
}

// updated is whether the list of Debian packages is fresh. It is used under
// Lock.
var updated bool

// Debian installs Debian packages.
func Debian(packages ...string) error {
	if _, err := exec.LookPath("apt-get"); err != nil || os.Getuid() != 0 {
		return fmt.Errorf("%s: not there, and not for this user to install", strings.Join(packages, ", "))
	}
	if !updated {
		if err := Run("", "apt-get", "update", "-q"); err != nil {
			return err
		}
		updated = true
	}
	return Run("", "apt-get", append([]string{"install", "-y", "-q", "--no-install-recommends"}, packages...)...)
}

// errNewer ends a walk.
var errNewer = errors.New("newer")

// Stale says whether what was made from the sources is missing or older than
// they are.
func Stale(made string, sources ...string) bool {
	m, err := os.Stat(made)
	if err != nil {
		return true
	}
	for _, s := range sources {
		err := filepath.WalkDir(s, func(_ string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			info, err := d.Info()
			if err == nil && info.ModTime().After(m.ModTime()) {
				return errNewer
			}
			return err
		})
		if err != nil {
			return true
		}
	}
	return false
}
