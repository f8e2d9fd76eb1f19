package disk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"

	"github.com/farrier-dev/farrier/internal/inspection"
)

// tester is a *testing.T or a *rapid.T.
type tester interface {
	Helper()
	Fatal(args ...any)
}

// mandate goes the one way there is to a Mandate.
func mandate(t tester, mode inspection.CleanMode) inspection.Mandate {
	t.Helper()
	m, err := inspection.ReadMandate(&http.Response{
		StatusCode: http.StatusCreated, Body: io.NopCloser(strings.NewReader(`{"cleanup":{"mode":"` + string(mode) + `"}}`)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// steppingClock passes the time of every timer at once.
type steppingClock struct{ *testclock.FakeClock }

func newSteppingClock() steppingClock {
	return steppingClock{testclock.NewFakeClock(time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC))}
}

func (c steppingClock) NewTimer(d time.Duration) clock.Timer {
	timer := c.FakeClock.NewTimer(d)
	c.Step(d)
	return timer
}

const block = 4096

// medium is a disk in memory, of which only what is not zero takes any.
type medium struct {
	mu     sync.Mutex
	size   int64
	blocks map[int64]*[block]byte

	writes    int
	writeErr  error // of every write
	loses     bool  // writes are accepted and forgotten
	readErrAt int64 // reads of this byte fail; 0: none
	syncErr   error
	closeErr  error
	reread    int
	rereadErr error
}

func newMedium(size int64) *medium { return &medium{size: size, blocks: map[int64]*[block]byte{}} }

func (m *medium) Size() int64 { return m.size }
func (m *medium) Sync() error { return m.syncErr }
func (m *medium) Close() error {
	return m.closeErr
}

func (m *medium) RereadPartitions() error {
	m.reread++
	return m.rereadErr
}

func (m *medium) ReadAt(p []byte, at int64) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.readErrAt != 0 && m.readErrAt >= at && m.readErrAt < at+int64(len(p)) {
		return 0, errors.New("medium error")
	}
	if at < 0 || at >= m.size {
		return 0, io.EOF
	}
	n := int(min(int64(len(p)), m.size-at))
	clear(p[:n])
	m.eachLocked(at, int64(n), func(i int64, b *[block]byte) {
		from, to := max(at, i*block), min(at+int64(n), (i+1)*block)
		copy(p[from-at:to-at], b[from-i*block:to-i*block])
	})
	return n, nil
}

func (m *medium) WriteAt(p []byte, at int64) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if at < 0 || at+int64(len(p)) > m.size {
		return 0, fmt.Errorf("write beyond the end: %d+%d of %d", at, len(p), m.size)
	}
	m.writes++
	if m.writeErr != nil {
		return 0, m.writeErr
	}
	if m.loses {
		return len(p), nil
	}
	m.putLocked(p, at)
	return len(p), nil
}

// eachLocked visits what there is in a range, by whichever way is shorter.
func (m *medium) eachLocked(at, length int64, visit func(i int64, b *[block]byte)) {
	first, last := at/block, (at+length-1)/block
	if last-first < int64(len(m.blocks)) {
		for i := first; i <= last; i++ {
			if b := m.blocks[i]; b != nil {
				visit(i, b)
			}
		}
		return
	}
	for i, b := range m.blocks {
		if i >= first && i <= last {
			visit(i, b)
		}
	}
}

func (m *medium) putLocked(p []byte, at int64) {
	if isZero(p) {
		m.eachLocked(at, int64(len(p)), func(i int64, b *[block]byte) {
			from, to := max(at, i*block), min(at+int64(len(p)), (i+1)*block)
			clear(b[from-i*block : to-i*block])
			if *b == [block]byte{} {
				delete(m.blocks, i)
			}
		})
		return
	}
	for i := at / block; i*block < at+int64(len(p)); i++ {
		from, to := max(at, i*block), min(at+int64(len(p)), (i+1)*block)
		part := p[from-at : to-at]
		b := m.blocks[i]
		if b == nil {
			b = new([block]byte)
			m.blocks[i] = b
		}
		copy(b[from-i*block:], part)
		if *b == [block]byte{} {
			delete(m.blocks, i)
		}
	}
}

// put is how a test places content.
func (m *medium) put(content string, at int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.putLocked([]byte(content), at)
}

func (m *medium) has(content string, at int64) bool {
	buf := make([]byte, len(content))
	n, _ := m.ReadAt(buf, at)
	return n == len(content) && string(buf) == content
}

func (m *medium) erase() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.blocks)
}

// tenantData fills blocks all over the medium with something to recognise.
func (m *medium) tenantData() *medium {
	for i := range int64(sampleCount) {
		at := m.size / sampleCount * i / block * block
		m.put(fmt.Sprintf("secret %d of a tenant%s", i, bytes.Repeat([]byte{'.'}, 100)), at)
	}
	return m
}

// zeroing adds the commands that zero.
type zeroing struct {
	*medium
	punchErr, zeroErr error
	lies              bool
	calls             []string
}

func (z *zeroing) Punch(at, length int64) error {
	z.calls = append(z.calls, "punch")
	return z.zero(at, length, z.punchErr)
}

func (z *zeroing) ZeroOut(at, length int64) error {
	z.calls = append(z.calls, "zero-out")
	return z.zero(at, length, z.zeroErr)
}

func (z *zeroing) zero(at, length int64, err error) error {
	if err != nil || z.lies {
		return err
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	for i := range z.blocks {
		if i*block >= at && i*block < at+length {
			delete(z.blocks, i)
		}
	}
	return nil
}

// fakeSource has what a test puts in.
type fakeSource struct {
	disks   []Disk
	devices map[string]Device
	listErr error

	mu      sync.Mutex
	opened  []string // for erase
	looked  []string
	openErr map[string]error
}

func newSource() *fakeSource {
	return &fakeSource{devices: map[string]Device{}, openErr: map[string]error{}}
}

func (s *fakeSource) add(d Disk, dev Device) {
	if d.SizeBytes == 0 && dev != nil {
		d.SizeBytes = uint64(dev.Size())
	}
	d.Serial = "S-" + d.Path
	s.disks = append(s.disks, d)
	s.devices[d.Path] = dev
}

func named(path string) inspection.BlockDevice { return inspection.BlockDevice{Path: path} }

func (s *fakeSource) Disks(context.Context) ([]Disk, error) { return s.disks, s.listErr }

func (s *fakeSource) OpenForErase(_ context.Context, d Disk) (Device, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened = append(s.opened, d.Path)
	if err := s.openErr[d.Path]; err != nil {
		return nil, err
	}
	return s.devices[d.Path], nil
}

func (s *fakeSource) Inspect(_ context.Context, d Disk) (Device, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looked = append(s.looked, d.Path)
	return s.devices[d.Path], s.openErr[d.Path]
}

// clean runs Clean with a clock that never waits.
func clean(t tester, src Source, mode inspection.CleanMode) []inspection.DiskCleanup {
	t.Helper()
	records, err := Clean(context.Background(), mandate(t, mode), src, Options{Clock: newSteppingClock()})
	if err != nil {
		t.Fatal(err)
	}
	return records
}

// one cleans a single disk.
func one(t tester, d Disk, dev Device, mode inspection.CleanMode) inspection.DiskCleanup {
	t.Helper()
	d.Path = "/dev/x"
	src := newSource()
	src.add(d, dev)
	return clean(t, src, mode)[0]
}
