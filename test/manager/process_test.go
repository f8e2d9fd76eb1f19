package manager

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/farrier-dev/farrier/test/loopback"
	"github.com/farrier-dev/farrier/test/product"
)

func TestMain(m *testing.M) { product.Main(m) }

// process is a farrier-manager.
type process struct {
	*product.Process
	t      *testing.T
	name   string
	health string // URL
}

// launch starts a manager; it is killed with the test at the latest.
func launch(t *testing.T, name string, args ...string) *process {
	t.Helper()
	health := loopback.Free(t)
	args = append([]string{"--health-address", health, "--data-dir", t.TempDir()}, args...)
	p := &process{Process: product.Run(t, product.Manager, "manager "+name, nil, args...), t: t, name: name, health: "http://" + health}
	t.Cleanup(func() {
		p.Kill()
		if line := p.forbidden(); line != "" {
			t.Errorf("config/manager does not let manager %s do what it does: %s", name, line)
		}
		p.ShowIfFailed()
	})
	return p
}

// stop ends the process as a cluster would, which it takes well.
func (p *process) stop() {
	p.t.Helper()
	if err := p.Stop(); err != nil {
		p.t.Errorf("manager %s after SIGTERM: %v", p.name, err)
	}
}

// isReady waits until the process says so.
func (p *process) isReady() {
	p.t.Helper()
	eventually(p.t, "manager "+p.name+" is ready", func() error {
		client := http.Client{Timeout: 5 * time.Second}
		for _, path := range []string{"/healthz", "/readyz"} {
			response, err := client.Get(p.health + path)
			if err != nil {
				return err
			}
			_ = response.Body.Close()
			if response.StatusCode != http.StatusOK {
				return fmt.Errorf("%s: %s", path, response.Status)
			}
		}
		return nil
	})
}

// refused starts a manager that cannot work and returns what it said.
func refused(t *testing.T, args ...string) string {
	t.Helper()
	p := launch(t, "refused", args...)
	if p.Wait() == nil {
		t.Errorf("a manager with %v ended well", args)
	}
	return strings.TrimSpace(p.Log())
}

// eventually waits until check returns nil.
func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	product.Eventually(t, what, func(context.Context) error { return check() })
}
