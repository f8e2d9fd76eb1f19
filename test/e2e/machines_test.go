package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/machinerecord"
	"github.com/farrier-dev/farrier/internal/inspection"
	"github.com/farrier-dev/farrier/test/product"
)

// machines is a product with virtual machines, and nothing else in its network namespace.
type machines struct {
	*product.Product
	t    *testing.T
	data string
	args []string
}

// newMachines starts the product as a user would: it makes network, DHCP, TFTP, discovery image and BMCs.
func newMachines(t *testing.T, args ...string) *machines {
	t.Helper()
	tabulate(t)
	loopbackUp(t)
	image, _ := kernel(t)
	m := &machines{t: t, data: filepath.Join(t.TempDir(), "data")}
	m.args = append([]string{"--discovery-root", filepath.Join(filepath.Dir(image), ".."), "--boot-address", ":8082"}, args...)
	m.Product = product.Start(t, m.data, m.args...)
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		consoles, _ := filepath.Glob(filepath.Join(m.data, "sim-vm", "*", "console.log"))
		for _, path := range consoles {
			text, _ := os.ReadFile(path)
			t.Logf("%s:\n%s", path, strings.ToValidUTF8(string(text), "?"))
		}
	})
	return m
}

// loopbackUp: a new namespace has a loopback device that is down.
func loopbackUp(t *testing.T) {
	t.Helper()
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		t.Fatal(err)
	}
	if err := netlink.LinkSetUp(lo); err != nil {
		t.Fatal(err)
	}
}

// serverName is that of a machine, counted from 1.
func serverName(number int) string { return fmt.Sprintf("sim-%04d-system-0", number) }

// await waits until a server is in a state, as long as real firmware may take.
func (m *machines) await(name string, state metalv1.ServerState) *metalv1.Server {
	m.t.Helper()
	s := &metalv1.Server{}
	m.eventually(fmt.Sprintf("server %s becomes %s", name, state), func(ctx context.Context) error {
		if err := m.Get(ctx, client.ObjectKey{Name: name}, s); err != nil {
			return err
		}
		if s.Status.State != state {
			return fmt.Errorf("it is %s: %+v", s.Status.State, s.Status.Conditions)
		}
		return nil
	})
	return s
}

// eventually is Eventually for what takes as long as a machine.
func (m *machines) eventually(what string, check func(context.Context) error) {
	m.t.Helper()
	for deadline := time.Now().Add(patience); ; {
		ctx, cancel := context.WithTimeout(m.t.Context(), 10*time.Second)
		err := check(ctx)
		cancel()
		switch {
		case err == nil:
			return
		case m.Exited():
			m.t.Fatalf("%s: the product has ended:\n%s", what, m.Log())
		case time.Now().After(deadline):
			m.t.Fatalf("%s: not within %s: %v\n%s", what, patience, err, m.Log())
		}
		<-time.After(200 * time.Millisecond)
	}
}

// TestVirtualMachines starts the product with one flag and the files of a kernel: it discovers the machines over real firmware, and what their BMCs say of them is
// what they find themselves.
func TestVirtualMachines(t *testing.T) {
	needsNamespace(t)
	if !inNamespace(t) {
		return
	}
	inFullRuns(t) // TestLife
	for name, args := range map[string][]string{
		"bios": {"--sim-vm", "1"},
		// The firmware boots the URL that only the BMC was told: without it the machine would get no secrets.
		"uefi with a TPM": {"--sim-vm", "1", "--sim-vm-firmware", "uefi+tpm", "--boot-identity", "bmc"},
	} {
		t.Run(name, func(t *testing.T) {
			begin := time.Now()
			m := newMachines(t, args...)
			s := m.await(serverName(1), metalv1.ServerStateAvailable)
			t.Logf("available after %.0f s", time.Since(begin).Seconds())
			if tpm := m.agrees(s).TPM; (tpm != nil) != strings.HasSuffix(name, "TPM") {
				t.Errorf("TPM %+v", tpm)
			}
			m.Stop()
		})
	}
}

