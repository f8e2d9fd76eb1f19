package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/farrier-dev/farrier/bench/internal/child"
)

// insideVariable says that this process is in the namespace that the product is in.
const insideVariable = "FARRIER_BENCH_NETNS"

// The two ends of the segment: the product's, and that of the relay whose machines ask.
const (
	serverLink, relayLink       = "segment0", "machines0"
	serverAddress, relayAddress = "10.9.0.1", "10.9.0.2"
	bits                        = "/16"
)

// errNoNamespace: this user may not have one.
var errNoNamespace = errors.New("a network namespace cannot be had; run it as root, or allow unprivileged user namespaces")

func insideNamespace() bool { return os.Getenv(insideVariable) != "" }

// runInside runs this benchmark in a network namespace, as root of a user namespace.
func runInside(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	// Some systems let everybody have a namespace, and nobody do anything there.
	for _, command := range []string{"ip link add probe0 type veth peer name probe1", "ip link set lo up"} {
		words := strings.Fields(command)
		if out, err := inside(exec.CommandContext(ctx, words[0], words[1:]...)).CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s: %w: %s", errNoNamespace, command, err, out)
		}
	}
	cmd := inside(exec.CommandContext(ctx, self, os.Args[1:]...))
	cmd.Env = append(os.Environ(), insideVariable+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return cmd.Run()
}

// inside has a command run in a network namespace of its own.
func inside(cmd *exec.Cmd) *exec.Cmd {
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}, GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	return cmd
}

// startMachines makes the segment and starts the process of the machines at its other end.
func startMachines(ctx context.Context) (_ *child.Process, err error) {
	if err := link(ctx, "link set lo up", "link add "+serverLink+" type veth peer name "+relayLink, "addr add "+serverAddress+bits+" dev "+serverLink, "link set "+serverLink+" up"); err != nil {
		return nil, err
	}
	p, err := child.Start(ctx, roleMachines)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Stop())
		}
	}()
	var a loadAnswer
	if err := p.Ask(request{}, &a); err != nil {
		return nil, err
	}
	if err := link(ctx, fmt.Sprintf("link set %s netns %d", relayLink, a.Thread)); err != nil {
		return nil, err
	}
	return p, p.Ask(request{Joined: true}, &a)
}

// leaveNamespace has this goroutine, and what it starts and opens, in a network namespace of its own.
func leaveNamespace() error {
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("network namespace: %w", err)
	}
	return nil
}

// dropped is how many packets to a port the kernel has thrown away in the namespace of this thread, because nobody took them in time (proc_net_udp(5)).
func dropped(port int) (n int, err error) {
	table, err := os.ReadFile("/proc/thread-self/net/udp")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(table)) {
		fields := strings.Fields(line)
		if len(fields) < 13 || !strings.HasSuffix(fields[1], fmt.Sprintf(":%04X", port)) {
			continue
		}
		of, err := strconv.Atoi(fields[12])
		if err != nil {
			return 0, fmt.Errorf("drops of port %d: %w", port, err)
		}
		n += of
	}
	return n, nil
}

// link runs commands of ip.
func link(ctx context.Context, commands ...string) error {
	for _, command := range commands {
		if out, err := exec.CommandContext(ctx, "ip", strings.Fields(command)...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %s: %w: %s (Debian package iproute2)", command, err, out)
		}
	}
	return nil
}
