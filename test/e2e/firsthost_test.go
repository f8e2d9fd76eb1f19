package e2e

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"

	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/internal/sim/fault"
	emulator "github.com/farrier-dev/farrier/internal/sim/vm"
	"github.com/farrier-dev/farrier/test/product"
)

// firstHost is a host of its own: namespaces, a file system that is this machine's with changes in memory, and systemd.
type firstHost struct {
	t   *testing.T
	pid int // of systemd, as this process sees it
}

const hostNamespaces = syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC | syscall.CLONE_NEWCGROUP

// newFirstHost switches the host on.
func newFirstHost(t *testing.T) *firstHost {
	t.Helper()
	image, _ := kernel(t)
	directories, err := exec.Command("go", "env", "GOROOT", "GOMODCACHE", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{t.TempDir(), filepath.Join(filepath.Dir(image), ".."), tree(t)}
	cmd := exec.Command("testdata/first-rack/host.sh", append(args, strings.Fields(string(directories))...)...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: hostNamespaces}
	ended, err := startWithThread(cmd)
	if err != nil {
		t.Fatal(err)
	}
	h := &firstHost{t: t, pid: cmd.Process.Pid}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the journal of Farrier:\n%s", h.try("journalctl --unit farrier --no-pager"))
		}
		_ = cmd.Process.Kill() // with all processes of the host: it is the first of them
		<-ended
	})
	product.Eventually(t, "systemd runs", func(context.Context) error {
		select {
		case <-ended:
			t.Fatalf("the host has ended: %s", said.String())
		default:
		}
		if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", h.pid)); err != nil || filepath.Base(exe) != "systemd" {
			return fmt.Errorf("the first process is %s, %v", exe, err)
		}
		if state := h.try("systemctl is-system-running"); !strings.Contains(state, "running") && !strings.Contains(state, "degraded") {
			return fmt.Errorf("it is %s", state)
		}
		return nil
	})
	return h
}

// startWithThread starts a program that the kernel kills when this one dies. To the kernel that is the death of the thread which started it (prctl(2), PR_SET_PDEATHSIG), and
// threads come and go; so this one waits for the end, which the channel tells.
func startWithThread(cmd *exec.Cmd) (<-chan error, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	started, ended := make(chan error, 1), make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: it ends with the program
		defer close(ended)
		err := cmd.Start()
		started <- err
		if err == nil {
			ended <- cmd.Wait()
		}
	}()
	return ended, <-started
}

// tree is the root of this repository.
func tree(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// command is one that runs on the host.
func (h *firstHost) command(script string) *exec.Cmd {
	cmd := exec.CommandContext(h.t.Context(), "nsenter", "--target", strconv.Itoa(h.pid), "--mount", "--pid", "--net", "--uts", "--ipc", "--cgroup", "bash", "-euo", "pipefail", "-c", "cd /root\n"+script)
	cmd.Env = append(os.Environ(), "FARRIER_FIRST_RACK_TREE="+tree(h.t), "FARRIER_FIRST_RACK_UNPACKED="+filepath.Join(tree(h.t), "bin", "e2e"))
	return cmd
}

func (h *firstHost) run(script string) string {
	h.t.Helper()
	cmd := h.command(script)
	var problem bytes.Buffer
	cmd.Stderr = &problem
	out, err := cmd.Output()
	if err != nil {
		h.t.Fatalf("%s: %v\n%s%s", script, err, out, problem.String())
	}
	return string(out)
}

// try returns what a command prints, however it ends, also after the test.
func (h *firstHost) try(script string) string {
	cmd := h.command(script)
	out, _ := exec.Command(cmd.Path, cmd.Args[1:]...).CombinedOutput()
	return string(out)
}

// plug moves network interfaces to the host.
func (h *firstHost) plug(cables ...string) {
	h.t.Helper()
	for _, name := range cables {
		ip(h.t, "link set "+name+" netns "+strconv.Itoa(h.pid))
	}
}

// following is a script that runs on the host.
type following struct {
	printout
	t      *testing.T
	ended  chan struct{}
	result error
}

// follow runs a script, which ends with the first command that fails.
func (h *firstHost) follow(script string) *following {
	h.t.Helper()
	f := &following{t: h.t, ended: make(chan struct{})}
	cmd := h.command("set -x\n" + script)
	cmd.Stdout, cmd.Stderr = f, f
	ended, err := startWithThread(cmd)
	if err != nil {
		h.t.Fatal(err)
	}
	go func() {
		f.result = <-ended
		close(f.ended)
	}()
	h.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-f.ended
		if h.t.Failed() {
			h.t.Logf("the commands printed:\n%s", f.printed())
		}
	})
	return f
}

