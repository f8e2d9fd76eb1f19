package kmod

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// File is a file below lib/modules/VERSION of an image.
type File struct {
	Path    string
	Content []byte
}

// Files returns the modules and their indexes, sorted by path.
func (c Chosen) Files() []File {
	files := []File{{"modules.dep", c.dependencies()}, {"modules.alias", c.aliases()}}
	for _, m := range c {
		files = append(files, File{m.Path, m.Content})
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return files
}

// Firmware names the files that the modules may ask for.
func (c Chosen) Firmware() []string {
	names := map[string]bool{}
	for _, m := range c {
		for _, name := range m.Firmware {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// dependencies is modules.dep: a module, then all that has to be loaded before it, in the reverse of the order in which to do so.
func (c Chosen) dependencies() []byte {
	byName := map[string]Module{}
	for _, m := range c {
		byName[m.Name] = m
	}
	var b bytes.Buffer
	for _, m := range c {
		needed := map[string]bool{}
		var follow func(Module)
		follow = func(m Module) {
			for _, name := range m.needs {
				if next, ok := byName[name]; ok && !needed[name] {
					needed[name] = true
					follow(next)
				}
			}
		}
		follow(m)
		fmt.Fprintf(&b, "%s:", m.Path)
		for _, before := range slices.Backward(c) {
			if needed[before.Name] && before.Name != m.Name {
				fmt.Fprintf(&b, " %s", before.Path)
			}
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

func (c Chosen) aliases() []byte {
	var b bytes.Buffer
	for _, m := range c {
		for _, alias := range m.Aliases {
			fmt.Fprintf(&b, "alias %s %s\n", alias, m.Name)
		}
	}
	return b.Bytes()
}