// TestKilledDuringABoot: the product is killed while a machine boots. QEMU and the network go with it, and when it is started again on its data directory it discovers the machine anew.
func TestKilledDuringABoot(t *testing.T) {
	needsNamespace(t)
	if !inNamespace(t) {
		return
	}
	inFullRuns(t) // it takes minutes until a machine that went off is booted again
	// A machine that goes off is switched on again when it has been silent for some minutes, half of this time at most.
	m := newMachines(t, "--sim-vm", "1", "--discovery-timeout", "6m")
	m.eventually("the machine boots", func(context.Context) error {
		text, err := os.ReadFile(filepath.Join(m.data, "sim-vm", "sim-0001", "console.log"))
		if err != nil || !strings.Contains(string(text), "iPXE initialising devices") {
			return fmt.Errorf("its console has %d bytes, %v", len(text), err)
		}
		return nil
	})
	qemu := m.qemu()
	if len(qemu) != 1 {
		t.Fatalf("processes of QEMU: %v", qemu)
	}
	m.Kill()
	product.Eventually(t, "QEMU ends with the product", func(context.Context) error {
		if left := m.qemu(); len(left) > 0 {
			return fmt.Errorf("process %v is there", left)
		}
		return nil
	})
	begin := time.Now()
	m.Product = product.Start(t, m.data, m.args...)
	t.Logf("ready again after %.0f s", time.Since(begin).Seconds())
	m.await(serverName(1), metalv1.ServerStateAvailable)
	t.Logf("available after %.0f s", time.Since(begin).Seconds())
	m.Stop()
	if left := m.qemu(); len(left) > 0 {
		t.Errorf("processes of QEMU after an orderly stop: %v", left)
	}
	if _, err := netlink.LinkByName("farrier-vm"); !errors.As(err, &netlink.LinkNotFoundError{}) {
		t.Errorf("the interface after an orderly stop: %v", err)
	}
}

// qemu lists the processes of QEMU that have a file of this product.
func (m *machines) qemu() []string { return qemuOf(m.data) }

// agrees compares what the BMC says of a machine with what the probe found on it, which it returns.
func (m *machines) agrees(s *metalv1.Server) inspection.Report {
	m.t.Helper()
	var record corev1.ConfigMap
	if err := m.Get(m.t.Context(), client.ObjectKey{Namespace: "farrier-system", Name: s.Name + "-inspection"}, &record); err != nil {
		m.t.Fatal(err)
	}
	registration, err := inspection.Unpack(record.BinaryData[machinerecord.Key], 4<<20)
	if err != nil {
		m.t.Fatal(err)
	}
	found := registration.Data
	system := found.SystemInfo.System
	told := []string{s.Status.Manufacturer, s.Status.Model, s.Status.SKU, s.Status.SerialNumber, s.Spec.SystemUUID}
	if diff := cmp.Diff(told, []string{system.Manufacturer, system.ProductName, system.SKUNumber, system.SerialNumber, system.UUID}); diff != "" {
		m.t.Errorf("SMBIOS (-BMC +machine):\n%s", diff)
	}
	var memory int64
	for _, d := range found.Memory {
		memory += d.SizeBytes
	}
	if told := s.Status.TotalSystemMemory; told == nil || told.Value() != memory {
		m.t.Errorf("memory: the BMC says %v, the machine %d", told, memory)
	}
	if len(found.CPU) != 1 {
		m.t.Errorf("processors: %+v", found.CPU)
	}
	if len(s.Status.Storages) == 0 {
		m.t.Fatal("the BMC tells of no disks")
	}
	for _, storage := range s.Status.Storages {
		for _, drive := range storage.Drives {
			if !slices.ContainsFunc(found.Storage, func(b inspection.BlockDevice) bool {
				return drive.Capacity != nil && uint64(drive.Capacity.Value()) == b.SizeBytes && b.Model == drive.Model && b.Serial == drive.SerialNumber
			}) {
				m.t.Errorf("disk %+v of the BMC is not among %+v", drive, found.Storage)
			}
		}
	}
	return found
}
