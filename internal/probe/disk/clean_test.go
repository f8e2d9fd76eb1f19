package disk

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farrier-dev/farrier/internal/inspection"
)

func TestNothingWithoutAnOrder(t *testing.T) {
	src := newSource()
	m := newMedium(fakeDisk).tenantData()
	src.add(Disk{BlockDevice: named("/dev/a")}, m)
	for name, mandate := range map[string]inspection.Mandate{"zero": {}, "none": mandate(t, inspection.CleanNone)} {
		records, err := Clean(t.Context(), mandate, src, Options{})
		if !errors.Is(err, ErrNotPermitted) || records != nil {
			t.Errorf("%s: %v, %v", name, records, err)
		}
	}
	if src.opened != nil || m.writes != 0 {
		t.Errorf("opened %q, %d writes", src.opened, m.writes)
	}
}

func TestExemptDisksAreNeverOpened(t *testing.T) {
	for name, tc := range map[string]struct {
		disk Disk
		note string
	}{
		"boot medium": {Disk{InUse: "boot medium of the running system"}, "in use by the running system: boot medium of the running system"},
		"removable":   {Disk{BlockDevice: inspection.BlockDevice{Removable: true}}, "removable"},
		"read-only":   {Disk{BlockDevice: inspection.BlockDevice{ReadOnly: true}}, "read-only"},
	} {
		for _, mode := range []inspection.CleanMode{inspection.CleanMetadata, inspection.CleanFull} {
			src := newSource()
			tc.disk.Path = "/dev/x"
			src.add(tc.disk, newMedium(fakeDisk))
			r := clean(t, src, mode)[0]
			want := inspection.DiskCleanup{Path: "/dev/x", Serial: "S-/dev/x", Method: "none", Result: inspection.CleanedExempt, Note: tc.note}
			if diff := cmp.Diff(want, r); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
			if src.opened != nil || src.looked != nil {
				t.Errorf("%s: opened %q, looked at %q", name, src.opened, src.looked)
			}
		}
	}
}

