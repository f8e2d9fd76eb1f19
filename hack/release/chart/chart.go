package chart

import (
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"time"

	"github.com/farrier-dev/farrier/hack/release/archive"
)

// Name is what the chart is called.
const Name = "farrier"

// Folder returns where the chart is in the repository.
func Folder(root string) string { return filepath.Join(root, "charts", Name) }

// File returns what Helm calls the package of a version.
func File(version string) string { return Name + "-" + version + ".tgz" }

var versions = regexp.MustCompile(`(?m)^(version|appVersion):.*$`)

// Write packages the chart. Both its versions are that of the release, also where that is a candidate.
func Write(w io.Writer, root, version string, at time.Time) error {
	entries, err := archive.Folder(Folder(root), Name)
	if err != nil {
		return err
	}
	description := path.Join(Name, chartFile)
	for i := range entries {
		if entries[i].Name != description {
			continue
		}
		text, err := os.ReadFile(entries[i].File)
		if err != nil {
			return err
		}
		entries[i].File, entries[i].Content = "", versions.ReplaceAll(text, []byte("${1}: "+version))
		return archive.Gzip(w, entries, at)
	}
	return fmt.Errorf("%s has no %s", Folder(root), chartFile)
}
