package backup

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/google/go-cmp/cmp"
)

var testTime = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// kept is a sink that keeps everything.
type kept struct {
	header Header
	store  []byte
	files  map[string]string
	modes  map[string]fs.FileMode
}

func (k *kept) Header(h Header) error { k.header = h; return nil }
func (k *kept) Store(piece []byte) error {
	k.store = append(k.store, piece...)
	return nil
}

func (k *kept) File(path string, mode fs.FileMode, content io.Reader) error {
	text, err := io.ReadAll(content)
	if k.files == nil {
		k.files, k.modes = map[string]string{}, map[string]fs.FileMode{}
	}
	k.files[path], k.modes[path] = string(text), mode
	return err
}

// snapshot is larger than a piece, and the same every time. It cannot be compressed: otherwise a changed file may mean the same.
var snapshot = func() []byte {
	content := make([]byte, pieceSize+1000)
	_, _ = rand.NewChaCha8([32]byte{}).Read(content) // never fails
	return content
}()

func made(t *testing.T, recipients ...age.Recipient) string {
	t.Helper()
	root, file := t.TempDir(), filepath.Join(t.TempDir(), "backup")
	if err := errors.Join(os.Mkdir(filepath.Join(root, "pki"), 0o700), os.WriteFile(filepath.Join(root, "pki", "ca.key"), []byte("key"), 0o600)); err != nil {
		t.Fatal(err)
	}
	err := Write(file, Header{Farrier: "v1", DataFormat: 1, Time: testTime}, recipients, func(w *Writer) error {
		return errors.Join(w.Store(bytes.NewReader(snapshot)), w.File(root, filepath.Join("pki", "ca.key")))
	})
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func identity(t *testing.T) *age.X25519Identity {
	t.Helper()
	i, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	key := identity(t)
	for name, c := range map[string]struct {
		recipients []age.Recipient
		identities []age.Identity
	}{
		"plain":     {},
		"encrypted": {[]age.Recipient{identity(t).Recipient(), key.Recipient()}, []age.Identity{key}},
	} {
		t.Run(name, func(t *testing.T) {
			file, got := made(t, c.recipients...), &kept{}
			if err := Read(file, c.identities, got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(Header{Format: Format, Farrier: "v1", DataFormat: 1, Time: testTime}, got.header); diff != "" {
				t.Error(diff)
			}
			if !bytes.Equal(got.store, snapshot) {
				t.Errorf("%d bytes of the store, want %d", len(got.store), len(snapshot))
			}
			if diff := cmp.Diff(map[string]string{filepath.Join("pki", "ca.key"): "key"}, got.files); diff != "" {
				t.Error(diff)
			}
			if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("mode %v, %v", info.Mode(), err)
			}
			if text, err := os.ReadFile(file); err != nil || bytes.HasPrefix(text, []byte(magic)) != (len(c.recipients) > 0) {
				t.Errorf("it begins with %q, %v", text[:8], err)
			}
		})
	}
}

// TestNoPartOfAFileIsTaken: whatever is cut off, and whichever byte changes what is in it, Read says so.
func TestNoPartOfAFileIsTaken(t *testing.T) {
	key := identity(t)
	for name, file := range map[string]string{"plain": made(t), "encrypted": made(t, key.Recipient())} {
		t.Run(name, func(t *testing.T) {
			whole, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			check := func(what string, at int, content []byte) {
				t.Helper()
				if err := os.WriteFile(file, content, 0o600); err != nil {
					t.Fatal(err)
				}
				got := &kept{}
				err := Read(file, []age.Identity{key}, got)
				if err == nil && what == "changed" && bytes.Equal(got.store, snapshot) && got.files[filepath.Join("pki", "ca.key")] == "key" {
					return // the same content, compressed otherwise
				}
				if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrKey) || !strings.Contains(err.Error(), file) {
					t.Errorf("%s at %d of %d: %v", what, at, len(whole), err)
				}
			}
			step := max(1, len(whole)/60)
			for at := 0; at < len(whole); at += step {
				check("cut", at, whole[:at])
			}
			check("cut", len(whole)-1, whole[:len(whole)-1])
			for at := gzipHeader; at < len(whole); at += step {
				changed := bytes.Clone(whole)
				changed[at] ^= 0x10
				check("changed", at, changed)
			}
		})
	}
}

// gzipHeader is how long that of gzip is. It has a time and a system, which mean nothing.
const gzipHeader = 10

func TestAKeyIsNeeded(t *testing.T) {
	file := made(t, identity(t).Recipient())
	if err := Read(file, nil, &kept{}); !errors.Is(err, ErrKey) || !strings.Contains(err.Error(), "--identity-file") {
		t.Error(err)
	}
	if err := Read(file, []age.Identity{identity(t)}, &kept{}); !errors.Is(err, ErrKey) || !strings.Contains(err.Error(), "another key") {
		t.Error(err)
	}
}

