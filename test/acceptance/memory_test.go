//go:build budget

package acceptance

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/test/product"
)

const (
	// labBudget is what farrier up needs with a rack of three servers, some seconds after it is Available, and bootsBudget with a thousand
	// boot configs more, each of which was asked for. Most of it is the Kubernetes API; 110 MiB are the program itself. 273 to 317 and 367 to
	// 382 MiB were found: how much memory lies free between live objects depends on when a start collects. Without the rule of
	// internal/host/collector it was 460 and 810.
	labBudget   = 380 << 20
	bootsBudget = 480 << 20
	bootConfigs = 1000
)

// TestBudgetOfALab: what farrier up took when it was busy it gives back when it is not.
func TestBudgetOfALab(t *testing.T) {
	p := product.Start(t, filepath.Join(t.TempDir(), "data"), "--sim", "3", "--sim-address", "127.0.0.1:0", "--sim-admin-address", "127.0.0.1:0", "--registry-address", "127.0.0.1:0", "--boot-namespaces", "default")
	p.Eventually("all servers are Available", func(ctx context.Context) error {
		var servers metalv1.ServerList
		if err := p.List(ctx, &servers); err != nil {
			return err
		}
		for _, s := range servers.Items {
			if s.Status.State != metalv1.ServerStateAvailable {
				return fmt.Errorf("%s: %s", s.Name, s.Status.State)
			}
		}
		if len(servers.Items) != 3 {
			return fmt.Errorf("%d servers", len(servers.Items))
		}
		return nil
	})
	atMost(t, p, "three servers", labBudget)
	for i := range bootConfigs {
		boot := &bootv1.IPXEBootConfig{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("machine-%d", i)}}
		boot.Spec.SystemUUID = uuidOf(i)
		boot.Spec.KernelURL, boot.Spec.InitrdURL = "http://boot.example.org/kernel", "http://boot.example.org/initrd"
		if err := p.Create(t.Context(), boot); err != nil {
			t.Fatal(err)
		}
	}
	for i := range bootConfigs {
		p.Eventually("machine "+uuidOf(i)+" is answered", func(ctx context.Context) error { return answered(ctx, p.Boot+"/ipxe/"+uuidOf(i)) })
	}
	atMost(t, p, "a thousand boot configs", bootsBudget)
}

func uuidOf(i int) string { return fmt.Sprintf("6f2b1c3d-0000-4000-8000-%012x", i+1) }

func answered(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: status %d", url, response.StatusCode)
	}
	return nil
}

// atMost waits until the product needs no more than so many bytes.
func atMost(t *testing.T, p *product.Product, with string, budget int) {
	t.Helper()
	p.Eventually("memory with "+with, func(context.Context) error {
		now, err := p.Memory("VmRSS")
		if err == nil && now > budget {
			err = fmt.Errorf("%d MiB, want at most %d", now>>20, budget>>20)
		}
		if err == nil {
			t.Logf("%s: %d MiB (budget %d)", with, now>>20, budget>>20)
		}
		return err
	})
}
