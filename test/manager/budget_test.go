//go:build budget

package manager

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controlplane/testapi"
)

const (
	// secretsVariable says how many unrelated Secrets there are in place of the default. The promise is about
	// 10,000, a gigabyte in etcd; fewer show as well whether their contents are kept, because the budget is
	// scaled down with them.
	secretsVariable = "FARRIER_TEST_SECRETS"
	fewSecrets      = 1_000
	secretSize      = 100 << 10
	// secretsBudget is for 10,000. An eighth of their contents would fit.
	secretsBudget = 128 << 20
	// noise is by how much an idle manager's memory moves from one start to the next.
	noise = 32 << 20
)

// TestBudgetOfUnrelatedSecrets: a cluster is full of Secrets that are none of the manager's business. It sees that
// there are such, for some may be referred to tomorrow, and reads none of them.
func TestBudgetOfUnrelatedSecrets(t *testing.T) {
	secrets := fewSecrets
	if text := os.Getenv(secretsVariable); text != "" {
		var err error
		if secrets, err = strconv.Atoi(text); err != nil {
			t.Fatalf("%s: %v", secretsVariable, err)
		}
	}
	budget := max(secretsBudget*secrets/10_000, noise)
	api := testapi.StartWith(t)
	const namespace = "farrier-system"
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), bootv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	config := api.RESTConfig()
	config.QPS = -1
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{namespace, "others"} {
		if err := c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"--kubeconfig", api.Kubeconfig(), "--manager-namespace", namespace, "--boot-address", "127.0.0.1:0", "--leader-elect=false"}

	first := launch(t, "first", args...)
	first.isReady()
	awaitSecretsSeen(t, c, namespace, "before")
	idle := first.memory("VmHWM")
	fillWithSecrets(t, c, "others", secrets)
	awaitSecretsSeen(t, c, namespace, "while-they-came")
	watched := first.memory("VmHWM") - idle
	first.stop()

	second := launch(t, "second", args...)
	second.isReady()
	awaitSecretsSeen(t, c, namespace, "after-a-restart")
	listed := second.memory("VmHWM") - idle
	second.stop()
	t.Logf("idle: %d MiB at most; %d Secrets of %d KiB more: %.1f MiB to watch, %.1f MiB to list (budget %d MiB)",
		idle>>20, secrets, secretSize>>10, float64(watched)/(1<<20), float64(listed)/(1<<20), budget>>20)
	if watched > budget || listed > budget {
		t.Errorf("memory grew by %d and %d bytes, want at most %d", watched, listed, budget)
	}
}

// awaitSecretsSeen returns when the manager has seen all Secrets there are: one that it needs comes last.
func awaitSecretsSeen(t *testing.T, c client.Client, namespace, name string) {
	t.Helper()
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	boot := &bootv1.IPXEBootConfig{ObjectMeta: meta}
	boot.Spec.SystemUUID = fmt.Sprintf("00000000-0000-0000-0000-%012x", []byte(name)[:6])
	boot.Spec.KernelURL, boot.Spec.InitrdURL = "http://boot.example.org/kernel", "http://boot.example.org/initrd"
	boot.Spec.IgnitionSecretRef = &bootv1.LocalObjectReference{Name: name}
	secret := &corev1.Secret{ObjectMeta: meta, Data: map[string][]byte{"ignition": []byte(`{"ignition":{"version":"3.4.0"}}`)}}
	for _, object := range []client.Object{boot, secret} {
		if err := c.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "IPXEBootConfig "+name, func() error {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(boot), boot); err != nil {
			return err
		}
		if boot.Status.State != bootv1.IPXEBootConfigStateReady {
			return fmt.Errorf("state %q: %v", boot.Status.State, boot.Status.Conditions)
		}
		return nil
	})
}

func fillWithSecrets(t *testing.T, c client.Client, namespace string, n int) {
	t.Helper()
	content := make([]byte, secretSize)
	_, _ = rand.Read(content) // never fails
	var next atomic.Int64
	errs := make([]error, 8)
	var writing sync.WaitGroup
	for i := range errs {
		writing.Go(func() {
			for errs[i] == nil {
				number := next.Add(1)
				if number > int64(n) {
					return
				}
				secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("unrelated-%05d", number)}}
				secret.Data = map[string][]byte{"content": content}
				errs[i] = c.Create(context.WithoutCancel(t.Context()), secret)
			}
		})
	}
	writing.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// memory is a line of /proc/<pid>/status in bytes.
func (p *process) memory(line string) int {
	p.t.Helper()
	bytes, err := p.Memory(line)
	if err != nil {
		p.t.Fatal(err)
	}
	return bytes
}
