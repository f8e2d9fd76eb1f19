package main

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// The pages at which reading begins. The second orders the others.
const (
	home  = "README.md"
	index = "docs/README.md"
)

// tree is what the site is made of, by slash-separated paths in the project.
type tree struct {
	root    string
	pages   map[string]*page
	sources map[string]*source
	images  map[string][]byte
}

// read reads all pages of docs/, README.md, and whatever they link to.
func read(root string) (*tree, error) {
	t := &tree{root: root, pages: map[string]*page{}, sources: map[string]*source{}, images: map[string][]byte{}}
	waiting := []string{home}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(file string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && filepath.Ext(file) == ".md" {
			name, _ := filepath.Rel(root, file) // it is below root
			waiting = append(waiting, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	var problems []error
	for len(waiting) > 0 {
		name := waiting[0]
		waiting = waiting[1:]
		if t.has(name) {
			continue
		}
		found, err := t.add(name)
		if err != nil {
			problems = append(problems, err)
		}
		waiting = append(waiting, found...)
	}
	for _, name := range slices.Sorted(maps.Keys(t.pages)) {
		problems = append(problems, t.lead(t.pages[name])...)
	}
	return t, errors.Join(problems...)
}

func (t *tree) has(name string) bool {
	_, image := t.images[name]
	return image || t.pages[name] != nil || t.sources[name] != nil
}

// add reads a file or a folder, and returns what it links to. What does not exist is the problem of whoever links to it.
func (t *tree) add(name string) ([]string, error) {
	file := filepath.Join(t.root, filepath.FromSlash(name))
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		readme := path.Join(name, home)
		if _, err := os.Stat(filepath.Join(t.root, filepath.FromSlash(readme))); err == nil {
			return []string{readme}, nil
		}
		found, err := readFolder(file, name)
		t.sources[name] = found
		return found.files(), err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	switch path.Ext(name) {
	case ".md":
		p, err := parse(name, text)
		if err != nil {
			return nil, err
		}
		t.pages[name] = p
		return p.targets(), nil
	case ".svg", ".png":
		t.images[name] = text
	default:
		t.sources[name] = readSource(name, text)
	}
	return nil, nil
}

// address is where the site has a file or a folder of the project, and false if it has it not.
func (t *tree) address(name string) (string, bool) {
	if p := path.Join(name, home); t.pages[p] != nil {
		name = p
	}
	switch {
	case t.pages[name] != nil && path.Base(name) == home:
		return path.Join(path.Dir(name), "index.html"), true
	case t.pages[name] != nil:
		return strings.TrimSuffix(name, ".md") + ".html", true
	case t.sources[name] != nil && t.sources[name].folder:
		return path.Join(name, "index.html"), true
	case t.sources[name] != nil:
		return name + ".html", true
	}
	_, image := t.images[name]
	return name, image
}

// relative leads from one file of the site to another.
func relative(from, to string) string {
	back := strings.Repeat("../", strings.Count(from, "/"))
	for dir := path.Dir(from); dir != "."; {
		if rest, below := strings.CutPrefix(to, dir+"/"); below {
			depth := strings.Count(from, "/") - strings.Count(dir, "/") - 1
			return strings.Repeat("../", depth) + rest
		}
		dir = path.Dir(dir)
	}
	return back + to
}
