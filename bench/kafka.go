package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// kafkaVersion is the release that is measured.
const kafkaVersion = "4.4.0"

// kafkaJars fetches the release with Maven, once, and returns its class path.
var kafkaJars = sync.OnceValues(func() (string, error) {
	libs, err := filepath.Abs(filepath.Join("..", ".cache", "kafka", kafkaVersion))
	if err != nil {
		return "", err
	}
	done := filepath.Join(libs, "complete")
	if _, err := os.Stat(done); err == nil {
		return filepath.Join(libs, "*"), nil
	}
	cmd := exec.Command("mvn", "-q", "-B", "-f", filepath.Join("..", "test", "kafka", "pom.xml"),
		"-Dkafka.version="+kafkaVersion, "-DoutputDirectory="+libs, "dependency:copy-dependencies")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("fetch Apache Kafka with Maven: %w: %s", err, out[max(0, len(out)-1000):])
	}
	return filepath.Join(libs, "*"), os.WriteFile(done, nil, 0o644)
})

// performance is what Kafka's start script gives the virtual machine.
var performance = []string{
	"-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35",
	"-XX:+ExplicitGCInvokesConcurrent", "-XX:MaxInlineLevel=15", "-Djava.awt.headless=true",
}

// java is a class of the release with its arguments.
func java(heap []string, args ...string) (*exec.Cmd, error) {
	jars, err := kafkaJars()
	if err != nil {
		return nil, err
	}
	if _, err := exec.LookPath("java"); err != nil {
		return nil, err
	}
	all := append(append(append([]string{}, performance...), heap...), "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", jars)
	return exec.Command("java", append(all, args...)...), nil
}

func kafkaCommand(b *running) (*exec.Cmd, error) {
	return java([]string{"-Xms" + b.o.heap, "-Xmx" + b.o.heap}, "kafka.Kafka", b.kafkaConfig())
}

func (b *running) kafkaConfig() string { return filepath.Join(b.dir, "server.properties") }

// formatKafka writes the settings of a single node that is broker and
// controller, and formats its folder. What is not needed for a single node or
// for a folder of its own is as in the release's server.properties, whose
// partition count and socket buffers are here too.
func formatKafka(b *running) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	controller := l.Addr().String()
	l.Close()
	lines := []string{
		"process.roles=broker,controller", "node.id=1", "controller.quorum.voters=1@" + controller,
		"listeners=PLAINTEXT://" + b.addr + ",CONTROLLER://" + controller,
		"advertised.listeners=PLAINTEXT://" + b.addr,
		"controller.listener.names=CONTROLLER", "inter.broker.listener.name=PLAINTEXT",
		"listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
		"log.dirs=" + b.data(), "num.partitions=1", "num.network.threads=3", "num.io.threads=8",
		"socket.send.buffer.bytes=102400", "socket.receive.buffer.bytes=102400", "socket.request.max.bytes=104857600",
		"offsets.topic.replication.factor=1", "transaction.state.log.replication.factor=1", "transaction.state.log.min.isr=1",
		"share.coordinator.state.topic.replication.factor=1", "share.coordinator.state.topic.min.isr=1",
		"group.initial.rebalance.delay.ms=0",
	}
	if b.mode == flushed {
		lines = append(lines, "log.flush.interval.messages=1")
	}
	lines = append(lines, b.set...)
	if err := os.WriteFile(b.kafkaConfig(), []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		return err
	}
	cmd, err := java([]string{"-XX:TieredStopAtLevel=1", "-Xmx128m"}, "kafka.tools.StorageTool", "format", "-t", "MkU3OEVBNTcwNTJENDM2Qg", "-c", b.kafkaConfig())
	if err != nil {
		return err
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("format Kafka's folder: %w: %s", err, out)
	}
	return nil
}
