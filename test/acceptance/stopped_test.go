package acceptance

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/farrier-dev/farrier/test/await"
	"github.com/farrier-dev/farrier/test/product"
)

// TestStoppedWhileItStarts: whoever stops the product before it is ready has asked for that. It ends without an error, and starts as ever
// after that.
func TestStoppedWhileItStarts(t *testing.T) {
	t.Parallel()
	for _, made := range []string{"etcd", "kubeconfig"} { // before the API answers, and before there are machines
		t.Run(made, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			data := filepath.Join(dir, "data")
			args := []string{
				"up", "--sim", "2", "--data-dir", data, "--api-address", "127.0.0.1:0", "--boot-address", "127.0.0.1:0",
				"--registry-address", "127.0.0.1:0", "--sim-address", "127.0.0.1:0",
			}
			p := product.Run(t, product.Farrier, "farrier up", nil, args...)
			await.Nil(t, "the start has made "+made, func() error {
				_, err := os.Stat(filepath.Join(data, made))
				return err
			})
			if err := p.Stop(); err != nil {
				t.Errorf("it ended with %v:\n%s", err, p.Log())
			}
			ready := product.Start(t, data, "--sim", "2", "--registry-address", "127.0.0.1:0", "--sim-address", "127.0.0.1:0")
			ready.Stop()
		})
	}
}
