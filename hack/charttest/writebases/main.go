// Command writebases writes the kustomize bases of config/kustomize, of what charts/farrier renders. make generate runs it in hack/charttest.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/farrier-dev/farrier/hack/charttest/bases"
)

func main() {
	if err := write("../../charts/farrier", "../../config"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// write replaces what is there.
func write(chartDir, configDir string) error {
	files, err := bases.Files(chartDir)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(configDir, "kustomize")); err != nil {
		return err
	}
	for name, content := range files {
		path := filepath.Join(configDir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
