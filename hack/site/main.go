package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	root := flag.String("root", "../..", "folder of the project")
	out := flag.String("out", "", "folder to write to; what the last run left there is removed")
	base := flag.String("base", "/", "path of the site on its host, for the page that says that there is no such page")
	flag.Parse()
	if err := run(*root, *out, *base); err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
}

// marker is the file by which a later run knows that a folder is a site, and that it may be removed.
const marker = "search-index.js"

func run(root, out, base string) error {
	if out == "" {
		return fmt.Errorf("usage: site -out FOLDER [-root FOLDER] [-base PATH]")
	}
	files, err := build(root, base)
	if err != nil {
		return err
	}
	if err := empty(out); err != nil {
		return err
	}
	for name, content := range files {
		file := filepath.Join(out, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, content, 0o644); err != nil {
			return err
		}
	}
	fmt.Printf("%s: %d files; begin at %s\n", out, len(files), filepath.Join(out, "index.html"))
	return nil
}

// empty removes an earlier site, and refuses a folder that holds something else.
func empty(out string) error {
	entries, err := os.ReadDir(out)
	if os.IsNotExist(err) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(out, marker)); err != nil {
		return fmt.Errorf("%s is neither empty nor a site: name another folder", out)
	}
	return os.RemoveAll(out)
}

// build returns the files of the site by their slash-separated names.
func build(root, base string) (map[string][]byte, error) {
	t, err := read(root)
	if err != nil {
		return nil, err
	}
	n, err := navigate(t)
	if err != nil {
		return nil, err
	}
	return render(t, n, base)
}
