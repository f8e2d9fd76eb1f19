package system

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// checkDataDir: whoever owns the directory in which layers are cached decides what machines boot. It may have been made beforehand, by
// another user of this host.
func (s *settings) checkDataDir() error {
	for _, dir := range []string{s.DataDir, filepath.Join(s.DataDir, imagesDir)} {
		info, err := os.Stat(dir)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("--data-dir: %w", err)
		}
		stat, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			continue
		}
		if err := ownedHere(dir, info, int(stat.Uid), os.Geteuid()); err != nil {
			return fmt.Errorf("--data-dir: %w", err)
		}
	}
	return nil
}

// ownedHere says what is wrong with a directory of an owner, for a process of a user. What root has made is as good: it can do everything.
func ownedHere(dir string, info fs.FileInfo, owner, user int) error {
	if !info.IsDir() {
		return fmt.Errorf("%s is no directory", dir)
	}
	if owner != user && owner != 0 {
		return fmt.Errorf("%s belongs to user %d, who could change what machines boot, and not to user %d, who runs this: remove it, or give it away with 'chown -R %d'", dir, owner, user, user)
	}
	return nil
}
