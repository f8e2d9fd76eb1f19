//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// patience is how long a machine may take: a limit against hanging.
const patience = 5 * time.Minute

// serial collects what a machine prints, and notices a text.
type serial struct {
	text  []byte
	seen  chan struct{}
	mu    sync.Mutex
	all   bytes.Buffer
	found bool
}

func (s *serial) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all.Write(p)
	if !s.found && bytes.Contains(s.all.Bytes(), s.text) {
		s.found = true
		close(s.seen)
	}
	return len(p), nil
}

func (s *serial) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.String()
}

// boot switches a machine on, waits until it prints a text, and says how many seconds that took.
func boot(ctx context.Context, uuid, mac, text string) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	s := &serial{text: []byte(text), seen: make(chan struct{})}
	cmd := exec.CommandContext(ctx, "qemu-system-x86_64", "-accel", "tcg", "-machine", "q35", "-m", "512", "-nographic", "-no-reboot", "-uuid", uuid,
		"-netdev", "tap,id=n0,ifname="+tap+",script=no,downscript=no", "-device", "virtio-net-pci,netdev=n0,bootindex=0,mac="+mac, "-device", "virtio-rng-pci")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Stdout, cmd.Stderr = s, s
	on := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	defer func() {
		cancel()
		<-ended
	}()
	select {
	case <-s.seen:
		return time.Since(on).Seconds(), nil
	case <-ended:
		return 0, fmt.Errorf("the machine has not printed %q:\n%s", text, s)
	}
}
