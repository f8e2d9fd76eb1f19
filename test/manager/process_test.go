package manager

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is how long anything that is waited for may take before a test gives up: a limit against hanging, not a
// measurement.
const patience = 3 * time.Minute

// binaryVariable names a farrier-manager that is tested in place of a fresh build.
const binaryVariable = "FARRIER_TEST_MANAGER"

var binary = sync.OnceValues(func() (string, error) {
	if path := os.Getenv(binaryVariable); path != "" {
		return filepath.Abs(path)
	}
	dir, err := os.MkdirTemp("", "farrier-manager-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "farrier-manager")
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", path, "github.com/farrier-dev/farrier/cmd/farrier-manager")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build farrier-manager: %w\n%s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if os.Getenv(binaryVariable) == "" {
		if path, err := binary(); err == nil {
			_ = os.RemoveAll(filepath.Dir(path))
		}
	}
	os.Exit(code)
}

// process is a farrier-manager.
type process struct {
	t       *testing.T
	name    string
	health  string // URL
	command *exec.Cmd
	log     *log
	exited  chan struct{} // closed at its end; err is valid then
	err     error
}

// log is what a process prints, readable while it runs.
type log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// launch starts a manager; it is killed with the test at the latest.
func launch(t *testing.T, name string, args ...string) *process {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	health := freeAddress(t)
	p := &process{t: t, name: name, health: "http://" + health, log: &log{}, exited: make(chan struct{})}
	p.command = exec.Command(path, append([]string{"--health-address", health, "--data-dir", t.TempDir()}, args...)...)
	p.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	p.command.Stdout, p.command.Stderr = p.log, p.log
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.err = p.command.Wait()
		close(p.exited)
	}()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("manager %s printed:\n%s", name, p.log)
		}
	})
	return p
}

// kill ends the process as a power cut would.
func (p *process) kill() {
	_ = p.command.Process.Kill()
	<-p.exited
}

// stop ends the process as a cluster would.
func (p *process) stop() {
	p.t.Helper()
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	if err := p.wait(); err != nil {
		p.t.Errorf("manager %s after SIGTERM: %v", p.name, err)
	}
}

// wait returns how the process ended.
func (p *process) wait() error {
	p.t.Helper()
	select {
	case <-p.exited:
		return p.err
	case <-time.After(patience):
		p.t.Fatalf("manager %s did not end:\n%s", p.name, p.log)
		return nil
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
	if p.wait() == nil {
		t.Errorf("a manager with %v ended well", args)
	}
	return strings.TrimSpace(p.log.String())
}

// freeAddress is one that nobody listens on now. Managers that take turns need one that is known before.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// eventually waits until check returns nil.
func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %v", what, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}
