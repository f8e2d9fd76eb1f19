//go:build linux

package pid1

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// DiscoverName is the name (argument 0) that the second process is started under.
const DiscoverName = "farrier-discovery"

// Is reports whether this process is /init of a discovery image. A container's first process has number 1 as well, and another name: the kernel starts
// an initramfs's under this one.
func Is() bool { return os.Getpid() == 1 && len(os.Args) > 0 && os.Args[0] == "/init" }

// Exit statuses by which the second process says what is to become of the machine.
const (
	exitPowerOff = 64 + iota
	exitReboot
)

// What is waited before the second process is started again.
const (
	firstPause = 2 * time.Second
	mostPause  = time.Minute
	// longRun is after how long a process counts as having worked.
	longRun = 5 * time.Minute
)

// mounts are the file systems that are expected. Those with optional depend on the kernel.
var mounts = []struct {
	kind, at string
	flags    uintptr
	optional bool
}{
	{"proc", "/proc", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC, false},
	{"sysfs", "/sys", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC, false},
	{"devtmpfs", "/dev", unix.MS_NOSUID, false},
	{"tmpfs", "/run", unix.MS_NOSUID | unix.MS_NODEV, false},
	{"tmpfs", "/tmp", unix.MS_NOSUID | unix.MS_NODEV, false},
	{"securityfs", "/sys/kernel/security", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC, true}, // the TPM's event log
}

// Supervise is the first process. It does not return.
func Supervise() {
	problems := mountAll()
	quieten()
	out := openConsoles()
	for _, err := range problems {
		fmt.Fprintln(out, "farrier:", err)
	}
	signalsOff()
	pause := firstPause
	for {
		started := time.Now()
		status, err := runOnce(out)
		switch {
		case err != nil:
			fmt.Fprintln(out, "farrier: the discovery program cannot be started:", err)
		case status.Exited() && status.ExitStatus() == exitPowerOff:
			end(out, "switching the machine off", unix.LINUX_REBOOT_CMD_POWER_OFF)
		case status.Exited() && status.ExitStatus() == exitReboot:
			end(out, "restarting the machine", unix.LINUX_REBOOT_CMD_RESTART)
		case status.Signaled():
			fmt.Fprintln(out, "farrier: the discovery program was ended by signal", status.Signal())
		default:
			fmt.Fprintln(out, "farrier: the discovery program has failed, exit status", status.ExitStatus())
		}
		if time.Since(started) > longRun {
			pause = firstPause
		}
		fmt.Fprintln(out, "farrier: starting it again in", pause)
		sleepReaping(pause)
		pause = min(2*pause, mostPause)
	}
}

func mountAll() []error {
	var problems []error
	for _, m := range mounts {
		if err := os.MkdirAll(m.at, 0o755); err != nil && !m.optional && !errors.Is(err, fs.ErrExist) {
			problems = append(problems, err)
		}
		if err := unix.Mount(m.kind, m.at, m.kind, m.flags, ""); err != nil && !m.optional && !errors.Is(err, unix.EBUSY) {
			problems = append(problems, fmt.Errorf("mount %s: %w", m.at, err))
		}
	}
	return problems
}

// quieten has the kernel print only what is wrong, so that a person finds our lines, and restart after a panic.
func quieten() {
	for file, value := range map[string]string{"/proc/sys/kernel/printk": "4", "/proc/sys/kernel/panic": "60"} {
		_ = os.WriteFile(file, []byte(value), 0) // a kernel without it prints more
	}
}

// signalsOff keeps Ctrl-Alt-Del from restarting a machine whose disks are being wiped.
func signalsOff() { _ = unix.Reboot(unix.LINUX_REBOOT_CMD_CAD_OFF) }

// runOnce starts the second process and reaps until it has ended.
func runOnce(out io.Writer) (syscall.WaitStatus, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		_, _ = r.Close(), w.Close()
		return 0, err
	}
	pid, err := syscall.ForkExec("/proc/self/exe", []string{DiscoverName}, &syscall.ProcAttr{
		Dir: "/", Files: []uintptr{null.Fd(), w.Fd(), w.Fd()}, Env: []string{"PATH=/", "GOTRACEBACK=single"},
	})
	_, _ = null.Close(), w.Close()
	if err != nil {
		_ = r.Close()
		return 0, err
	}
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		copyLines(out, r)
	}()
	status := reapUntil(pid)
	<-copied
	_ = r.Close()
	return status, nil
}

// copyLines copies line by line, so that a line of this process never stands within another.
func copyLines(out io.Writer, r io.Reader) {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			_, _ = io.WriteString(out, line)
		}
		if err != nil {
			return
		}
	}
}

// reapUntil waits for a child; all others that end meanwhile are orphans.
func reapUntil(pid int) syscall.WaitStatus {
	for {
		var status syscall.WaitStatus
		got, err := syscall.Wait4(-1, &status, 0, nil)
		if got == pid && err == nil && (status.Exited() || status.Signaled()) || errors.Is(err, syscall.ECHILD) {
			return status
		}
	}
}

// sleepReaping is a pause after which no orphan is left.
func sleepReaping(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	<-timer.C
	for {
		var status syscall.WaitStatus
		if got, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil); got <= 0 || err != nil {
			return
		}
	}
}

// end ends the machine. Should the kernel not do it, the caller goes on.
func end(out io.Writer, text string, command int) {
	fmt.Fprintln(out, "farrier:", text)
	unix.Sync()
	sleepReaping(time.Second) // for the consoles to have printed it
	if err := unix.Reboot(command); err != nil {
		fmt.Fprintln(out, "farrier: the kernel refuses:", err)
	}
}
