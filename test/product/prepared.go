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
	sync.Mutex
	folder string
	err    error
}

// prepare fills a data directory that does not exist yet. One that a test made itself is left to the product.
func prepare(t *testing.T, b *Binary, dataDir string) error {
	t.Helper()
	if _, err := os.Lstat(dataDir); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	prepared.Lock()
	defer prepared.Unlock()
	if prepared.folder == "" && prepared.err == nil {
		prepared.folder, prepared.err = begin(t, b)
	}
	if prepared.err != nil {
		return fmt.Errorf("prepare a data directory: %w", prepared.err)
	}
	return testapi.CopyTree(dataDir, filepath.Join(prepared.folder, "data"))
}

// begin runs the product once on a fresh data directory.
func begin(t *testing.T, b *Binary) (folder string, err error) {
	t.Helper()
	if folder, err = os.MkdirTemp("", "farrier-test-"); err != nil {
		return "", err
	}
	data := filepath.Join(folder, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		return folder, err
	}
	p, err := LaunchBinary(t, b, data)
	if err != nil {
		return folder, err
	}
	return folder, p.process.Stop()
}
