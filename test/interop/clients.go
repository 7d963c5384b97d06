package interop

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// client is a program under test. A reason why it lacks something makes the
// check that needs it not run.
type client struct {
	name string
	// prepare installs the program and says how it is started.
	prepare func() (argv, env []string, err error)

	noAdmin, noStatic, noCooperative string
	noCodec                          map[string]string
	consumerProtocol                 bool // it knows group.protocol=consumer

	version   string
	argv, env []string
}

// root is the checkout, cache the folder for what is installed.
func root() string {
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		panic(err)
	}
	return dir
}

func cache(path ...string) string {
	return filepath.Join(append([]string{root(), ".cache"}, path...)...)
}

// clients are all programs, slow ones first.
func clients() []*client {
	all := []*client{}
	for _, v := range []string{"4.4.0", "4.1.2", "3.9.2"} {
		all = append(all, &client{
			name: "kafka-clients (Java)", version: v, consumerProtocol: true,
			prepare: func() ([]string, []string, error) { return java(v) },
		})
	}
	return all
}

// installing is held while a package manager runs: they lock each other out.
var installing sync.Mutex

// command runs an installation and returns its output with its error.
func command(dir, name string, args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), "DEBIAN_FRONTEND=noninteractive")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, lastLines(strings.TrimSpace(string(out)), 5))
	}
	return nil
}

var updated sync.Once

// need installs Debian packages unless the tool is there.
func need(tool string, packages ...string) error {
	if _, err := exec.LookPath(tool); err == nil {
		return nil
	}
	return debian(packages...)
}

func debian(packages ...string) error {
	if _, err := exec.LookPath("apt-get"); err != nil || os.Getuid() != 0 {
		return fmt.Errorf("%s cannot be installed here", strings.Join(packages, ", "))
	}
	var err error
	updated.Do(func() { err = command("", "apt-get", "update", "-q") })
	if err != nil {
		return err
	}
	return command("", "apt-get", append([]string{"install", "-y", "-q", "--no-install-recommends"}, packages...)...)
}

// stale says whether what was made from the sources is missing or older than
// they are.
func stale(made string, sources ...string) bool {
	m, err := os.Stat(made)
	if err != nil {
		return true
	}
	for _, s := range sources {
		fresh := false
		_ = filepath.WalkDir(s, func(_ string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				if info, err := d.Info(); err == nil && info.ModTime().After(m.ModTime()) {
					fresh = true
				}
			}
			return nil
		})
		if fresh {
			return true
		}
	}
	return false
}

// jvm starts quickly and stays small: many run at the same time.
var jvm = []string{"java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx192m", "-Xshare:auto"}

// java builds the Java program with a version of kafka-clients.
func java(version string) (argv, env []string, err error) {
	installing.Lock()
	defer installing.Unlock()
	if err := need("mvn", "maven", "default-jdk-headless"); err != nil {
		return nil, nil, err
	}
	out, source := cache("java", version), filepath.Join(root(), "test", "java")
	jar := filepath.Join(out, "interop-1.jar")
	if stale(jar, source) {
		if err := command(source, "mvn", "-q", "-B", "-Dkafka.version="+version, "-Dout="+out, "package", "dependency:copy-dependencies"); err != nil {
			return nil, nil, err
		}
	}
	path := jar + string(os.PathListSeparator) + filepath.Join(out, "dependency", "*")
	return append(jvm[:len(jvm):len(jvm)], "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", path, "rota.interop.Client"), nil, nil
}

// setUp prepares the program and asks for its version.
func (c *client) setUp() error {
	var err error
	if c.argv, c.env, err = c.prepare(); err != nil {
		return err
	}
	p, err := start(c.argv, c.env, "version")
	if err != nil {
		return err
	}
	<-p.done
	if p.version == "" {
		return fmt.Errorf("it does not start: %s", p.problem())
	}
	c.version = p.version
	return nil
}
