package product

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/farrier-dev/farrier/api"
)

// Product is a running farrier up.
type Product struct {
	client.Client
	// Kubeconfig is the path of the administrator's, and Boot the URL of the boot server.
	Kubeconfig, Boot string
	// BootCA is the file with the authority of the boot server's certificate; empty: it speaks no TLS, or nobody said.
	BootCA string
	// Operator is the URL of the operator address, and OperatorCA the file with the authority of its certificate.
	Operator, OperatorCA string
	// Registry is the address of the registry of the simulated rack; empty: there is none.
	Registry string

	t       *testing.T
	process *Process
	shared  bool // by several tests, so that none of them ends it
}

// Start runs `farrier up` on a data directory and waits until it says that it is ready. A data directory that does not exist is made as a copy of one in
// which the product has run; tests of what the product makes there give it an empty one.
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
	return LaunchBinary(t, Farrier, dataDir, args...)
}

// LaunchBinary is Launch for a program that is not started as usual.
func LaunchBinary(t *testing.T, b *Binary, dataDir string, args ...string) (*Product, error) {
	t.Helper()
	p, err := launch(t, b, dataDir, args...)
	t.Cleanup(p.Stop)
	return p, err
}

// launch starts a product that somebody else ends.
func launch(t *testing.T, b *Binary, dataDir string, args ...string) (*Product, error) {
	t.Helper()
	if err := prepare(t, b, dataDir); err != nil {
		t.Fatal(err)
	}
	args = append([]string{"up", "--data-dir", dataDir, "--api-address", "127.0.0.1:0", "--boot-address", "127.0.0.1:0", "--bmc-fast-poll", "100ms", "--discovery-root", "none", "-o", "json"}, args...)
	ready := make(chan string, 1)
	p := &Product{t: t}
	p.process = Run(t, b, "farrier up", func(line string) {
		ready <- line
	}, args...)
	select {
	case line := <-ready:
		return p, p.connect(line)
	case <-p.process.exited:
		return p, errors.New(p.Log())
	case <-time.After(Patience):
		return p, fmt.Errorf("not ready within %s:\n%s", Patience, p.Log())
	}
}

func (p *Product) connect(line string) error {
	var at struct{ Kubeconfig, Boot, BootCA, Operator, OperatorCA, Registry string }
	if err := json.Unmarshal([]byte(line), &at); err != nil {
		return fmt.Errorf("%q: %w", line, err)
	}
	p.Kubeconfig, p.Boot, p.BootCA, p.Operator, p.OperatorCA, p.Registry = at.Kubeconfig, at.Boot, at.BootCA, at.Operator, at.OperatorCA, at.Registry
	config, err := clientcmd.BuildConfigFromFlags("", p.Kubeconfig)
	if err != nil {
		return err
	}
	return p.use(config)
}

// At is what runs on an API that the product did not start: managers, which tests start and end themselves.
func At(t *testing.T, config *rest.Config) *Product {
	t.Helper()
	p := &Product{t: t, shared: true}
	if err := p.use(rest.CopyConfig(config)); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *Product) use(config *rest.Config) (err error) {
	config.QPS = -1
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, api.AddToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	p.Client, err = client.New(config, client.Options{Scheme: scheme})
	return err
}

// PID is the number of the product's process.
func (p *Product) PID() int { return p.process.PID() }

// Exited reports whether the process has ended.
func (p *Product) Exited() bool {
	select {
	case <-p.process.exited:
		return true
	default:
		return false
	}
}

// Log is what the product has printed for people so far.
func (p *Product) Log() string { return p.process.Log() }

// Kill ends the product as a power cut would.
func (p *Product) Kill() {
	p.t.Helper()
	p.isOwn()
	p.process.Kill()
}

// Stop ends the product as its user would, and shows its log when the test has failed.
func (p *Product) Stop() {
	p.t.Helper()
	p.isOwn()
	_ = p.process.Stop() // one that was killed, or refused to start, has ended with an error
	p.process.ShowIfFailed()
}

// isOwn fails a test that is about to end a product which others use.
func (p *Product) isOwn() {
	p.t.Helper()
	if p.shared {
		p.t.Fatal("a product that tests share is not ended by one of them")
	}
}

// Eventually waits until check returns nil, and fails the test with its last error otherwise.
func (p *Product) Eventually(what string, check func(context.Context) error) {
	p.t.Helper()
	Eventually(p.t, what, check)
}
