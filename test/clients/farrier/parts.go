package farrier

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// Variables that name what Farrier is made of.
const (
	controlPlane = "FARRIER_TEST_CONTROLPLANE"
	manager      = "FARRIER_TEST_MANAGER"
)

// API starts a Kubernetes API without any kind of Farrier, and returns its kubeconfig.
func API(t *testing.T) string {
	t.Helper()
	fields := strings.Fields(ready(t, "the API", controlPlane, "--data-dir", t.TempDir()))
	if len(fields) != 2 {
		t.Fatalf("the API tells %q, want its URL and its kubeconfig", fields)
	}
	return fields[1]
}

// Manager starts a farrier-manager, and waits until it is ready.
func Manager(t *testing.T, args ...string) *Process {
	t.Helper()
	health := FreeAddress(t)
	p := start(t, "farrier-manager", syscall.SIGTERM, func(string) {}, program(t, manager), append([]string{"--data-dir", t.TempDir(), "--health-address", health}, args...)...)
	Eventually(t, "farrier-manager is ready", func(ctx context.Context) error {
		select {
		case <-p.exited:
			t.Fatal("farrier-manager has ended")
		default:
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+health+"/readyz", nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("/readyz: %s", response.Status)
		}
		return nil
	})
	return p
}

// FreeAddress is one that nobody listens on now. It is of an IP address that no other program uses.
func FreeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.97.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// Command runs a command of farrier to its end, and returns what it printed.
func Command(t *testing.T, args ...string) (printed string, err error) {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), program(t, binary), args...).CombinedOutput()
	return string(output), err
}
