package sealed

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"
)

const purpose = "test"

func key(t testing.TB, seed byte) Key {
	t.Helper()
	k, err := ParseKey(pattern(seed, 32))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// pattern is n different bytes, not all of them printable.
func pattern(seed byte, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = seed + byte(i)*7
	}
	return b
}

func openDir(t testing.TB) *Dir {
	t.Helper()
	d, err := OpenDir(filepath.Join(t.TempDir(), "state"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func create(t testing.TB, d *Dir, payloads ...string) *Log {
	t.Helper()
	draft, err := NewDraft(d, "log", purpose, key(t, 1))
	if err != nil {
		t.Fatal(err)
	}
	l, err := draft.Commit()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	for _, p := range payloads {
		if err := l.Append([]byte(p)); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// read returns what a file of these bytes holds, and closes it again.
func read(t testing.TB, d *Dir, content []byte, k Key) ([]string, Opened, error) {
	t.Helper()
	if err := os.WriteFile(d.join("log"), content, 0o600); err != nil {
		t.Fatal(err)
	}
	var got []string
	l, opened, err := Open(d, "log", purpose, k, func(p []byte) error { got = append(got, string(p)); return nil })
	if err != nil {
		return nil, opened, err
	}
	return got, opened, l.Close()
}

func content(t testing.TB, d *Dir) []byte {
	t.Helper()
	b, err := os.ReadFile(d.join("log"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestCutAnywhereIsAPrefix: whatever a log holds, cut at any byte it holds the frames before that byte, or it is damaged.
func TestCutAnywhereIsAPrefix(t *testing.T) {
	d := openDir(t)
	rapid.Check(t, func(rt *rapid.T) {
		payloads := rapid.SliceOfN(rapid.StringN(0, 40, 60), 0, 6).Draw(rt, "payloads")
		l := create(t, d)
		ends := []int64{l.Size()}
		for _, p := range payloads {
			if err := l.Append([]byte(p)); err != nil {
				rt.Fatal(err)
			}
			ends = append(ends, l.Size())
		}
		whole := content(t, d)
		cut := rapid.IntRange(0, len(whole)).Draw(rt, "cut")
		zeros := rapid.SampledFrom([]int{0, 0, 1, 40, 5000}).Draw(rt, "zeros")
		if cut == len(whole) || cut < headerLen {
			zeros = 0
		}
		got, opened, err := read(t, d, append(bytes.Clone(whole[:cut]), make([]byte, zeros)...), key(t, 1))
		if cut < headerLen {
			if damage := new(DamageError); !errors.As(err, &damage) {
				rt.Fatalf("without its header: %v", err)
			}
			return
		}
		if err != nil {
			if damage := new(DamageError); zeros == 0 || !errors.As(err, &damage) {
				rt.Fatal(err) // a file that was extended by some other length may be called damaged, but not otherwise
			}
			return
		}
		n := 0
		for n+1 < len(ends) && ends[n+1] <= int64(cut) {
			n++
		}
		if fmt.Sprint(got) != fmt.Sprint(payloads[:n]) {
			rt.Fatalf("cut at %d: %q, want %q", cut, got, payloads[:n])
		}
		if want := int64(cut+zeros) - ends[n]; opened.Dropped != want {
			rt.Fatalf("dropped %d, want %d", opened.Dropped, want)
		}
	})
}

// TestExtendedAndNotWritten: a crash may leave the length of a frame and not its end. That is not damage.
func TestExtendedAndNotWritten(t *testing.T) {
	d := openDir(t)
	create(t, d, "first", strings.Repeat("second", 1000))
	whole := content(t, d)
	from := headerLen + startLen + len("first") + tagLen
	for _, written := range []int{0, startLen, startLen + 512, len(whole) - from - tagLen} {
		torn := bytes.Clone(whole)
		clear(torn[from+written:])
		got, _, err := read(t, d, torn, key(t, 1))
		if err != nil || fmt.Sprint(got) != "[first]" {
			t.Errorf("%d bytes written: %q, %v", written, got, err)
		}
	}
}

// TestEveryFlippedBitIsFound flips each bit of a log in turn.
func TestEveryFlippedBitIsFound(t *testing.T) {
	d := openDir(t)
	create(t, d, "first", "", "third")
	whole := content(t, d)
	for bit := range 8 * len(whole) {
		flipped := bytes.Clone(whole)
		flipped[bit/8] ^= 1 << (bit % 8)
		if got, _, err := read(t, d, flipped, key(t, 1)); err == nil {
			t.Fatalf("bit %d of byte %d: %q was taken", bit%8, bit/8, got)
		}
	}
}

// FuzzChangedLogs changes a log in two places. What is taken then is a prefix of what was written, or nothing.
func FuzzChangedLogs(f *testing.F) {
	d := openDir(f)
	written := []string{"first", "second one", "third"}
	create(f, d, written...)
	whole := content(f, d)
	f.Add(uint16(0), byte(1), uint16(0), byte(0), uint16(0))
	f.Add(uint16(headerLen+nonceLen), byte(255), uint16(headerLen), byte(0), uint16(0))
	f.Add(uint16(300), byte(8), uint16(20), byte(0), uint16(1))
	f.Fuzz(func(t *testing.T, at1 uint16, x1 byte, at2 uint16, x2 byte, cut uint16) {
		changed := bytes.Clone(whole)
		changed[int(at1)%len(changed)] ^= x1
		changed[int(at2)%len(changed)] ^= x2
		same := bytes.Equal(changed, whole)
		changed = changed[:len(changed)-int(cut)%len(changed)]
		got, _, err := read(t, d, changed, key(t, 1))
		if err == nil && strings.Join(got, "|") != strings.Join(written[:len(got)], "|") {
			t.Errorf("%q was taken", got)
		}
		if err != nil && same && len(changed) >= headerLen {
			t.Errorf("a prefix was refused: %v", err)
		}
	})
}

// TestFramesKeepTheirPlace: frames that were moved, repeated, left out or taken from another file are not authentic.
func TestFramesKeepTheirPlace(t *testing.T) {
	d := openDir(t)
	create(t, d, "one", "two", "six")
	whole := content(t, d)
	length := startLen + 3 + tagLen
	frame := func(i int) []byte { return whole[headerLen+i*length : headerLen+(i+1)*length] }
	create(t, d, "one", "two", "six")
	other := content(t, d)
	for name, frames := range map[string][][]byte{
		"moved":        {frame(1), frame(0), frame(2)},
		"repeated":     {frame(0), frame(0), frame(1)},
		"left out":     {frame(0), frame(2)},
		"of elsewhere": {frame(0), other[headerLen+length : headerLen+2*length]},
	} {
		_, _, err := read(t, d, append(bytes.Clone(whole[:headerLen]), bytes.Join(frames, nil)...), key(t, 1))
		if damage := new(DamageError); !errors.As(err, &damage) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOtherKeysPurposesAndVersions(t *testing.T) {
	d := openDir(t)
	create(t, d, "secret")
	whole := content(t, d)
	if bytes.Contains(whole, []byte("secret")) {
		t.Error("the payload is in the file as it is")
	}
	_, _, err := read(t, d, whole, key(t, 2))
	if wrong := new(KeyError); !errors.As(err, &wrong) || !strings.Contains(err.Error(), "--view-key-file") {
		t.Errorf("with another key: %v", err)
	}
	_, _, err = Open(d, "log", "another", key(t, 1), nil)
	if damage := new(DamageError); !errors.As(err, &damage) || !strings.Contains(err.Error(), "another kind") {
		t.Errorf("for another purpose: %v", err)
	}
	if _, _, err = Open(d, "none", purpose, key(t, 1), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing log: %v", err)
	}
	newer := &VersionError{Path: "/x", Version: 9}
	if !strings.Contains(newer.Error(), "format 9") {
		t.Error(newer)
	}
}

// TestNoncesNeverRepeat: frames that were cut off or failed have nonces of their own, also when others take their place.
func TestNoncesNeverRepeat(t *testing.T) {
	d := openDir(t)
	limited := &limitedDisk{room: 1 << 20}
	d.Wrap = limited.wrap
	l := create(t, d, "first")
	seen := map[string]bool{}
	note := func(frame []byte) {
		t.Helper()
		if nonce := string(frame[:nonceLen]); seen[nonce] {
			t.Errorf("nonce %x was used twice", nonce)
		} else {
			seen[nonce] = true
		}
	}
	note(content(t, d)[headerLen:])
	at := l.Size()
	for range 3 {
		limited.room = 40
		if err := l.Append([]byte("does not fit, all of it")); err == nil {
			t.Fatal("it did fit")
		}
		note(limited.last)
	}
	limited.room = 1 << 20
	if err := l.Append([]byte("fits")); err != nil {
		t.Fatal(err)
	}
	note(content(t, d)[at:])
	l.Close()
	for range 3 { // the last frame is cut off and written again
		whole := content(t, d)
		if _, _, err := read(t, d, whole[:len(whole)-1], key(t, 1)); err != nil {
			t.Fatal(err)
		}
		l, _, err := Open(d, "log", purpose, key(t, 1), func([]byte) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Append([]byte("again")); err != nil {
			t.Fatal(err)
		}
		note(content(t, d)[at:])
		l.Close()
	}
}

// limitedDisk takes so many more bytes, and the part of a write that still fits. failSync fails.
type limitedDisk struct {
	room             int
	last             []byte
	failSync, failTr bool
}

type limitedFile struct {
	File
	disk *limitedDisk
}

func (d *limitedDisk) wrap(f File) File { return &limitedFile{f, d} }

func (f *limitedFile) WriteAt(b []byte, at int64) (int, error) {
	f.disk.last = bytes.Clone(b)
	if len(b) <= f.disk.room {
		f.disk.room -= len(b)
		return f.File.WriteAt(b, at)
	}
	n, _ := f.File.WriteAt(b[:f.disk.room], at)
	f.disk.room = 0
	return n, syscall.ENOSPC
}

func (f *limitedFile) Sync() error {
	if f.disk.failSync {
		return syscall.EIO
	}
	return f.File.Sync()
}

func (f *limitedFile) Truncate(n int64) error {
	if f.disk.failTr {
		return syscall.EIO
	}
	return f.File.Truncate(n)
}

// TestAFullDisk: what does not fit leaves the log as it was, and later appends succeed once there is room.
func TestAFullDisk(t *testing.T) {
	for _, broken := range []bool{false, true} {
		d := openDir(t)
		disk := &limitedDisk{room: 1 << 20}
		d.Wrap = disk.wrap
		l := create(t, d, "first")
		disk.room, disk.failTr = 50, broken
		err := l.Append([]byte("second"))
		if failed := new(WriteError); !errors.As(err, &failed) || !failed.Full() || !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("full: %v", err)
		}
		if whole := content(t, d); !broken && int64(len(whole)) != l.Size() {
			t.Errorf("%d bytes are left, want %d", len(whole), l.Size())
		}
		disk.room = 1 << 20
		if broken {
			if err := l.Append([]byte("second")); err == nil {
				t.Error("appended behind the rest of another frame")
			}
			disk.failTr = false
		}
		disk.failSync = true
		if err := l.Append([]byte("second")); err == nil {
			t.Error("durable without fsync")
		}
		disk.failSync = false
		if err := l.Append([]byte("third")); err != nil {
			t.Fatal(err)
		}
		got, opened, err := read(t, d, content(t, d), key(t, 1))
		if err != nil || fmt.Sprint(got) != "[first third]" || opened.Dropped != 0 {
			t.Errorf("%q, %v", got, err)
		}
	}
}

// TestADraftReplacesWhenItIsComplete: until then, and without room for it, the old log stays.
func TestADraftReplacesWhenItIsComplete(t *testing.T) {
	d := openDir(t)
	disk := &limitedDisk{room: 1 << 20}
	d.Wrap = disk.wrap
	l := create(t, d, "old")
	draft, err := NewDraft(d, "log", purpose, key(t, 1))
	if err != nil {
		t.Fatal(err)
	}
	if err := draft.Append([]byte("new")); err != nil {
		t.Fatal(err)
	}
	if err := l.Append([]byte("meanwhile")); err != nil {
		t.Fatal(err)
	}
	if got, _, err := read(t, d, content(t, d), key(t, 1)); err != nil || fmt.Sprint(got) != "[old meanwhile]" {
		t.Fatalf("with a draft: %q, %v", got, err)
	}
	if _, err := os.Stat(d.join("log" + aside)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open has left a draft: %v", err)
	}
	disk.room = headerLen + 10
	draft, err = NewDraft(d, "log", purpose, key(t, 1))
	if err != nil {
		t.Fatal(err)
	}
	if err := draft.Append([]byte("new")); err == nil {
		t.Error("a draft without room")
	}
	if err := draft.Discard(); err != nil {
		t.Error(err)
	}
	disk.room = 1 << 20
	d.sync = func() error { return syscall.EIO }
	draft, _ = NewDraft(d, "log", purpose, key(t, 1))
	replaced, err := draft.Commit()
	if replaced == nil || err == nil {
		t.Fatalf("%v, %v: want the log and that its name is not durable", replaced, err)
	}
	if err := replaced.Append([]byte("x")); err == nil {
		t.Error("durable in a file whose name is not")
	}
	d.sync = d.handle.Sync
	if err := replaced.Append([]byte("new")); err != nil {
		t.Error(err)
	}
	if got, _, err := read(t, d, content(t, d), key(t, 1)); err != nil || fmt.Sprint(got) != "[new]" {
		t.Errorf("replaced: %q, %v", got, err)
	}
}

func TestOneProcessOneDirectory(t *testing.T) {
	d := openDir(t)
	if _, err := OpenDir(d.path); !errors.Is(err, ErrInUse) {
		t.Errorf("opened twice: %v", err)
	}
	create(t, d, "x").Close()
	if info, err := os.Stat(d.join("log")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := os.Chmod(d.join("log"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Open(d, "log", purpose, key(t, 1), nil); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("open to others: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := OpenDir(d.path)
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}
