package testapi

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// shared is the server of this test binary. It ends with it: see the remark on standard input in apiserver/main.go.
var shared = sync.OnceValues(startShared)

// Start returns the connection of an administrator to the server that the tests of this package share, with the CRDs of config/crd.
func Start(t testing.TB) *rest.Config {
	t.Helper()
	return server(t).RESTConfig()
}

// Kubeconfig is the path of the shared server's kubeconfig.
func Kubeconfig(t testing.TB) string {
	t.Helper()
	return server(t).Kubeconfig()
}

// Namespace makes a namespace for one test. It is not deleted, as the server does not outlive the tests.
func Namespace(t testing.TB) string {
	t.Helper()
	client, err := kubernetes.NewForConfig(Start(t))
	if err != nil {
		t.Fatalf("namespace: %v", err)
	}
	created, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("namespace: %v", err)
	}
	return created.Name
}

func server(t testing.TB) *Process {
	t.Helper()
	process, err := shared()
	if err != nil {
		t.Fatalf("control plane for tests: %v", err)
	}
	t.Cleanup(func() { process.runs(t) })
	return process
}

// StartWith starts a server of the test's own, with the CRDs of config/crd and with flags of apiserver/main.go. It is killed at the end of the test, and what it stored is removed.
func StartWith(t testing.TB, flags ...string) *Process {
	t.Helper()
	process, err := startPrepared(flags...)
	if err != nil {
		t.Fatalf("control plane for tests: %v", err)
	}
	t.Cleanup(func() { process.finish(t) })
	return process
}

func startShared() (*Process, error) { return startPrepared() }

func startPrepared(flags ...string) (_ *Process, err error) {
	build, err := openBuild()
	if err != nil {
		return nil, err
	}
	prepared, err := build.prepared()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "farrier-testapi-")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	data := filepath.Join(dir, "data")
	if err := CopyTree(data, prepared); err != nil {
		return nil, fmt.Errorf("copying %s: %w", prepared, err)
	}
	process, err := launch(build.binary, append([]string{"--data-dir", data, "--remove", dir}, flags...)...)
	if err != nil {
		return nil, err
	}
	process.folder = dir
	return process, process.WaitReady()
}
