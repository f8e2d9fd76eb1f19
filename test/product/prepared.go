package product

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/farrier-dev/farrier/internal/controlplane/testapi"
)

// prepared is a data directory in which the product was once, made by the first test that needs one and removed by Main. Copies of it spare
// every other test the making of keys and the installing of CRDs, which is half of what a start costs.
var prepared struct {
	folder string // made by Main, before a test changes where temporary files go
	once   sync.Once
	err    error
}

// prepare fills a data directory that does not exist yet. One that a test made itself is left to the product.
func prepare(t *testing.T, b *Binary, dataDir string) error {
	t.Helper()
	if _, err := os.Lstat(dataDir); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	prepared.once.Do(func() { prepared.err = runOnce(t, b, filepath.Join(prepared.folder, "data")) })
	if prepared.err != nil {
		return fmt.Errorf("prepare a data directory: %w", prepared.err)
	}
	return testapi.CopyTree(dataDir, filepath.Join(prepared.folder, "data"))
}

// runOnce runs the product on a fresh data directory, and ends it when it is ready.
func runOnce(t *testing.T, b *Binary, dataDir string) error {
	t.Helper()
	if err := os.Mkdir(dataDir, 0o700); err != nil {
		return err
	}
	p, err := LaunchBinary(t, b, dataDir)
	if err != nil {
		return err
	}
	return p.process.Stop()
}
