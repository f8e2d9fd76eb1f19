package product

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

// Binary is a program of the product.
type Binary struct {
	name string
	// variable names a file that is tested in place of a fresh build.
	variable string
	once     sync.Once
	folder   string // of the fresh build
	path     string
	err      error
}

// The programs that tests start.
var (
	Farrier    = &Binary{name: "farrier", variable: "FARRIER_TEST_BINARY"}
	Manager    = &Binary{name: "farrier-manager", variable: "FARRIER_TEST_MANAGER"}
	BootServer = &Binary{name: "farrier-bootserver", variable: "FARRIER_TEST_BOOTSERVER"}
)

// parallel is how many tests of a package run at the same time, whatever the number of processors: what they do most of the time is wait for
// a product of their own, which takes some 400 MB while it runs.
const parallel = "8"

// Main runs the tests of a package that starts programs of the product.
func Main(m *testing.M) {
	flag.Parse()
	if !isSet("test.parallel") {
		_ = flag.Set("test.parallel", parallel) // it exists, and that is a number
	}
	var err error
	if prepared.folder, err = os.MkdirTemp("", "farrier-test-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	for _, s := range shared {
		if err := s.end(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	for _, b := range []*Binary{Farrier, Manager, BootServer} {
		if b.folder != "" {
			_ = os.RemoveAll(b.folder)
		}
	}
	_ = os.RemoveAll(prepared.folder)
	os.Exit(code)
}

// isSet reports whether somebody gave a flag of go test.
func isSet(name string) (set bool) {
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == name })
	return set
}

// file is the program's, built once for all tests of a package.
func (b *Binary) file() (string, error) {
	b.once.Do(func() { b.path, b.err = b.build() })
	return b.path, b.err
}

// WithDescriptors is the program as it runs where a process may open that many files and connections, no more.
func (b *Binary) WithDescriptors(t *testing.T, n int) *Binary {
	t.Helper()
	path, err := b.file()
	if err != nil {
		t.Fatal(err)
	}
	limited := &Binary{name: b.name, path: filepath.Join(t.TempDir(), b.name)}
	limited.once.Do(func() {})
	script := fmt.Sprintf("#!/bin/sh\nulimit -n %d\nexec '%s' \"$@\"\n", n, path)
	if err := os.WriteFile(limited.path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return limited
}

func (b *Binary) build() (path string, err error) {
	if path := os.Getenv(b.variable); path != "" {
		return filepath.Abs(path)
	}
	if b.folder, err = os.MkdirTemp("", "farrier-test-"); err != nil {
		return "", err
	}
	path = filepath.Join(b.folder, b.name)
	build := exec.CommandContext(context.Background(), "go", "build", "-trimpath", "-buildvcs=false", "-o", path, "github.com/farrier-dev/farrier/cmd/"+b.name)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", b.name, err, out)
	}
	return path, nil
}

// With is the program as it is installed beside other files.
func (b *Binary) With(t *testing.T, files map[string][]byte) *Binary {
	t.Helper()
	path, err := b.file()
	if err != nil {
		t.Fatal(err)
	}
	installed := &Binary{name: b.name, path: filepath.Join(t.TempDir(), b.name)}
	installed.once.Do(func() {})
	program, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := WriteProgram(installed.path, program); err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		if err := WriteProgram(filepath.Join(filepath.Dir(installed.path), name), content); err != nil {
			t.Fatal(err)
		}
	}
	return installed
}

// WriteProgram writes a file that can be run at once. A process that a parallel test starts while the file is open would have it open for writing, too, until it
// runs its own program, and nobody can run a file that somebody writes: so none is started meanwhile. Tests run it as other users, too.
func WriteProgram(path string, content []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, content, 0o755)
}