// TestASecondPathToWhatIsInUse: what may be the running system's own medium is not wiped, and does not count as clean.
func TestASecondPathToWhatIsInUse(t *testing.T) {
	src, m := newSource(), newMedium(fakeDisk).tenantData()
	src.add(Disk{BlockDevice: inspection.BlockDevice{Path: "/dev/sda", WWID: "naa.5"}, InUse: "mounted at /", Group: "naa.5"}, m)
	src.add(Disk{BlockDevice: inspection.BlockDevice{Path: "/dev/sdb", WWID: "naa.5"}, Group: "naa.5"}, m)
	src.add(Disk{BlockDevice: named("/dev/sdc")}, newMedium(fakeDisk))
	var got []string
	for _, r := range clean(t, src, inspection.CleanFull) {
		got = append(got, r.Path+" "+r.Result+" "+r.Error)
	}
	const why = "it has the WWID of /dev/sda, which is in use by the running system (mounted at /): it may be the same medium"
	if diff := cmp.Diff([]string{"/dev/sda exempt ", "/dev/sdb failed " + why, "/dev/sdc ok "}, got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	if m.writes != 0 || len(src.opened) != 1 {
		t.Errorf("%d writes, opened %q", m.writes, src.opened)
	}
	intents, err := Survey(t.Context(), src, inspection.CleanFull)
	if err != nil || intents[1].Err == nil || intents[1].Err.Error() != why {
		t.Errorf("beforehand it says %+v, %v", intents, err)
	}
}

func TestMethodsWithoutHardwareErase(t *testing.T) {
	unsupported := errors.New("operation not supported")
	for name, tc := range map[string]struct {
		offers bool // sysfs says it can write zeros
		device zeroing
		method string
		note   string
		calls  []string
	}{
		"discard":         {true, zeroing{}, "discard", "", []string{"punch"}},
		"write zeroes":    {true, zeroing{punchErr: unsupported}, "write-zeroes", "discard: at byte 0: operation not supported", []string{"punch", "zero-out"}},
		"neither works":   {true, zeroing{punchErr: unsupported, zeroErr: unsupported}, "overwrite", "write-zeroes: at byte 0", []string{"punch", "zero-out"}},
		"both lie":        {true, zeroing{lies: true}, "overwrite", "are not zero", []string{"punch", "zero-out"}},
		"it offers none":  {false, zeroing{}, "overwrite", "", nil},
		"discard, failed": {true, zeroing{punchErr: unsupported, lies: true}, "overwrite", "discard: at byte 0", []string{"punch", "zero-out"}},
	} {
		dev := tc.device
		dev.medium = newMedium(fakeDisk).tenantData()
		r := one(t, Disk{WriteZeroes: tc.offers}, &dev, inspection.CleanFull)
		if r.Result != inspection.CleanedOK || r.Method != tc.method || !strings.Contains(r.Note, tc.note) || len(dev.blocks) != 0 {
			t.Errorf("%s: record %+v, %d blocks left", name, r, len(dev.blocks))
		}
		if diff := cmp.Diff(tc.calls, dev.calls); diff != "" {
			t.Errorf("%s: calls (-want +got):\n%s", name, diff)
		}
		if dev.reread != 1 {
			t.Errorf("%s: the partition table was reread %d times", name, dev.reread)
		}
	}
}

func TestDisksThatFail(t *testing.T) {
	broken := errors.New("input/output error")
	for name, tc := range map[string]struct {
		change func(*medium)
		want   string
	}{
		"write":       {func(m *medium) { m.writeErr = broken }, "write at byte 0: input/output error"},
		"sync":        {func(m *medium) { m.syncErr = broken }, "sync: input/output error"},
		"close":       {func(m *medium) { m.closeErr = broken }, "close: input/output error"},
		"read back":   {func(m *medium) { m.readErrAt = 10 }, "medium error"},
		"lost writes": {func(m *medium) { m.loses = true }, "not zero"},
	} {
		for _, mode := range []inspection.CleanMode{inspection.CleanMetadata, inspection.CleanFull} {
			m := newMedium(fakeDisk).tenantData()
			tc.change(m)
			r := one(t, Disk{}, m, mode)
			if r.Result != inspection.CleanedFailed || !strings.Contains(r.Error, tc.want) || strings.Contains(r.Error, "\n") {
				t.Errorf("%s, %s: record %+v", name, mode, r)
			}
		}
	}
}

func TestPartitionTableThatIsNotReread(t *testing.T) {
	m := newMedium(fakeDisk)
	m.rereadErr = errors.New("device or resource busy")
	r := one(t, Disk{}, m, inspection.CleanMetadata)
	if r.Result != inspection.CleanedOK || r.Note != "reread partition table: device or resource busy" {
		t.Errorf("record %+v", r)
	}
}

func TestDisksThatCannotBeOpened(t *testing.T) {
	src := newSource()
	src.add(Disk{BlockDevice: named("/dev/a")}, newMedium(fakeDisk))
	src.add(Disk{BlockDevice: named("/dev/b")}, newMedium(fakeDisk))
	src.disks[1].SizeBytes = 0
	src.add(Disk{BlockDevice: named("/dev/c")}, newMedium(fakeDisk))
	src.openErr["/dev/a"] = errors.New("device or resource busy")
	var got []string
	for _, r := range clean(t, src, inspection.CleanMetadata) {
		got = append(got, r.Path+" "+r.Method+" "+r.Result+" "+r.Error)
	}
	want := []string{
		"/dev/a none failed open: device or resource busy",
		"/dev/b none failed the disk reports no capacity",
		"/dev/c metadata ok ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

func TestModeOfALaterManager(t *testing.T) {
	m := newMedium(fakeDisk)
	r := one(t, Disk{}, m, "shred")
	if r.Result != inspection.CleanedFailed || !strings.Contains(r.Error, `mode "shred" is not known`) || m.writes != 0 {
		t.Errorf("record %+v, %d writes", r, m.writes)
	}
}

func TestListThatFails(t *testing.T) {
	src := newSource()
	src.listErr = errors.New("sysfs is not mounted")
	if _, err := Clean(t.Context(), mandate(t, inspection.CleanFull), src, Options{}); !errors.Is(err, src.listErr) {
		t.Errorf("error %v", err)
	}
}

// TestCancelled: what was not wiped yet is failed, and no method is tried any more.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("powered off")
	src := newSource()
	m := newMedium(fakeDisk).tenantData()
	src.add(Disk{BlockDevice: named("/dev/a"), WriteZeroes: true}, &cancelling{zeroing{medium: m}, func() { cancel(stopped) }})
	records, err := Clean(ctx, mandate(t, inspection.CleanFull), src, Options{Clock: newSteppingClock()})
	if err != nil {
		t.Fatal(err)
	}
	if r := records[0]; r.Result != inspection.CleanedFailed || !strings.Contains(r.Error, "powered off") || m.writes != 0 {
		t.Errorf("record %+v, %d writes", r, m.writes)
	}
}

type cancelling struct {
	zeroing
	cancel func()
}

func (c *cancelling) Punch(int64, int64) error {
	c.cancel()
	return errors.New("interrupted")
}

// TestParallel: as many as allowed at once, disks of one group never.
func TestParallel(t *testing.T) {
	src := newSource()
	var now, most, inGroup atomic.Int64
	gate := make(chan struct{})
	var open sync.Once
	for i := range 12 {
		d := Disk{BlockDevice: named("/dev/" + string(rune('a'+i)))}
		if i%4 == 0 {
			d.Group = "shared"
		}
		src.add(d, &watched{medium: newMedium(1 << 20), enter: func() {
			n := now.Add(1)
			for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
			}
			if d.Group != "" && inGroup.Add(1) > 1 {
				t.Error("two disks of one group are wiped at once")
			}
			if n == 3 {
				open.Do(func() { close(gate) })
			}
			<-gate
		}, leave: func() {
			now.Add(-1)
			if d.Group != "" {
				inGroup.Add(-1)
			}
		}})
	}
	records, err := Clean(t.Context(), mandate(t, inspection.CleanMetadata), src, Options{Parallel: 3})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range records {
		if r.Path != src.disks[i].Path || r.Result != inspection.CleanedOK {
			t.Errorf("record %d: %+v", i, r)
		}
	}
	if most.Load() != 3 {
		t.Errorf("%d at once, want 3", most.Load())
	}
}

// watched tells when it is written and when that is over.
type watched struct {
	*medium
	entered      bool
	enter, leave func()
}

func (w *watched) WriteAt(p []byte, at int64) (int, error) {
	if !w.entered {
		w.entered = true
		w.enter()
	}
	return w.medium.WriteAt(p, at)
}

func (w *watched) RereadPartitions() error {
	w.leave()
	return nil
}

func TestSurveyTouchesNothing(t *testing.T) {
	c := newController(2)
	src := c.source()
	src.disks[1].InUse = "swap"
	a := newATA(1 | 1<<3)
	src.add(Disk{BlockDevice: named("/dev/sda"), ATA: true, WriteZeroes: true}, struct {
		*fakeATA
		zeroing
	}{a, zeroing{}}.fakeATA)
	src.add(Disk{BlockDevice: named("/dev/sdb")}, nil)
	src.openErr["/dev/sdb"] = errors.New("no such device")
	got, err := Survey(t.Context(), src, inspection.CleanFull)
	if err != nil {
		t.Fatal(err)
	}
	want := []Intent{
		{Methods: []Method{MethodFormatCrypto, MethodFormatUserData, MethodOverwrite}, Notes: []string{"sanitize would erase namespaces that stay"}},
		{Exempt: "in use by the running system: swap"},
		{Methods: []Method{MethodOverwrite}, Notes: []string{"ATA secure erase: the firmware has frozen the disk's security settings"}},
		{Err: src.openErr["/dev/sdb"]},
	}
	for i := range want {
		want[i].Disk = src.disks[i]
		if diff := cmp.Diff(want[i], got[i], cmp.Comparer(func(a, b error) bool { return errors.Is(a, b) })); diff != "" {
			t.Errorf("disk %d (-want +got):\n%s", i, diff)
		}
	}
	if src.opened != nil || c.erasing() != nil || a.writes+c.media[0].writes != 0 {
		t.Errorf("opened for erase: %q; erasing commands: %+v", src.opened, c.erasing())
	}
	if _, err := Survey(t.Context(), src, "shred"); err == nil || !strings.Contains(err.Error(), "shred") {
		t.Errorf("mode shred: %v", err)
	}
}

func TestAllowanceGrowsWithTheDisk(t *testing.T) {
	small, large := allowance(inspection.CleanFull, 1<<30), allowance(inspection.CleanFull, 16<<40)
	if large-small < 90*60*60*1e9 || allowance(inspection.CleanMetadata, 16<<40) != leastTime {
		t.Errorf("%s for 1 GiB, %s for 16 TiB", small, large)
	}
}
