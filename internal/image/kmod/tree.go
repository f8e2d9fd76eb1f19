package kmod

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Tree is a folder of modules, lib/modules/VERSION.
type Tree struct {
	folder string
	files  map[string]string // by the module's name, the path below the folder
}

// Open lists a folder of modules.
func Open(folder string) (Tree, error) {
	t := Tree{folder: folder, files: map[string]string{}}
	err := filepath.WalkDir(folder, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := moduleName(entry.Name())
		if name == "" || entry.IsDir() {
			return nil
		}
		below, err := filepath.Rel(folder, file)
		if err != nil {
			return err
		}
		below = filepath.ToSlash(below)
		// modprobe prefers updates/ to kernel/ (depmod.d(5), "search").
		if has, ok := t.files[name]; !ok || strings.HasPrefix(has, "kernel/") && !strings.HasPrefix(below, "kernel/") {
			t.files[name] = below
		}
		return nil
	})
	if err != nil {
		return Tree{}, fmt.Errorf("kernel modules: %w", err)
	}
	if len(t.files) == 0 {
		return Tree{}, fmt.Errorf("kernel modules: none below %s", folder)
	}
	return t, nil
}

// Chosen are modules, each behind those that it depends on.
type Chosen []Module

// Choose reads the modules that a pattern matches, and all that they depend on. A pattern is the name of a module, or a folder below
// the tree's, with a slash at its end; both may have the wildcards of path.Match. unused are the patterns that match nothing: what
// one kernel has as a module, another has built in or not at all. Modules in without are not chosen by a pattern, only because another needs them.
func (t Tree) Choose(patterns, without []string) (chosen Chosen, unused []string, err error) {
	c := chooser{tree: t, state: map[string]int{}}
	names := slices.Sorted(maps.Keys(t.files))
	for _, pattern := range patterns {
		some := false
		for _, name := range names {
			matches, err := match(pattern, name, t.files[name])
			if err != nil {
				return nil, nil, fmt.Errorf("module pattern %q: %w", pattern, err)
			}
			if !matches || slices.Contains(without, name) {
				continue
			}
			some = true
			if err := c.add(name); err != nil {
				return nil, nil, err
			}
		}
		if !some {
			unused = append(unused, pattern)
		}
	}
	return c.chosen, unused, nil
}

func match(pattern, name, file string) (bool, error) {
	folder, isFolder := strings.CutSuffix(pattern, "/")
	if !isFolder {
		return path.Match(canonical(pattern), name)
	}
	for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
		if ok, err := path.Match(folder, dir); ok || err != nil {
			return ok, err
		}
	}
	_, err := path.Match(folder, "")
	return false, err
}

// chooser goes through dependencies, deepest first.
type chooser struct {
	tree   Tree
	state  map[string]int
	chosen Chosen
}

// What is known of a module while dependencies are followed.
const (
	unseen = iota
	following
	added
)

func (c *chooser) add(name string) error {
	switch c.state[name] {
	case added, following: // soft dependencies may go in a circle
		return nil
	}
	file, ok := c.tree.files[name]
	if !ok {
		return nil // built in, or left out of this kernel
	}
	c.state[name] = following
	m, err := read(filepath.Join(c.tree.folder, filepath.FromSlash(file)), file)
	if err != nil {
		return err
	}
	for _, needed := range m.needs {
		if err := c.add(needed); err != nil {
			return err
		}
	}
	c.state[name] = added
	c.chosen = append(c.chosen, m)
	return nil
}
