package licenses

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/module"
)

// Name is that of the file.
const Name = "LICENSES.txt"

// file is what modules call the texts that go with them.
var file = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([.-].*)?$`)

// Of returns our license, and those of Go and of every module that is linked into one of the programs. The modules have been built, so they are in
// the module cache.
func Of(ctx context.Context, root string, programs []string) ([]byte, error) {
	where, err := exec.CommandContext(ctx, "go", "env", "GOROOT", "GOMODCACHE").Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	goroot, cache, _ := strings.Cut(strings.TrimSpace(string(where)), "\n")
	var out bytes.Buffer
	if err := add(&out, "Farrier", root); err != nil {
		return nil, err
	}
	if err := add(&out, "Go", goroot); err != nil {
		return nil, err
	}
	modules, err := linked(programs)
	if err != nil {
		return nil, err
	}
	for _, m := range modules {
		path, err := module.EscapePath(m.Path)
		if err != nil {
			return nil, err
		}
		version, err := module.EscapeVersion(m.Version)
		if err != nil {
			return nil, err
		}
		if err := add(&out, m.String(), filepath.Join(cache, filepath.FromSlash(path)+"@"+version)); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}

// linked are the modules in programs, in order. What is in a folder of this repository has its license.
func linked(programs []string) ([]module.Version, error) {
	var all []module.Version
	for _, program := range programs {
		info, err := buildinfo.ReadFile(program)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", program, err)
		}
		for _, m := range info.Deps {
			if m.Replace != nil {
				m = m.Replace
			}
			if !strings.HasPrefix(m.Path, ".") {
				all = append(all, module.Version{Path: m.Path, Version: m.Version})
			}
		}
	}
	module.Sort(all)
	return slices.Compact(all), nil
}

// add adds the texts that are in a folder.
func add(out *bytes.Buffer, of, folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return fmt.Errorf("license of %s: %w", of, err)
	}
	fmt.Fprintf(out, "%s\n%s\n\n", of, strings.Repeat("=", len(of)))
	found := false
	for _, e := range entries {
		if !e.Type().IsRegular() || !file.MatchString(e.Name()) || strings.HasSuffix(e.Name(), ".go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			return fmt.Errorf("license of %s: %w", of, err)
		}
		found = true
		out.Write(bytes.TrimRight(text, "\n"))
		out.WriteString("\n\n")
	}
	if !found {
		return fmt.Errorf("license of %s: there is none in %s", of, folder)
	}
	return nil
}
