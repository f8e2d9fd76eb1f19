package firmwareimage

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/farrier-dev/farrier/internal/host/diskspace"
)

const (
	// digestPrefix begins the name of a file whose digest was named, which is all there is to know of it; onceSuffix ends that of another, and
	// partSuffix that of one that is being written.
	digestPrefix = "sha256-"
	onceSuffix   = ".once"
	partSuffix   = ".part"
	// diskReserve is what stays free of the disk: what else is on it is worth more.
	diskReserve = 128 << 20
	maxName     = 100
	defaultName = "image.bin"
)

// clean removes what an earlier run did not verify, or could only have verified then.
func (s *Store) clean() error {
	entries, err := os.ReadDir(s.options.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the first image makes the directory
	} else if err != nil {
		return fmt.Errorf("folder of firmware images: %w", err)
	}
	for _, e := range entries {
		if name := e.Name(); strings.HasSuffix(name, onceSuffix) || strings.HasSuffix(name, partSuffix) {
			if err := os.Remove(filepath.Join(s.options.Dir, name)); err != nil {
				return fmt.Errorf("folder of firmware images: %w", err)
			}
		}
	}
	return nil
}

// file is where the image of a source is.
func (s *Store) file(source Source) string {
	if source.Digest != "" {
		return filepath.Join(s.options.Dir, digestPrefix+source.Digest)
	}
	sum := sha256.Sum256([]byte(source.URI))
	return filepath.Join(s.options.Dir, hex.EncodeToString(sum[:16])+onceSuffix)
}

// nameOf is what BMCs are told an image is called.
func nameOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil {
		return defaultName
	}
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-+", r) {
			return r
		}
		return '-'
	}, path.Base(u.Path))
	if name = strings.TrimLeft(name[max(0, len(name)-maxName):], ".-"); name == "" {
		return defaultName
	}
	return name
}

// hashed reads a file whole.
func hashed(file string) (digest string, size int64, err error) {
	f, err := os.Open(file)
	if err != nil {
		return "", 0, err
	}
	defer func() { _ = f.Close() }()
	hash := sha256.New()
	size, err = io.Copy(hash, f)
	return hex.EncodeToString(hash.Sum(nil)), size, err
}

// reserve makes room for n bytes, and removes files that nobody needs for it, the oldest first.
func (s *Store) reserve(n int64) error {
	if n > s.options.Limit {
		return fmt.Errorf("%w: %d bytes, and all images together may have %d", ErrTooLarge, n, s.options.Limit)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	used, unneeded, err := s.usage()
	if err != nil {
		return err
	}
	for used+s.reserved+n > s.options.Limit {
		if len(unneeded) == 0 {
			return fmt.Errorf("%w: it has %d bytes, and %d of %d are used by images that are needed", ErrFull, n, used+s.reserved, s.options.Limit)
		}
		if err := os.Remove(filepath.Join(s.options.Dir, unneeded[0].Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		used -= unneeded[0].Size()
		unneeded = unneeded[1:]
	}
	if left, err := diskspace.Of(s.options.Dir); err == nil && left.Bytes < uint64(n)+diskReserve {
		return fmt.Errorf("%w: it has %d MiB, and its disk has %d MiB left, of which %d stay free", ErrFull, n>>20, left.Bytes>>20, diskReserve>>20)
	}
	s.reserved += n
	return nil
}

// unreserve gives back room that a file has now, or never will.
func (s *Store) unreserve(n int64) {
	s.mu.Lock()
	s.reserved -= n
	s.mu.Unlock()
}

// usage is how many bytes are on disk in whole images, and which of these nobody needs, the oldest first. The caller has locked mu.
func (s *Store) usage() (used int64, unneeded []fs.FileInfo, err error) {
	entries, err := os.ReadDir(s.options.Dir)
	if err != nil {
		return 0, nil, err
	}
	needed := map[string]bool{}
	for source := range s.owners {
		needed[s.file(source)] = true
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || strings.HasSuffix(e.Name(), partSuffix) { // it has just gone, or is in reserved
			continue
		}
		used += info.Size()
		if !needed[filepath.Join(s.options.Dir, e.Name())] {
			unneeded = append(unneeded, info)
		}
	}
	slices.SortFunc(unneeded, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	return used, unneeded, nil
}
