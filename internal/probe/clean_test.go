package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farrier-dev/farrier/internal/inspection"
	"github.com/farrier-dev/farrier/internal/probe/disk"
)

// orders is a boot server that answers each registration with the next of some texts, where
// a number is a status.
type orders struct {
	*httptest.Server
	mu      sync.Mutex
	answers []string
	reports []inspection.Report
}

func newOrders(t *testing.T, answers ...string) *orders {
	t.Helper()
	o := &orders{answers: answers}
	o.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reg, err := inspection.Decode(r.Body, 1<<20)
		if err != nil {
			t.Error(err)
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		o.reports = append(o.reports, reg.Data)
		answer := ""
		if len(o.answers) > 0 {
			answer, o.answers = o.answers[0], o.answers[1:]
		}
		var status int
		if n, _ := fmt.Sscan(answer, &status); n == 1 {
			w.WriteHeader(status)
			return
		}
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(o.Close)
	return o
}

// memoryDisk is a disk of a few blocks.
type memoryDisk struct {
	mu      sync.Mutex
	content []byte
}

func (m *memoryDisk) ReadAt(p []byte, at int64) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if at >= int64(len(m.content)) {
		return 0, io.EOF
	}
	n := copy(p, m.content[at:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (m *memoryDisk) WriteAt(p []byte, at int64) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return copy(m.content[at:], p), nil
}

func (m *memoryDisk) Size() int64             { return int64(len(m.content)) }
func (m *memoryDisk) Sync() error             { return nil }
func (m *memoryDisk) Close() error            { return nil }
func (m *memoryDisk) RereadPartitions() error { return nil }

// memoryDisks are the disks of one machine.
type memoryDisks struct {
	disks  map[string]*memoryDisk
	opened int
	err    error
}

func (m *memoryDisks) Disks(context.Context) ([]disk.Disk, error) {
	var out []disk.Disk
	for path, d := range m.disks {
		out = append(out, disk.Disk{BlockDevice: inspection.BlockDevice{Path: path, Serial: "S1", WWID: "W1", SizeBytes: uint64(d.Size())}})
	}
	return out, m.err
}

func (m *memoryDisks) OpenForErase(_ context.Context, d disk.Disk) (disk.Device, error) {
	m.opened++
	return m.disks[d.Path], nil
}

func (m *memoryDisks) Inspect(ctx context.Context, d disk.Disk) (disk.Device, error) {
	return m.OpenForErase(ctx, d)
}

func oneDisk() *memoryDisks {
	return &memoryDisks{disks: map[string]*memoryDisk{"/dev/sda": {content: []byte(strings.Repeat("tenant", 2048))}}}
}

var canClean = []inspection.Capability{inspection.CapabilityCleanMetadata, inspection.CapabilityCleanFull}

// TestRunCarriesOutTheOrder: what became of the disks survives refusals of the second report,
// and an order in its answer is not carried out again.
func TestRunCarriesOutTheOrder(t *testing.T) {
	const order = `{"cleanup":{"mode":"full"}}`
	reg, c, disks := newOrders(t, "503", order, "503", "401", "503", order), newSteppingClock(), oneDisk()
	cfg := config(reg.URL, c)
	cfg.Disks = disks
	if err := Run(t.Context(), cfg, &fakeHardware{}); err != nil {
		t.Fatal(err)
	}
	if len(reg.reports) != 6 || disks.opened != 1 || strings.Contains(string(disks.disks["/dev/sda"].content), "tenant") {
		t.Fatalf("%d reports, opened %d times", len(reg.reports), disks.opened)
	}
	want := []inspection.DiskCleanup{{Path: "/dev/sda", Serial: "S1", WWID: "W1", Method: "overwrite", Result: inspection.CleanedOK}}
	for i, r := range reg.reports {
		if diff := cmp.Diff(canClean, r.Capabilities); diff != "" {
			t.Errorf("report %d: capabilities (-want +got):\n%s", i, diff)
		}
		if i < 2 && r.Cleanup != nil {
			t.Errorf("report %d: cleanup %+v", i, r.Cleanup)
		}
		if diff := cmp.Diff(want, r.Cleanup); i >= 2 && diff != "" {
			t.Errorf("report %d: cleanup (-want +got):\n%s", i, diff)
		}
	}
}

func TestRunWithoutAnOrder(t *testing.T) {
	for name, answer := range map[string]string{
		"empty": "", "text": "OK", "other": `{"status":"created"}`, "no order": `{}`, "none": `{"cleanup":{"mode":"none"}}`, "broken": `{"cleanup":7}`,
	} {
		reg, disks := newOrders(t, answer), oneDisk()
		cfg := config(reg.URL, newSteppingClock())
		cfg.Disks = disks
		if err := Run(t.Context(), cfg, &fakeHardware{}); err != nil || len(reg.reports) != 1 || disks.opened != 0 {
			t.Errorf("%s: %v, %d reports, opened %d times", name, err, len(reg.reports), disks.opened)
		}
	}
}

func TestRunThatCannotClean(t *testing.T) {
	reg := newOrders(t, `{"cleanup":{"mode":"full"}}`)
	if err := Run(t.Context(), config(reg.URL, newSteppingClock()), &fakeHardware{}); err != nil || len(reg.reports) != 1 || reg.reports[0].Capabilities != nil {
		t.Errorf("%v, reports %+v", err, reg.reports)
	}
}

// TestCleanupIsAlwaysReported: also where there is nothing to wipe, or no knowing what.
func TestCleanupIsAlwaysReported(t *testing.T) {
	for name, tc := range map[string]struct {
		disks *memoryDisks
		want  []inspection.DiskCleanup
	}{
		"no disks": {&memoryDisks{}, []inspection.DiskCleanup{}},
		"no list": {&memoryDisks{err: errors.New("sysfs is not mounted")},
			[]inspection.DiskCleanup{{Method: "none", Result: inspection.CleanedFailed, Error: "list disks: sysfs is not mounted"}}},
	} {
		reg := newOrders(t, `{"cleanup":{"mode":"metadata"}}`)
		cfg := config(reg.URL, newSteppingClock())
		cfg.Disks = tc.disks
		if err := Run(t.Context(), cfg, &fakeHardware{}); err != nil || len(reg.reports) != 2 {
			t.Fatalf("%s: %v, %d reports", name, err, len(reg.reports))
		}
		if diff := cmp.Diff(tc.want, reg.reports[1].Cleanup); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
