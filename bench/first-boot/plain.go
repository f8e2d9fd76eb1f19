//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/u-root/u-root/pkg/cpio"

	"github.com/farrier-dev/farrier/bench/internal/program"
)

const (
	plainUUID = "6f0c2b1e-6d6a-4b5c-9a55-0a3c7d1e0201"
	plainMAC  = "52:54:00:00:02:01"
	plainPort = "8083"
	// plainReported is what the machine prints when its report was accepted.
	plainReported = "plain: reported"
)

// modules are what the card needs of Debian's cloud kernel, in the order of their dependence.
var modules = []string{"virtio_ring", "virtio", "virtio_pci_legacy_dev", "virtio_pci_modern_dev", "virtio_pci", "failover", "net_failover", "virtio_net"}

// plainScript is what iPXE boots; the kernel gets the consoles that Farrier's script gives it.
const plainScript = `#!ipxe
kernel http://%[1]s/vmlinuz initrd=initrd console=ttyS0,115200 console=tty0 consoleblank=0 panic=60
initrd --name initrd http://%[1]s/initrd
boot
`

// plainInit is /init of the plain system.
const plainInit = `#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
for m in %s; do /bin/busybox insmod /modules/$m.ko; done
/bin/busybox ip link set eth0 up
/bin/busybox udhcpc -i eth0 -q -n -s /lease
/bin/busybox wget -q -O - --post-data=booted http://%s/report > /dev/ttyS0
/bin/busybox sleep 3600
`

// plainLease is what udhcpc runs.
const plainLease = `#!/bin/busybox sh
[ "$1" != bound ] || /bin/busybox ip addr add "$ip/24" dev eth0
`

// bootPlain boots by dnsmasq and a file server.
func (b *bench) bootPlain(ctx context.Context, folder string) (seconds float64, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := neighborhood(ctx); err != nil {
		return 0, err
	}
	initramfs, err := b.plainInitramfs()
	if err != nil {
		return 0, err
	}
	at := net.JoinHostPort(hostAddress, plainPort)
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", at)
	if err != nil {
		return 0, err
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: b.plainFiles(at, initramfs)}
	go func() { _ = server.Serve(l) }()
	defer func() { _ = server.Close() }()
	dnsmasq, err := program.Start(ctx, "dnsmasq", func(string) {}, "--no-daemon", "--conf-file=/dev/null", "--port=0", "--interface="+bridge, "--bind-interfaces", "--no-ping", "--user=root",
		"--dhcp-authoritative", "--dhcp-leasefile="+filepath.Join(folder, "leases"), "--dhcp-range="+leases+",1h", "--dhcp-boot=http://"+at+"/script")
	if err != nil {
		return 0, err
	}
	defer func() { _ = dnsmasq.Kill() }()
	return boot(ctx, plainUUID, plainMAC, plainReported)
}

// plainFiles serves what the machine boots, and takes its report.
func (b *bench) plainFiles(at string, initramfs []byte) http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("GET /script", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintf(w, plainScript, at) })
	m.HandleFunc("GET /vmlinuz", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, b.kernel) })
	m.HandleFunc("GET /initrd", func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(initramfs))
	})
	m.HandleFunc("POST /report", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, plainReported) })
	return m
}

func (b *bench) plainInitramfs() ([]byte, error) {
	busybox, err := os.ReadFile(filepath.Join(b.Root, "bin", "busybox"))
	if err != nil {
		return nil, err
	}
	init := fmt.Sprintf(plainInit, strings.Join(modules, " "), net.JoinHostPort(hostAddress, plainPort))
	records := []cpio.Record{
		cpio.Directory("dev", 0o755), cpio.CharDev("dev/console", 0o600, 5, 1), cpio.CharDev("dev/null", 0o666, 1, 3), cpio.CharDev("dev/ttyS0", 0o600, 4, 64),
		cpio.Directory("proc", 0o755), cpio.Directory("bin", 0o755),
		cpio.StaticFile("bin/busybox", string(busybox), 0o755), cpio.StaticFile("init", init, 0o755), cpio.StaticFile("lease", plainLease, 0o755), cpio.Directory("modules", 0o755),
	}
	folder := filepath.Join(b.Root, "lib", "modules", strings.TrimPrefix(b.Kernel, "vmlinuz-"))
	for _, wanted := range modules {
		err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Base(path) != wanted+".ko" {
				return err
			}
			content, err := os.ReadFile(path)
			records = append(records, cpio.StaticFile("modules/"+wanted+".ko", string(content), 0o644))
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	var archive bytes.Buffer
	w := cpio.Newc.Writer(&archive)
	if err := cpio.WriteRecords(w, records); err != nil {
		return nil, err
	}
	return archive.Bytes(), cpio.WriteTrailer(w)
}
