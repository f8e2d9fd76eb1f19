package testapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/farrier-dev/farrier/internal/controlplane/crds"
)

const (
	modulePath = "github.com/farrier-dev/farrier"

	// buildTimeout allows for the first build of the API server's packages on a small machine.
	buildTimeout = 9 * time.Minute
	lockInterval = 50 * time.Millisecond
	// keepUnused is how long binaries and data directories of former sources stay in the cache.
	keepUnused = 24 * time.Hour
)

// program is a server for tests.
type program struct {
	name string
	// variable names a ready-made binary, for machines where building is somebody else's step.
	variable string
	command  string
	// sources are the folders that the binary is made from.
	sources []string
}

// embedded is the control plane of farrier up, with the admission rules and what they judge by.
var embedded = program{
	name: "apiserver", variable: "FARRIER_TEST_CONTROLPLANE", command: "./internal/controlplane/testapi/apiserver", sources: []string{
		"internal/controlplane", "internal/admission", "internal/controller/index", "internal/bootview", "internal/identity", "internal/image",
		"internal/ipxeapi/assignment", "internal/ipxeapi/profile", "api",
	},
}

// full is the API server of a cluster.
var full = program{
	name: "kubeapiserver", variable: "FARRIER_TEST_KUBEAPISERVER", command: "./internal/controlplane/testapi/kubeapiserver", sources: []string{"internal/controlplane"},
}

// build is a binary of a program and what was prepared with it.
type build struct {
	program
	root   string // of the module
	cache  string
	key    string // of the sources
	binary string
}

// openBuild and openFull return the binaries of the current sources, building them when no test has before.
var (
	openBuild = sync.OnceValues(embedded.open)
	openFull  = sync.OnceValues(full.open)
)

func (p program) open() (*build, error) {
	b := &build{program: p}
	var err error
	if b.root, err = moduleRoot(); err != nil {
		return nil, err
	}
	if b.cache, err = cacheDir(); err != nil {
		return nil, err
	}
	if b.binary = os.Getenv(p.variable); b.binary != "" {
		info, err := os.Stat(b.binary)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.variable, err)
		}
		b.key = fmt.Sprintf("%x-%x", info.Size(), info.ModTime().UnixNano())
		return b, nil
	}
	if b.key, err = hashSources(b.root, p.sources); err != nil {
		return nil, err
	}
	b.binary = filepath.Join(b.cache, p.name+"-"+b.key)
	return b, b.once(b.binary, b.compile)
}

// once makes the path unless it exists. Several test binaries come here at the same time; one of them makes it.
func (b *build) once(path string, produce func(path string) error) error {
	if exists(path) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), buildTimeout)
	defer cancel()
	unlock, err := lock(ctx, filepath.Join(b.cache, "lock"))
	if err != nil {
		return err
	}
	defer unlock()
	if exists(path) {
		return nil
	}
	b.prune()
	fresh := path + ".new"
	if err := os.RemoveAll(fresh); err != nil {
		return err
	}
	if err := produce(fresh); err != nil {
		return err
	}
	return os.Rename(fresh, path)
}

func (b *build) compile(path string) error {
	ctx, cancel := context.WithTimeout(context.Background(), buildTimeout)
	defer cancel()
	// Never with the race detector, whatever the tests run with: a control plane built with it is five times slower.
	compiler := exec.CommandContext(ctx, "go", "build", "-race=false", "-ldflags=-s -w", "-o", path, b.command)
	compiler.Dir = b.root
	if output, err := compiler.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s: %w\n%s", b.command, err, output)
	}
	return nil
}

// prepared returns a data directory in which the CRDs are installed already.
func (b *build) prepared() (string, error) {
	files, err := filepath.Glob(filepath.Join(b.root, crdPattern))
	if err != nil {
		return "", err
	}
	key, err := hashFiles(files...)
	if err != nil {
		return "", err
	}
	path := filepath.Join(b.cache, "data-"+b.key+"-"+key)
	return path, b.once(path, func(path string) error { return b.prepare(path, files) })
}

func (b *build) prepare(path string, files []string) error {
	definitions, err := loadCRDs(files)
	if err != nil {
		return err
	}
	process, err := launch(b.binary, "--data-dir", path)
	if err != nil {
		return err
	}
	defer process.Kill()
	if err := process.WaitReady(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), readyTimeout)
	defer cancel()
	if err := crds.Install(ctx, process.RESTConfig(), definitions, crds.Options{SingleServer: true}); err != nil {
		return err
	}
	return process.Stop()
}

// prune removes what has not been used for a while. Failing to is no reason to fail a test.
func (b *build) prune() {
	entries, err := os.ReadDir(b.cache)
	if err != nil {
		return
	}
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && time.Since(info.ModTime()) > keepUnused && entry.Name() != "lock" {
			_ = os.RemoveAll(filepath.Join(b.cache, entry.Name()))
		}
	}
}

func exists(path string) bool {
	now := time.Now()
	return os.Chtimes(path, now, now) == nil // also tells prune that it is in use
}

func cacheDir() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		base = os.TempDir()
	}
	dir := filepath.Join(base, "farrier-test")
	return dir, os.MkdirAll(dir, 0o700)
}

// moduleRoot is found upwards from the directory of the package under test, where go test runs.
func moduleRoot() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		content, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(content), "module "+modulePath+"\n") {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%s is not below module %s", start, modulePath)
		}
	}
}

// hashSources covers everything the binary is made from.
func hashSources(root string, folders []string) (string, error) {
	files := []string{filepath.Join(root, "go.mod"), filepath.Join(root, "go.sum")}
	for _, dir := range folders {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
				files = append(files, path)
			}
			return err
		})
		if err != nil {
			return "", err
		}
	}
	return hashFiles(files...)
}

func hashFiles(paths ...string) (string, error) {
	sum := sha256.New()
	fmt.Fprintln(sum, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			return "", err
		}
		size, err := io.Copy(sum, f)
		if err = errors.Join(err, f.Close()); err != nil {
			return "", err
		}
		fmt.Fprintln(sum, path, size)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8]), nil
}

// lock waits for an exclusive lock on the file.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	ticker := time.NewTicker(lockInterval)
	defer ticker.Stop()
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("waiting for another test to build the control plane: %w", ctx.Err()), f.Close())
		}
	}
}
