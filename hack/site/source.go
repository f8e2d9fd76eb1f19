package main

import (
	"bytes"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// source is a file or a folder that is no Markdown: pages link to manifests, to packages and to tests.
type source struct {
	name    string
	folder  bool
	text    string   // of a file
	entries []string // of a folder: files by name, folders with a slash
}

// shown are the endings of files which a page shows if only its folder is linked.
var shown = []string{".md", ".yaml", ".yml", ".bu", ".json", ".sh", ".conf", ".txt"}

func readSource(name string, text []byte) *source {
	if !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 {
		text = []byte("This file is no text.\n")
	}
	return &source{name: name, text: string(text)}
}

func readFolder(dir, name string) (*source, error) {
	found := &source{name: name, folder: true}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		switch {
		case strings.HasPrefix(e.Name(), "."), e.Name() == "testdata":
		case e.IsDir():
			found.entries = append(found.entries, e.Name()+"/")
		default:
			found.entries = append(found.entries, e.Name())
		}
	}
	return found, err
}

// files are the files of a folder which the site has too.
func (s *source) files() []string {
	var found []string
	for _, e := range s.entries {
		if slices.Contains(shown, path.Ext(e)) {
			found = append(found, path.Join(s.name, e))
		}
	}
	return found
}