// reaches waits until the script prints a line.
func (f *following) reaches(line string) {
	f.t.Helper()
	deadline := time.After(patience)
	for !strings.Contains(f.printed(), "\n"+line+"\n") {
		select {
		case <-f.ended:
			f.t.Fatalf("the commands ended before %q: %v", line, f.result)
		case <-deadline:
			f.t.Fatalf("the commands have not come to %q within %s", line, patience)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// ends waits until all commands have succeeded.
func (f *following) ends() {
	f.t.Helper()
	select {
	case <-f.ended:
		if f.result != nil {
			f.t.Fatalf("the commands failed: %v", f.result)
		}
	case <-time.After(patience):
		f.t.Fatalf("the commands have not ended within %s", patience)
	}
}

// firstRack are virtual machines and their BMCs, and the cables that lead to a host.
type firstRack struct {
	t      *testing.T
	bmcs   []*firstBMC
	vms    *emulator.Rack
	cables []string
}

// firstBMC is a BMC of Dell as it is delivered.
type firstBMC struct {
	mac  [6]byte
	rack *sim.Rack // nil: it has no address yet
}

const (
	managementBridge = "bmcs"
	machinesBridge   = "machines"
	// Addresses of the other DHCP server, where there is one.
	otherManagement, otherMachines = "10.1.0.2/24", "10.2.0.2/24"
)

// newFirstRack makes the two networks of the page.
func newFirstRack(t *testing.T, firmware string) *firstRack {
	t.Helper()
	kinds, err := emulator.ParseKinds(firmware)
	if err != nil {
		t.Fatal(err)
	}
	r := &firstRack{t: t, cables: []string{"eth1", "eth2"}}
	for i := range 2 {
		r.bmcs = append(r.bmcs, &firstBMC{mac: [6]byte{0xd0, 0x94, 0x66, 0, 0, byte(i + 1)}})
	}
	settings := emulator.Settings{Machines: len(r.bmcs), Kinds: kinds, MemoryMiB: 512, Disks: []int64{64 << 20}, Network: netip.MustParsePrefix(otherMachines), Dir: t.TempDir(), Logger: testr.New(t)}
	if err := settings.Check(); err != nil {
		t.Fatal(err)
	}
	if r.vms, err = emulator.Open(settings); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.off)
	ip(t, "addr flush dev "+emulator.Interface)
	for i, bridge := range []string{managementBridge, machinesBridge} {
		ip(t, "link add "+bridge+" type bridge forward_delay 0")
		t.Cleanup(func() { ip(t, "link del "+bridge) })
		ip(t, fmt.Sprintf("link add %s type veth peer name port%d", r.cables[i], i))
		ip(t, fmt.Sprintf("link set port%d master %s up", i, bridge))
		ip(t, "link set "+bridge+" up")
	}
	ip(t, "link set "+emulator.Interface+" master "+machinesBridge)
	return r
}

// off ends the BMCs, and the machines with them.
func (r *firstRack) off() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, b := range r.bmcs {
		if b.rack == nil {
			continue
		}
		if err := b.rack.Stop(ctx); err != nil {
			r.t.Error(err)
		}
	}
	if err := r.vms.Close(); err != nil {
		r.t.Error(err)
	}
}

// leaseByDnsmasq has dnsmasq lease the addresses of both networks, those of BMCs as the page has them.
func (r *firstRack) leaseByDnsmasq(program string) {
	r.t.Helper()
	ip(r.t, "addr add "+otherManagement+" dev "+managementBridge)
	ip(r.t, "addr add "+otherMachines+" dev "+machinesBridge)
	var reserved []string
	for i, b := range r.bmcs {
		reserved = append(reserved, fmt.Sprintf("--dhcp-host=%s,10.1.0.%d", net.HardwareAddr(b.mac[:]), 11+i))
	}
	startDnsmasq(r.t, program, append(reserved, "--interface="+managementBridge, "--interface="+machinesBridge,
		"--dhcp-range=10.1.0.10,10.1.0.250,1h", "--dhcp-range=10.2.0.10,10.2.0.250,1h")...)
}

// takeAddresses gives power to the BMCs.
func (r *firstRack) takeAddresses() {
	r.t.Helper()
	conn := clientAt(r.t, managementBridge)
	for i, b := range r.bmcs {
		at := plugIn(r.t, conn, b.mac)
		ip(r.t, "addr add "+at.String()+"/24 dev "+managementBridge)
		computers := *r.vms.Computers()
		computers.New = func(c sim.Chassis) sim.Computer {
			c.Index, c.Name = i, fmt.Sprintf("rack-%d", i+1)
			return r.vms.New(c)
		}
		var err error
		if b.rack, err = sim.Start(r.t.Context(), sim.Options{
			Servers: 1, Address: net.JoinHostPort(at.String(), "443"), Scheme: "https", Username: "root", Password: "calvin", Seed: int64(i + 1), Vendors: []sim.Vendor{sim.Dell},
			Faults: []fault.Spec{{Kind: fault.TLSFailure, Share: 1, Value: "self-signed"}}, Timing: sim.DefaultTiming, Computers: &computers, Logger: testr.New(r.t),
		}); err != nil {
			r.t.Fatal(err)
		}
	}
}

func (r *firstRack) uuids() (all []string) {
	for _, b := range r.bmcs {
		all = append(all, b.rack.BMCs()[0].UUID)
	}
	return all
}
