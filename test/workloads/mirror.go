package workloads

import (
	"os"
	"path/filepath"

	"rota/test/install"
)

// InstallMirror fetches MirrorMaker 2 and returns its class path.
func InstallMirror() (string, error) {
	install.Lock.Lock()
	defer install.Lock.Unlock()
	if err := install.Need("mvn", "maven", "default-jdk-headless"); err != nil {
		return "", err
	}
	pom, home := filepath.Join(install.Root(), "test", "workloads", "mirror", "pom.xml"), install.Cache("mirror")
	if done := filepath.Join(home, "complete"); install.Stale(done, pom) {
		err := install.Run("", "mvn", "-q", "-B", "-f", pom, "-DoutputDirectory="+home, "dependency:copy-dependencies")
		if err == nil {
			err = os.WriteFile(done, nil, 0o644)
		}
		if err != nil {
			return "", err
		}
	}
	return filepath.Join(home, "*"), nil
}
