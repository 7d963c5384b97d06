package interop

import (
	"fmt"
	"os"
	"path/filepath"

	"rota/test/install"
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
