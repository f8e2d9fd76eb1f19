package testapi

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// crdPattern is where the generated definitions are, from the root of the module.
const crdPattern = "config/crd/*.yaml"

func loadCRDs(files []string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	definitions := make([]*apiextensionsv1.CustomResourceDefinition, 0, len(files))
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(content, definition); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if definition.Kind == "CustomResourceDefinition" {
			definitions = append(definitions, definition)
		}
	}
	return definitions, nil
}

// CopyTree copies directories and regular files. Etcd reserves 64 MB for every log file, so holes stay holes, and the file it keeps in
// reserve is left out.
func CopyTree(to, from string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, relative)
		switch {
		case entry.IsDir():
			return os.MkdirAll(target, 0o700)
		case !entry.Type().IsRegular() || strings.HasSuffix(path, ".tmp"):
			return nil
		}
		return copySparse(target, path)
	})
}

func copySparse(to, from string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(copyBlocks(target, source), target.Close())
}

func copyBlocks(target *os.File, source io.Reader) error {
	block, zero := make([]byte, 64<<10), make([]byte, 64<<10)
	size := int64(0)
	for {
		n, err := io.ReadFull(source, block)
		if n > 0 && !bytes.Equal(block[:n], zero[:n]) {
			if _, err := target.WriteAt(block[:n], size); err != nil {
				return err
			}
		}
		size += int64(n)
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			return target.Truncate(size)
		case err != nil:
			return err
		}
	}
}
