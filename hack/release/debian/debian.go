package debian

import (
	"bytes"
	"compress/gzip"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"

	"github.com/farrier-dev/farrier/hack/release/program"
	"github.com/farrier-dev/farrier/hack/release/source"
)

//go:embed files
var own embed.FS

// Name is that of the package.
const Name = "farrier"

// Parts are what a package is made of.
type Parts struct {
	// Programs are paths of built programs, by name.
	Programs map[string]string
	// Manual is a folder with man/, bash/, zsh/ and fish/.
	Manual string
	// Licenses is the file with the licenses of what is linked.
	Licenses string
}

// File is the name of the package's file.
func File(s source.Source, p program.Platform) string {
	return fmt.Sprintf("%s_%s_%s.deb", Name, s.Debian(), p.Arch)
}

// Write writes the package for a platform.
func Write(w io.Writer, s source.Source, p program.Platform, parts Parts) (err error) {
	scratch, err := os.MkdirTemp("", "farrier-deb-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	if err := unpack(scratch); err != nil {
		return err
	}
	t := tree{scratch: scratch, contents: &files.Contents{}}
	if err := errors.Join(t.programs(parts), t.service(), t.manual(parts.Manual), t.documents(s, parts)); err != nil {
		return err
	}
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: Name, Arch: p.Arch, Platform: p.OS, Version: s.Debian(), VersionSchema: "none", MTime: s.Time,
		Section: "admin", Priority: "optional", Maintainer: "Farrier maintainers <maintainers@users.noreply.github.com>", Homepage: "https://github.com/farrier-dev/farrier",
		License: "Apache-2.0", DisableGlobbing: true,
		Description: "bare-metal servers from the rack to a running operating system\n" +
			"Farrier finds servers by their BMCs, inspects them, gives each to whoever\nclaims it, boots it over the network into the image they name, and wipes it\nwhen they are done. What it does is told to it by Kubernetes objects.",
		Overridables: nfpm.Overridables{
			Depends: []string{"adduser"}, Recommends: []string{"systemd-boot-efi", "ipxe"}, Suggests: []string{"kubernetes-client"},
			Contents: *t.contents, Umask: 0o22,
			Scripts: nfpm.Scripts{PostInstall: t.at("postinst"), PreRemove: t.at("prerm"), PostRemove: t.at("postrm")},
			Deb:     nfpm.Deb{Compression: "gzip:6"},
		},
	})
	return deb.Default.Package(info, w)
}

// unpack writes the embedded files into a folder, because nfpm reads files.
func unpack(folder string) error {
	return fs.WalkDir(own, "files", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := own.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(folder, d.Name()), text, 0o600)
	})
}

// tree collects the files of a package.
type tree struct {
	scratch  string
	contents *files.Contents
}

func (t tree) at(name string) string { return filepath.Join(t.scratch, name) }

func (t tree) add(file, destination, kind string, mode fs.FileMode) {
	*t.contents = append(*t.contents, &files.Content{Source: file, Destination: destination, Type: kind, FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: mode}})
}

func (t tree) programs(parts Parts) error {
	for name, file := range parts.Programs {
		t.add(file, "/usr/bin/"+name, files.TypeFile, 0o755)
	}
	// Under these names the command is a plugin of kubectl, and completes for it.
	for _, name := range []string{"kubectl-farrier", "kubectl_complete-farrier"} {
		t.add(Name, "/usr/bin/"+name, files.TypeSymlink, 0o777)
	}
	return nil
}

// service adds the unit and its configuration, which dpkg does not replace where somebody has changed it.
func (t tree) service() error {
	t.add(t.at("farrier.service"), "/lib/systemd/system/farrier.service", files.TypeFile, 0o644)
	t.add("", "/etc/farrier", files.TypeDir, 0o750)
	t.add(t.at("farrier.yaml"), "/etc/farrier/farrier.yaml", files.TypeConfigNoReplace, 0o640)
	return nil
}

// manual adds manual pages, compressed as Debian has them, and completions.
func (t tree) manual(folder string) error {
	for kind, place := range map[string]string{"man": "/usr/share/man/man1", "bash": "/usr/share/bash-completion/completions", "zsh": "/usr/share/zsh/vendor-completions", "fish": "/usr/share/fish/vendor_completions.d"} {
		entries, err := os.ReadDir(filepath.Join(folder, kind))
		if err != nil {
			return err
		}
		for _, e := range entries {
			file, name := filepath.Join(folder, kind, e.Name()), e.Name()
			if kind == "man" {
				text, err := os.ReadFile(file)
				if err != nil {
					return err
				}
				name += ".gz"
				if file, err = t.compressed(name, text); err != nil {
					return err
				}
			}
			t.add(file, place+"/"+name, files.TypeFile, 0o644)
		}
	}
	return nil
}

// documents adds the licenses and the changelog.
func (t tree) documents(s source.Source, parts Parts) error {
	license, err := os.ReadFile(parts.Licenses)
	if err != nil {
		return err
	}
	copyright := t.at("copyright")
	if err := os.WriteFile(copyright, []byte(strings.TrimRight(string(license), "\n")+"\n"), 0o600); err != nil {
		return err
	}
	t.add(copyright, "/usr/share/doc/farrier/copyright", files.TypeFile, 0o644)
	changes, err := os.ReadFile(filepath.Join(s.Root, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	file, err := t.compressed("changelog.gz", changes)
	if err != nil {
		return err
	}
	t.add(file, "/usr/share/doc/farrier/changelog.gz", files.TypeFile, 0o644)
	return nil
}

// compressed writes a gzip file without name and time in it.
func (t tree) compressed(name string, text []byte) (string, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return "", err
	}
	if _, err := w.Write(text); err != nil {
		return "", err
	}
	if err := w.Close(); err != nil {
		return "", err
	}
	return t.at(name), os.WriteFile(t.at(name), out.Bytes(), 0o600)
}
