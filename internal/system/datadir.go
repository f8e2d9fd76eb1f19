package system

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/farrier-dev/farrier/internal/host/ownership"
)

// checkDataDir: whoever owns the directory in which layers are cached decides what machines boot. It may have been made beforehand, by
// another user of this host.
func (s *settings) checkDataDir() error {
	path := filepath.Join(s.DataDir, imagesDir)
	dir, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("--data-dir: %w", ownership.Explain(path, err))
	}
	if err := errors.Join(ownership.Keep(dir), dir.Close()); err != nil {
		return fmt.Errorf("--data-dir: directory of layers %s: %w", path, err)
	}
	return nil
}
