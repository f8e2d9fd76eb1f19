package e2e

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"

	"github.com/farrier-dev/farrier/internal/bootserver"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/bootview/booturl"
	"github.com/farrier-dev/farrier/internal/sim"
	emulator "github.com/farrier-dev/farrier/internal/sim/vm"
)

const computerURL = "http://192.168.177.1:8082"

// TestComputer: a virtual machine whose guest restarts itself starts its firmware again, without an override that was for one boot; one whose guest switches itself off is off; and
// one whose process dies is off, and says so.
func TestComputer(t *testing.T) {
	needsNamespace(t)
	if !inNamespace(t) {
		return
	}
	inFullRuns(t) // TestLife
	tabulate(t)
	loopbackUp(t)
	settings := emulator.Settings{
		Machines: 1, Kinds: []emulator.Kind{{Firmware: emulator.UEFI}}, MemoryMiB: 512, Disks: []int64{16 << 20},
		Network: netip.MustParsePrefix("192.168.177.1/24"), Dir: t.TempDir(), Logger: testr.New(t),
	}
	if err := settings.Check(); err != nil {
		t.Fatal(err)
	}
	rack, err := emulator.Open(settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := rack.Close(); err != nil {
			t.Error(err)
		}
	})
	if again, err := emulator.Open(settings); err == nil {
		_ = again.Close()
		t.Error("a second rack shares the interface of the first")
	}
	script := scriptOf(t)
	machine := rack.New(sim.Chassis{
		Name: "sim-0001", UUID: segmentUUID, Serial: "S1", Manufacturer: "Anvil Systems", Model: "VM", MAC: "02:fa:45:00:00:01", MemoryMiB: 512,
		Disks: []sim.ChassisDisk{{Serial: "D1", Bytes: 16 << 20}},
	})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	script("#!ipxe\nreboot\n")
	var boots int
	err = machine.Run(ctx, func() sim.Boot {
		if boots++; boots == 2 {
			script("#!ipxe\nkernel " + computerURL + "/guest/linux initrd=guest console=ttyS0,115200\ninitrd --name guest " + computerURL + "/guest/initramfs\nboot\n")
		}
		return networkBoot
	}, func() {})
	if err != nil || boots != 2 {
		t.Errorf("after %d starts of the firmware: %v", boots, err)
	}
	console := filepath.Join(settings.Dir, "sim-0001", "console.log")
	printed, err := os.ReadFile(console)
	if err != nil || !inOrder(string(printed), "iPXE 1.", "farrier-e2e: done=") || strings.Contains(string(printed), triesDisk) {
		t.Errorf("the override is the network, and the console says, %v:\n%s", err, printed)
	}

	script("#!ipxe\nsleep 3600\n")
	err = machine.Run(ctx, func() sim.Boot { return networkBoot }, func() { killQEMU(t, settings.Dir) })
	if err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("a machine whose process was killed: %v", err)
	}

	// This time the disk comes first, on which there is nothing, and the power is cut once the network comes after it.
	if err := os.Remove(console); err != nil {
		t.Fatal(err)
	}
	disk := networkBoot
	disk.Override.Target = sim.BootDisk
	off, cut := context.WithCancel(ctx)
	go func() {
		defer cut()
		for ctx.Err() == nil {
			if text, _ := os.ReadFile(console); strings.Contains(string(text), "iPXE 1.") {
				return
			}
			<-time.After(100 * time.Millisecond)
		}
	}()
	if err := machine.Run(off, func() sim.Boot { return disk }, func() {}); err != nil {
		t.Errorf("a machine whose power was cut: %v", err)
	}
	if text, err := os.ReadFile(console); !inOrder(string(text), triesDisk, "iPXE 1.") {
		t.Errorf("the override is the disk, and the console says, %v:\n%s", err, text)
	}
	if left := qemuOf(settings.Dir); len(left) > 0 {
		t.Errorf("processes of QEMU of a machine that is off: %v", left)
	}
}

// triesDisk is what OVMF says of a disk that it cannot boot.
const triesDisk = `failed to load Boot0001 "UEFI QEMU NVMe Ctrl`

// inOrder reports whether a text has one part and then another.
func inOrder(text, first, then string) bool {
	at := strings.Index(text, first)
	return at >= 0 && strings.Contains(text[at:], then)
}

var networkBoot = sim.Boot{Override: sim.BootOverride{Enabled: "Once", Target: sim.BootPXE, Mode: sim.ModeUEFI}, Order: []sim.BootTarget{sim.BootPXE, sim.BootDisk}}

// scriptOf serves a machine on the network of virtual machines, with the boot script that the test sets.
func scriptOf(t *testing.T) (set func(string)) {
	t.Helper()
	sites, err := booturl.Parse([]string{computerURL})
	if err != nil {
		t.Fatal(err)
	}
	view := bootview.New()
	view.SetSynced(true)
	boot, err := bootserver.New(bootserver.Config{View: view, Sites: sites, Logger: testr.New(t)})
	if err != nil {
		t.Fatal(err)
	}
	runService(t, boot, t.TempDir(), "--dhcp=server --dhcp-interface="+emulator.Interface+" --dhcp-range=192.168.177.2-192.168.177.9")
	l, err := net.Listen("tcp", strings.TrimPrefix(computerURL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/", boot)
	for name, content := range map[string][]byte{"linux": kernelImage(t), "initramfs": initramfs(t, "computer")} {
		mux.HandleFunc("/guest/"+name, func(w http.ResponseWriter, r *http.Request) {
			http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(content))
		})
	}
	web := &http.Server{ReadHeaderTimeout: time.Minute, Handler: mux}
	go func() { _ = web.Serve(l) }()
	t.Cleanup(func() { _ = web.Close() })
	return func(script string) {
		view.Put(bootview.Entry{Name: "IPXEBootConfig/ns/a", UUID: segmentUUID, Rank: bootview.HandWritten, Script: bootview.CustomScript([]byte(script))})
	}
}

// killQEMU kills the process that has a file of a folder.
func killQEMU(t *testing.T, folder string) {
	t.Helper()
	processes := qemuOf(folder)
	if len(processes) != 1 {
		t.Errorf("processes of QEMU: %v", processes)
		return
	}
	pid, err := strconv.Atoi(filepath.Base(filepath.Dir(processes[0])))
	if err == nil {
		err = syscall.Kill(pid, syscall.SIGKILL)
	}
	if err != nil {
		t.Error(err)
	}
}

// qemuOf lists the processes of QEMU that have a file of a folder.
func qemuOf(folder string) (processes []string) {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range lines {
		line, _ := os.ReadFile(path) // a process that has gone meanwhile
		if strings.HasPrefix(string(line), "qemu-system-") && strings.Contains(string(line), folder) {
			processes = append(processes, path)
		}
	}
	return processes
}
