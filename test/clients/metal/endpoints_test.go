package metal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	metalv1 "github.com/ironcore-dev/metal-operator/api/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/farrier-dev/farrier/test/clients/farrier"
	"github.com/farrier-dev/farrier/test/clients/objects"
)

// TestEndpoints writes what a DHCP server writes that sees a BMC: an Endpoint with a generated name, and its address when that
// changes. Farrier finds BMC and Server from that alone.
func TestEndpoints(t *testing.T) {
	folder := t.TempDir()
	endpoints, prefixes := filepath.Join(folder, "endpoints.yaml"), filepath.Join(folder, "prefixes.yaml")
	farrier.Ready(t, "farrier sim", "sim", "--servers", "1", "--address", "127.0.0.1:0", "--admin-address", "127.0.0.1:0",
		"--print-endpoints", endpoints, "--print-mac-prefixes", prefixes)
	text, err := os.ReadFile(endpoints)
	if err != nil {
		t.Fatal(err)
	}
	seen := &metalv1.Endpoint{}
	if err := yaml.UnmarshalStrict(text, seen); err != nil {
		t.Fatal(err)
	}

	o := objects.Of(t, farrier.Empty(t, prefixes))
	endpoint := &metalv1.Endpoint{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "compute-"},
		Spec:       metalv1.EndpointSpec{MACAddress: seen.Spec.MACAddress, IP: metalv1.MustParseIP("127.0.0.2")},
	}
	if err := o.Create(t.Context(), endpoint); err != nil {
		t.Fatal(err)
	}
	second := &metalv1.Endpoint{ObjectMeta: metav1.ObjectMeta{GenerateName: "compute-"}, Spec: endpoint.Spec}
	if err := o.Create(t.Context(), second); !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) {
		t.Errorf("a second Endpoint of the same address: %v", err)
	}
	base := endpoint.DeepCopy()
	endpoint.Spec.IP = seen.Spec.IP
	if err := o.Patch(t.Context(), endpoint, client.MergeFrom(base)); err != nil {
		t.Fatal(err)
	}
	farrier.Eventually(t, "the BMC is found, and its server", func(ctx context.Context) error {
		bmc := &metalv1.BMC{}
		if err := o.Get(ctx, client.ObjectKey{Name: endpoint.Name}, bmc); err != nil {
			return err
		}
		if bmc.Status.State != metalv1.BMCStateEnabled || bmc.Status.IP.String() != seen.Spec.IP.String() {
			return fmt.Errorf("the BMC is %q at %v", bmc.Status.State, bmc.Status.IP)
		}
		servers := &metalv1.ServerList{}
		if err := o.List(ctx, servers); err != nil {
			return err
		}
		for _, server := range servers.Items {
			if server.Spec.BMCRef != nil && server.Spec.BMCRef.Name == bmc.Name {
				return nil
			}
		}
		return errors.New("no Server has that BMC")
	})
}
