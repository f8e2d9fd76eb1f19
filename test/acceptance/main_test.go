package acceptance

import (
	"testing"

	testlab "github.com/farrier-dev/farrier/test/lab"
	"github.com/farrier-dev/farrier/test/product"
)

// shared is a product without flags, for tests that need no machine and no restart.
var shared = product.NewShared()

func TestMain(m *testing.M) { product.Main(m) }

// running is the product under the eyes of one test.
type running struct {
	*testlab.Running
	t *testing.T
}

// start runs the product on a data directory and waits until it is ready.
func start(t *testing.T, dataDir string, args ...string) *running {
	t.Helper()
	return &running{Running: testlab.Start(t, dataDir, args...), t: t}
}

// beside is the product that tests of this package share, for one of them.
func beside(t *testing.T) *running {
	t.Helper()
	return &running{Running: testlab.Beside(t, shared), t: t}
}

// launch is start for those that expect it to fail.
func launch(t *testing.T, dataDir string, args ...string) (*running, error) {
	t.Helper()
	p, err := testlab.Launch(t, dataDir, args...)
	return &running{Running: p, t: t}, err
}
