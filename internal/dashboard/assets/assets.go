package assets

import (
	"embed"
	"io/fs"
)

//go:embed files SHA256SUMS licenses
var tree embed.FS

// Files are the scripts and styles, by name.
func Files() fs.FS {
	files, err := fs.Sub(tree, "files")
	if err != nil { // for an invalid name alone
		return tree
	}
	return files
}
