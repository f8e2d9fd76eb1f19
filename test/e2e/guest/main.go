//go:build linux

// Command guest is /init of the machines that package e2e boots. It runs alone on a bare kernel.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// maxIgnition is the most of an answer that is read, in bytes.
	maxIgnition = 1 << 20
	// parameter is where Ignition looks for its config on the kernel's command line.
	parameter = "ignition.config.url="
)

func main() {
	if filepath.Base(os.Args[0]) == labeller {
		return
	}
	if err := run(); err != nil {
		say("failed", err.Error())
	}
	if err := occupy(); err != nil {
		say("failed", err.Error())
	}
	say("done", "")
	unix.Sync()
	_ = unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
	select {} // PID 1 must not end
}

// say writes one line for the test to read.
func say(key, value string) { fmt.Printf("\nfarrier-e2e: %s=%s\n", key, value) }

func run() error {
	for _, m := range []struct{ kind, at string }{{"proc", "/proc"}, {"sysfs", "/sys"}} {
		if err := os.MkdirAll(m.at, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(m.kind, m.at, m.kind, 0, ""); err != nil {
			return fmt.Errorf("mount %s: %w", m.at, err)
		}
	}
	uuid, err := os.ReadFile("/sys/class/dmi/id/product_uuid")
	if err != nil {
		return err
	}
	say("uuid", strings.ToLower(string(bytes.TrimSpace(uuid))))
	marker, err := os.ReadFile("/marker")
	if err != nil {
		return err
	}
	say("marker", string(marker))
	line, err := os.ReadFile("/proc/cmdline")
	if err != nil {
		return err
	}
	if _, err := os.Stat(realIgnition); err == nil {
		return applied()
	}
	for field := range strings.FieldsSeq(string(line)) {
		if url, ok := strings.CutPrefix(field, parameter); ok {
			return ignition(url)
		}
	}
	return nil
}

// labeller is what this program is called where Ignition runs it.
const labeller = "setfiles"

// realIgnition is there in machines that apply their ignition.
const realIgnition = "/usr/bin/ignition"

// applied has Ignition find its config by the kernel's command line, and apply it to an empty system.
func applied() error {
	if err := network(); err != nil {
		return err
	}
	for _, m := range []struct{ kind, at string }{{"tmpfs", "/sysroot"}, {"devtmpfs", "/dev"}, {"tmpfs", "/run"}} {
		if err := os.MkdirAll(m.at, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(m.kind, m.at, m.kind, 0, ""); err != nil {
			return fmt.Errorf("mount %s: %w", m.at, err)
		}
	}
	// Debian's Ignition gives files the labels of SELinux, by a program that it takes from the initramfs. The system here has none.
	if err := os.MkdirAll("/sysroot/etc/selinux", 0o755); err != nil {
		return err
	}
	if err := os.WriteFile("/sysroot/etc/selinux/config", []byte("SELINUX=disabled\nSELINUXTYPE=none\n"), 0o644); err != nil {
		return err
	}
	for _, stage := range []string{"fetch", "files"} {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		cmd := exec.CommandContext(ctx, realIgnition, "--platform=metal", "--stage="+stage, "--root=/sysroot", "--config-cache=/run/ignition.json", "--log-to-stdout")
		cmd.Env = []string{"PATH=/usr/bin"}
		out, err := cmd.CombinedOutput()
		cancel()
		if err != nil {
			return fmt.Errorf("ignition, stage %s: %w\n%s", stage, err, out)
		}
	}
	return filepath.WalkDir("/sysroot/etc/farrier", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		say("file "+strings.TrimPrefix(path, "/sysroot"), fmt.Sprintf("%v %q", info.Mode(), content))
		return nil
	})
}

// ignition fetches what the command line names.
func ignition(url string) error {
	if err := network(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	client := http.DefaultClient
	authorities, err := os.ReadFile("/ca.crt")
	if err != nil {
		return err
	}
	if len(authorities) > 0 {
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(authorities)
		client = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	}
	answer, err := client.Do(req)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxIgnition))
	if err != nil {
		return err
	}
	say("ignition", fmt.Sprintf("%d sha256:%x", answer.StatusCode, sha256.Sum256(body)))
	return nil
}

// occupy fills the places of the first disk that a file names, if there is one, with its text, and never returns then: a tenant stays until somebody switches
// the machine off.
func occupy() error {
	text, err := os.ReadFile("/pattern")
	if err != nil || len(text) == 0 {
		return err
	}
	if err := unix.Mount("devtmpfs", "/dev", "devtmpfs", 0, ""); err != nil {
		return fmt.Errorf("mount /dev: %w", err)
	}
	const disk = "/dev/nvme0n1"
	file, err := os.OpenFile(disk, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	for _, at := range []int64{0, size/2 - 7, size - int64(len(text))} {
		if _, err := file.WriteAt(text, at); err != nil {
			return err
		}
	}
	if err := file.Sync(); err != nil {
		return err
	}
	say("occupied", disk)
	select {}
}

// ownAddress is that which a file names, or the one that QEMU's user network expects of its first machine.
func ownAddress() ([]byte, error) {
	text, err := os.ReadFile("/address")
	if err != nil {
		return nil, err
	}
	if len(text) == 0 {
		return []byte{10, 0, 2, 15}, nil
	}
	own, err := netip.ParseAddr(string(text))
	return own.AsSlice(), err
}

// network gives the first network card its address.
func network() error {
	order, err := os.ReadFile("/modules/order")
	if err != nil {
		return err
	}
	for name := range strings.FieldsSeq(string(order)) {
		if err := load(filepath.Join("/modules", name)); err != nil {
			return err
		}
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	address, err := unix.NewIfreq("eth0")
	if err != nil {
		return err
	}
	own, err := ownAddress()
	if err != nil {
		return err
	}
	if err := address.SetInet4Addr(own); err != nil {
		return err
	}
	// The address brings the netmask of its old class, which covers the network.
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFADDR, address); err != nil {
		return fmt.Errorf("address of eth0: %w", err)
	}
	flags, err := unix.NewIfreq("eth0")
	if err != nil {
		return err
	}
	flags.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, flags); err != nil {
		return fmt.Errorf("eth0 up: %w", err)
	}
	return nil
}

func load(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.FinitModule(int(f.Fd()), "", 0); err != nil {
		return fmt.Errorf("module %s: %w", path, err)
	}
	return nil
}
