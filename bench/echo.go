package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// serveEcho is a bare TCP server in a process of its own: it reads frames and
// answers each with a heartbeat's response, and does nothing else. It is the
// ceiling for anything that answers requests one by one. It prints its address.
func serveEcho() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
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

// runEcho compares heartbeats with the bare server, in turn, three times.
func runEcho(ctx context.Context, o *options, t target) ([]result, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, "-echo")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	addr, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, err
	}
	beat := (&member{group: "echo", id: "a-member-id-of-the-usual-length-00000000-0000-0000"}).beat()
	var all []result
	for range 3 {
		bare, err := closedLoop(strings.TrimSpace(addr), 64, o.d, cmd.Process.Pid, func(int) kmsg.Request { return beat },
			func(resp kmsg.Response) error {
				return kerr.ErrorForCode(resp.(*kmsg.HeartbeatResponse).ErrorCode)
			})
		if err != nil {
			return all, err
		}
		bare.Name = "bare TCP echo, 64 connections"
		beats, err := runHeartbeat(ctx, o, t)
		if err != nil {
			return all, err
		}
		beats[0].Detail = fmt.Sprintf("%.2f of the bare echo", beats[0].Rate/bare.Rate)
		all = append(all, bare, beats[0])
	}
	return all, nil
}
