package acceptance

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// TestSimulatedBMCsAtOneAddress: where all have one address, each is told apart by its port.
func TestSimulatedBMCsAtOneAddress(t *testing.T) {
	t.Parallel()
	p := start(t, filepath.Join(t.TempDir(), "data"), "--sim", "3", "--sim-address", "127.0.0.1:0", "--registry-address", "127.0.0.1:0")
	p.Eventually("three machines are found", func(ctx context.Context) error {
		var servers metalv1.ServerList
		if err := p.List(ctx, &servers); err != nil {
			return err
		}
		uuids := map[string]string{}
		for _, server := range servers.Items {
			uuid := server.Spec.SystemUUID
			if other, known := uuids[uuid]; known {
				t.Fatalf("%s and %s are one machine, %s", server.Name, other, uuid)
			}
			uuids[uuid] = server.Name
		}
		if len(uuids) != 3 {
			return fmt.Errorf("%d so far", len(uuids))
		}
		return nil
	})
}
