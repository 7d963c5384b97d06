package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// serveKfake is franz-go's broker for tests in a process of its own, the
// nearest peer written in Go. Its arguments are address, folder, durability.
func serveKfake(args []string) error {
	_, port, err := net.SplitHostPort(args[0])
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		return err
	}
	opts := []kfake.Opt{kfake.Ports(n), kfake.DataDir(args[1])}
	if durability(args[2]) == flushed {
		opts = append(opts, kfake.SyncWrites())
	}
	c, err := kfake.NewCluster(opts...)
	if err != nil {
		return err
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	<-stop
	c.Close()
	os.Exit(0)
	return nil
}

// serveEcho is a bare TCP server: it reads frames and answers each with the
// response to a heartbeat, and does nothing else. It is the ceiling for
// anything that answers requests one by one.
func serveEcho() error {
	l, err := net.Listen("tcp", os.Getenv("BENCH_ADDR"))
	if err != nil {
		return err
	}
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer c.Close()
			_ = echo(c)
		}()
	}
}

func echo(c net.Conn) error {
	resp := kmsg.NewPtrHeartbeatResponse()
	resp.Version = 3
	reply := resp.AppendTo(make([]byte, 8))
	binary.BigEndian.PutUint32(reply, uint32(len(reply)-4))
	r := bufio.NewReader(c)
	frame := make([]byte, 4096)
	for {
		if _, err := io.ReadFull(r, frame[:4]); err != nil {
			return err
		}
		n := binary.BigEndian.Uint32(frame)
		if int(n) > len(frame) || n < 8 {
			return fmt.Errorf("a frame of %d bytes", n)
		}
		if _, err := io.ReadFull(r, frame[:n]); err != nil {
			return err
		}
		copy(reply[4:8], frame[4:8]) // the correlation id
		if _, err := c.Write(reply); err != nil {
			return err
		}
	}
}
