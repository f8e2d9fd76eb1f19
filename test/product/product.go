package product

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// Patience is how long anything that a test waits for may take before the test gives up. It is a limit
// against hanging, not a measurement.
const Patience = 2 * time.Minute

// environment variable with the path of a farrier binary that is tested in place of a fresh build.
const binaryVariable = "FARRIER_TEST_BINARY"

// binary builds the product once for all tests of this package.
var binary = sync.OnceValues(func() (string, error) {
	if path := os.Getenv(binaryVariable); path != "" {
		return filepath.Abs(path)
	}
	dir, err := os.MkdirTemp("", "farrier-acceptance-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "farrier")
	build := exec.Command("go", "build", "-o", path, "github.com/farrier-dev/farrier/cmd/farrier")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build farrier: %w\n%s", err, out)
	}
	return path, nil
})

// Main runs the tests of a package that starts the product.
func Main(m *testing.M) {
	code := m.Run()
	if os.Getenv(binaryVariable) == "" {
		if path, err := binary(); err == nil {
			_ = os.RemoveAll(filepath.Dir(path))
		}
	}
	os.Exit(code)
}

// Product is a running farrier up.
type Product struct {
	client.Client
	// Kubeconfig is the path of the administrator's, and Boot the URL of the boot server.
	Kubeconfig, Boot string

	t      *testing.T
	cmd    *exec.Cmd
	log    *safeBuffer
	exited chan struct{}
}

// safeBuffer collects what a process prints while the test may look at it.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// Start runs `farrier up` on a data directory and waits for its ready line.
func Start(t *testing.T, dataDir string, args ...string) *Product {
	t.Helper()
	p, err := Launch(t, dataDir, args...)
	if err != nil {
		t.Fatalf("farrier up: %v", err)
	}
	return p
}

// Launch is Start for those that expect it to fail: the error has what was printed.
func Launch(t *testing.T, dataDir string, args ...string) (*Product, error) {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	args = append([]string{"up", "--data-dir", dataDir, "--api-address", "127.0.0.1:0", "--boot-address", "127.0.0.1:0", "--bmc-fast-poll", "100ms"}, args...)
	p := &Product{t: t, cmd: exec.Command(path, args...), log: &safeBuffer{}, exited: make(chan struct{})}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	p.cmd.Stderr = p.log
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	ready := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(stdout)
		for lines.Scan() {
			if rest, ok := strings.CutPrefix(lines.Text(), "ready "); ok {
				ready <- rest
			}
		}
		_, _ = io.Copy(io.Discard, stdout)
		_ = p.cmd.Wait()
		close(p.exited)
	}()
	select {
	case line := <-ready:
		return p, p.connect(line)
	case <-p.exited:
		return p, errors.New(p.log.String())
	case <-time.After(Patience):
		return p, fmt.Errorf("not ready within %s:\n%s", Patience, p.log)
	}
}

func (p *Product) connect(line string) error {
	for _, field := range strings.Fields(line) {
		key, value, _ := strings.Cut(field, "=")
		switch key {
		case "kubeconfig":
			p.Kubeconfig = value
		case "boot":
			p.Boot = value
		}
	}
	config, err := clientcmd.BuildConfigFromFlags("", p.Kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, metalv1.AddToScheme, bootv1.AddToScheme, ipxev1.AddToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	p.Client, err = client.New(config, client.Options{Scheme: scheme})
	return err
}

// Log is what the product has printed for people so far.
func (p *Product) Log() string { return p.log.String() }

// Kill ends the product as a power cut would.
func (p *Product) Kill() {
	_ = p.cmd.Process.Signal(syscall.SIGKILL)
	<-p.exited
}

// Stop ends the product as its user would, and shows its log when the test has failed.
func (p *Product) Stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.exited:
	case <-time.After(Patience):
		p.t.Errorf("farrier up did not end after SIGTERM")
		p.Kill()
	}
	if p.t.Failed() {
		p.t.Logf("farrier up printed:\n%s", p.log)
	}
}

// Eventually waits until check returns nil, and fails the test with its last error otherwise.
func (p *Product) Eventually(what string, check func(context.Context) error) {
	p.t.Helper()
	deadline := time.Now().Add(Patience)
	for {
		ctx, cancel := context.WithTimeout(p.t.Context(), 10*time.Second)
		err := check(ctx)
		cancel()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("%s: %v", what, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}
