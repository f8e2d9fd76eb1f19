package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// sumsName is the file with the checksums. sha256sum --check reads it.
const sumsName = "SHA256SUMS"

// clear makes an empty folder. It removes what an earlier release left, and nothing of a folder that is none.
func clear(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if len(entries) > 0 {
		_, sums := os.Stat(filepath.Join(folder, sumsName))
		_, images := os.Stat(filepath.Join(folder, imagesFolder))
		packages, _ := filepath.Glob(filepath.Join(folder, "farrier_*"))
		if sums != nil && images != nil && len(packages) == 0 {
			return fmt.Errorf("--dist: %s has something in it that is no release", folder)
		}
	}
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	return os.MkdirAll(folder, 0o755)
}

// create writes a file, in a folder that it makes.
func create(name string, write func(*os.File) error) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

// sums writes the checksums of the files of a folder. Those of its folders have digests of their own.
func sums(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	var list strings.Builder
	for _, e := range entries {
		if e.IsDir() || e.Name() == sumsName {
			continue
		}
		f, err := os.Open(filepath.Join(folder, e.Name()))
		if err != nil {
			return err
		}
		sum := sha256.New()
		_, err = io.Copy(sum, f)
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
		fmt.Fprintf(&list, "%x  %s\n", sum.Sum(nil), e.Name())
	}
	return os.WriteFile(filepath.Join(folder, sumsName), []byte(list.String()), 0o644)
}
