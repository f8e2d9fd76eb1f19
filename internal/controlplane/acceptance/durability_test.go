package acceptance

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/farrier-dev/farrier/internal/controlplane/testapi"
)

func TestRestartKeepsData(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	first := testapi.Launch(t, "--data-dir", dir).MustBeReady(t)
	created := createConfigMap(t, clientset(t, first.RESTConfig()), "default", configMap("kept"))
	ca := first.RESTConfig().CAData
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	if output := first.Output(); output != "" {
		t.Errorf("an ordinary life left lines on standard error:\n%s", output)
	}

	second := testapi.Launch(t, "--data-dir", dir).MustBeReady(t)
	found, err := clientset(t, second.RESTConfig()).CoreV1().ConfigMaps("default").Get(t.Context(), created.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if found.UID != created.UID {
		t.Errorf("uid %s after the restart, was %s", found.UID, created.UID)
	}
	if string(ca) != string(second.RESTConfig().CAData) {
		t.Error("the restart made a new authority")
	}
	written, err := clientcmd.LoadFromFile(filepath.Join(dir, "kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	if server := written.Clusters["farrier"].Server; server != second.RESTConfig().Host {
		t.Errorf("kubeconfig names %s, the server listens on %s", server, second.RESTConfig().Host)
	}
}

func TestKillLosesNothingAcknowledged(t *testing.T) {
	t.Parallel()
	const writers, enough = 8, 300
	dir := filepath.Join(t.TempDir(), "data")
	first := testapi.Launch(t, "--data-dir", dir).MustBeReady(t)
	client := clientset(t, first.RESTConfig())

	var acknowledged sync.Map
	var count atomic.Int32
	reached := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var running sync.WaitGroup
	for writer := range writers {
		running.Go(func() {
			for i := 0; ; i++ {
				name := fmt.Sprintf("written-%d-%d", writer, i)
				if _, err := client.CoreV1().ConfigMaps("default").Create(ctx, configMap(name), metav1.CreateOptions{}); err != nil {
					return // the server is gone
				}
				acknowledged.Store(name, true)
				if count.Add(1) == enough {
					close(reached)
				}
			}
		})
	}
	select {
	case <-reached:
	case <-t.Context().Done():
	}
	first.Kill()
	cancel()
	running.Wait()

	second := testapi.Launch(t, "--data-dir", dir).MustBeReady(t)
	list, err := clientset(t, second.RESTConfig()).CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]bool, len(list.Items))
	for i := range list.Items {
		found[list.Items[i].Name] = true
	}
	acknowledged.Range(func(name, _ any) bool {
		if !found[name.(string)] {
			t.Errorf("%s was acknowledged and is lost", name)
		}
		return true
	})
	t.Logf("%d acknowledged, %d found", count.Load(), len(found))
}

func TestUnusualPaths(t *testing.T) {
	t.Parallel()
	for name, dir := range map[string]string{
		// unix(7) allows 108 bytes for the path of a socket.
		"long":  strings.Repeat("d", 120),
		"space": "data directory, 100 %",
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), dir)
			process := testapi.Launch(t, "--data-dir", path).MustBeReady(t)
			createConfigMap(t, clientset(t, process.RESTConfig()), "default", configMap("one"))
			if err := process.Stop(); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(filepath.Join(path, "etcd", "member")); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestStopDoesNotWaitForWatchers(t *testing.T) {
	t.Parallel()
	process := testapi.Launch(t, "--data-dir", filepath.Join(t.TempDir(), "data")).MustBeReady(t)
	watch, err := clientset(t, process.RESTConfig()).CoreV1().ConfigMaps("default").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	start := time.Now()
	if err := process.Stop(); err != nil {
		t.Fatal(err)
	}
	t.Logf("stopped after %s", time.Since(start))
}
