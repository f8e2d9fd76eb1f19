package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// firmware is how a machine starts, and from where.
type firmware int

const (
	biosIPXE   firmware = iota // SeaBIOS, which runs the iPXE of the network card
	uefiIPXE                   // OVMF, which runs the iPXE of the network card as a driver
	uefiHTTP                   // OVMF's own HTTP boot (UEFI 2.10 §24.7); the card has no iPXE
	uefiSecure                 // the same with Secure Boot, and the snakeoil key of the package ovmf in its database
	uefiPXE                    // OVMF's own PXE, over TFTP; the card has no iPXE
	armHTTP                    // AAVMF's HTTP boot, on ARM64; the card has no iPXE
)

// patience is how long a machine may take to say what is awaited. Software emulation on a busy machine is slow;
// a limit against hanging, not a measurement.
const patience = 8 * time.Minute

// printout collects what a program prints while others read it.
type printout struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (p *printout) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

func (p *printout) printed() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// vm is a machine of QEMU, and its serial line.
type vm struct {
	printout
	t      *testing.T
	on     time.Time     // when it was switched on
	took   time.Duration // until it had done last what was awaited
	exited chan struct{}
}

// identity is what a machine says of itself in SMBIOS (DSP0134 §7.2).
type identity struct{ uuid, serial string }

// power switches a machine on. bootfile is the URL that its DHCP server names.
func power(t *testing.T, how firmware, who identity, bootfile string) *vm {
	t.Helper()
	return start(t, how, who, ",bootfile="+bootfile, ",bootindex=0", nvram{})
}

// powerWith switches a machine on whose firmware finds these variables. Its DHCP server names nothing to boot.
func powerWith(t *testing.T, how firmware, who identity, variables nvram) *vm {
	t.Helper()
	return start(t, how, who, "", "", variables)
}

// start switches a machine on that is on QEMU's user network.
func start(t *testing.T, how firmware, who identity, dhcp, order string, variables nvram, more ...string) *vm {
	t.Helper()
	return startOn(t, how, who, "user,id=n0"+dhcp, "virtio-net-pci,netdev=n0"+order, "", variables, more...)
}

// startOn switches a machine on that has this network and this card. family is that of the IP addresses which the firmware's own PXE asks for.
func startOn(t *testing.T, how firmware, who identity, network, card, family string, variables nvram, more ...string) *vm {
	t.Helper()
	args := []string{
		"-accel", "tcg", "-m", "512", "-nographic", "-no-reboot",
		"-uuid", who.uuid, "-smbios", "type=1,manufacturer=Emulated,uuid=" + who.uuid + ",serial=" + who.serial,
		"-netdev", network, "-device", "virtio-rng-pci",
	}
	switch how {
	case uefiSecure:
		args = append(args, "-machine", "q35,smm=on", "-global", "driver=cfi.pflash01,property=secure,value=on")
		args = append(args, flash(t, "/usr/share/OVMF/OVMF_CODE_4M.secboot.fd", "/usr/share/OVMF/OVMF_VARS_4M.snakeoil.fd", variables)...)
	case armHTTP:
		args = append(args, "-machine", "virt", "-cpu", "cortex-a72")
		args = append(args, flash(t, "/usr/share/AAVMF/AAVMF_CODE.fd", "/usr/share/AAVMF/AAVMF_VARS.fd", variables)...)
	case uefiHTTP, uefiIPXE, uefiPXE:
		args = append(args, "-machine", "q35")
		args = append(args, ovmf(t, variables)...)
	default:
		args = append(args, "-machine", "q35")
	}
	if how != biosIPXE && how != uefiIPXE {
		card += ",romfile="
		for _, other := range []string{"IPv4", "IPv6"} { // else each is tried in its turn, for minutes
			if other != family {
				args = append(args, "-fw_cfg", fmt.Sprintf("name=opt/org.tianocore/%sPXESupport,string=n", other))
			}
		}
	}
	program := "qemu-system-x86_64"
	if how == armHTTP {
		program = "qemu-system-aarch64"
	}
	return run(t, program, append(append(args, "-device", card), more...), who.uuid)
}

// run starts QEMU.
func run(t *testing.T, program string, args []string, uuid string) *vm {
	t.Helper()
	m := &vm{t: t, on: time.Now(), exited: make(chan struct{})}
	capture := filepath.Join(t.TempDir(), "capture.pcap")
	args = append(args, "-object", "filter-dump,id=capture,netdev=n0,maxlen=256,file="+capture)
	cmd := exec.Command(program, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Stdout, cmd.Stderr = m, m
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v (Debian packages qemu-system-x86, ipxe-qemu; qemu-system-arm)", err)
	}
	go func() {
		_ = cmd.Wait()
		close(m.exited)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-m.exited
		m.account(uuid, capture)
	})
	return m
}

// ovmf is the firmware with settings of this machine's own.
func ovmf(t *testing.T, variables nvram) []string {
	t.Helper()
	return flash(t, "/usr/share/OVMF/OVMF_CODE_4M.fd", "/usr/share/OVMF/OVMF_VARS_4M.fd", variables)
}

// flash is a firmware of the packages ovmf and qemu-efi-aarch64, with a copy of its variables.
func flash(t *testing.T, code, vars string, variables nvram) []string {
	t.Helper()
	store, err := os.ReadFile(vars)
	if err != nil {
		t.Fatalf("%v (Debian packages ovmf, qemu-efi-aarch64)", err)
	}
	if variables.bootURL != "" || variables.trusted != nil {
		variables.writeTo(t, store)
	}
	own := filepath.Join(t.TempDir(), "vars.fd")
	if err := os.WriteFile(own, store, 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"-drive", "if=pflash,format=raw,readonly=on,file=" + code, "-drive", "if=pflash,format=raw,file=" + own}
}

// prints waits for a text on the serial line.
func (m *vm) prints(text string) {
	m.t.Helper()
	defer m.reached()
	deadline := time.After(patience)
	for !strings.Contains(m.printed(), text) {
		select {
		case <-time.After(100 * time.Millisecond):
		case <-m.exited:
			m.t.Fatalf("the machine went off without having printed %q", text)
		case <-deadline:
			m.t.Fatalf("the machine has not printed %q within %s", text, patience)
		}
	}
}

// says waits for a line of the guest and returns its value.
func (m *vm) says(key string) string {
	m.t.Helper()
	deadline := time.After(patience)
	for {
		if value, ok := m.said(key); ok {
			m.reached()
			return value
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-m.exited:
			if value, ok := m.said(key); ok {
				m.reached()
				return value
			}
			m.t.Fatalf("the machine went off without having said %q", key)
		case <-deadline:
			m.t.Fatalf("the machine has not said %q within %s", key, patience)
		}
	}
}

func (m *vm) said(key string) (string, bool) {
	for line := range strings.Lines(m.printed()) {
		if value, ok := strings.CutPrefix(line, fmt.Sprintf("farrier-e2e: %s=", key)); ok && strings.HasSuffix(value, "\n") {
			return strings.TrimSpace(value), true
		}
	}
	return "", false
}

// goesOff waits until the machine has switched itself off.
func (m *vm) goesOff() {
	m.t.Helper()
	select {
	case <-m.exited:
	case <-time.After(patience):
		m.t.Fatalf("the machine is still on after %s", patience)
	}
}