// archive makes a file of entries as they are.
func archive(t *testing.T, entries ...*tar.Header) string {
	t.Helper()
	var buffer bytes.Buffer
	packed := gzip.NewWriter(&buffer)
	w := tar.NewWriter(packed)
	for _, entry := range entries {
		content := entry.PAXRecords["FARRIER.content"]
		entry.PAXRecords, entry.Size = nil, int64(len(content))
		if err := w.WriteHeader(entry); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, content); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(t.TempDir(), "backup")
	if err := errors.Join(w.Close(), packed.Close(), os.WriteFile(file, buffer.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	return file
}

func entry(name, content string) *tar.Header {
	return &tar.Header{Name: name, Mode: 0o600, Typeflag: tar.TypeReg, PAXRecords: map[string]string{"FARRIER.content": content}}
}

func TestWhatIsNoBackupIsRefused(t *testing.T) {
	text, err := json.Marshal(Header{Format: Format, Farrier: "v1"})
	if err != nil {
		t.Fatal(err)
	}
	header := entry(headerName, string(text))
	link := entry("data/link", "")
	link.Typeflag, link.Linkname = tar.TypeSymlink, "/etc"
	for name, c := range map[string]struct {
		entries []*tar.Header
		want    error
	}{
		"nothing":           {nil, ErrDamaged},
		"no header":         {[]*tar.Header{entry("data/a", "a")}, ErrDamaged},
		"no sums":           {[]*tar.Header{header}, ErrDamaged},
		"wrong sums":        {[]*tar.Header{header, entry(sumsName, `{"data/a":""}`)}, ErrDamaged},
		"outside":           {[]*tar.Header{header, entry("data/../../etc/passwd", "a")}, ErrDamaged},
		"absolute":          {[]*tar.Header{header, entry("data//etc/passwd", "a")}, ErrDamaged},
		"a link":            {[]*tar.Header{header, link}, ErrDamaged},
		"unknown part":      {[]*tar.Header{header, entry("other", "a")}, ErrDamaged},
		"twice":             {[]*tar.Header{header, entry("data/a", "a"), entry("data/a", "a")}, ErrDamaged},
		"pieces out of row": {[]*tar.Header{header, entry("etcd/000001", "a")}, ErrDamaged},
		"of nobody":         {[]*tar.Header{entry(headerName, `{}`)}, ErrDamaged},
		"newer":             {[]*tar.Header{entry(headerName, `{"format":2,"farrier":"v9"}`)}, ErrNewer},
	} {
		t.Run(name, func(t *testing.T) {
			file := archive(t, c.entries...)
			err := Read(file, nil, &kept{})
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), file) {
				t.Errorf("%v, want %v and the file", err, c.want)
			}
		})
	}
}

func TestWriteReplacesNothingAndLeavesNothing(t *testing.T) {
	file := made(t)
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := Write(file, Header{}, nil, func(*Writer) error { return nil }); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	if after, err := os.ReadFile(file); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file was changed: %v", err)
	}
	dir := t.TempDir()
	failure := errors.New("the store is away")
	if err := Write(filepath.Join(dir, "backup"), Header{}, nil, func(*Writer) error { return failure }); !errors.Is(err, failure) {
		t.Error(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("%v, %v", entries, err)
	}
}

func TestKeys(t *testing.T) {
	key, dir := identity(t), t.TempDir()
	write := func(name, content string, mode fs.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	identities, passphrase := write("identity", "# a comment\n"+key.String()+"\n", 0o600), write("passphrase", "correct horse battery\n", 0o600)
	if to, err := Recipients([]string{key.Recipient().String()}, ""); err != nil || len(to) != 1 {
		t.Errorf("%v, %v", to, err)
	}
	if with, err := Identities(identities, passphrase); err != nil || len(with) != 2 {
		t.Errorf("%v, %v", with, err)
	}
	for name, c := range map[string]struct {
		err  func() error
		want []string
	}{
		"no key":         {func() error { _, err := Recipients([]string{"age1x"}, ""); return err }, []string{"--recipient", "age1x"}},
		"both":           {func() error { _, err := Recipients([]string{"age1x"}, passphrase); return err }, []string{"--recipient", "--passphrase-file"}},
		"short":          {func() error { _, err := Recipients(nil, write("short", "horse\n", 0o600)); return err }, []string{"--passphrase-file", "shorter"}},
		"open to others": {func() error { _, err := Identities(write("open", key.String(), 0o644), ""); return err }, []string{"--identity-file", "open"}},
		"no identity":    {func() error { _, err := Identities(passphrase, ""); return err }, []string{"--identity-file", passphrase}},
		"missing":        {func() error { _, err := Identities("", filepath.Join(dir, "none")); return err }, []string{"--passphrase-file", "none"}},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.err()
			for _, want := range c.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%v does not say %q", err, want)
				}
			}
		})
	}
}
