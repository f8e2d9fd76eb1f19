package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"

	"github.com/farrier-dev/farrier/hack/release/archive"
	"github.com/farrier-dev/farrier/hack/release/changelog"
	"github.com/farrier-dev/farrier/hack/release/chart"
	"github.com/farrier-dev/farrier/hack/release/debian"
	"github.com/farrier-dev/farrier/hack/release/image"
	"github.com/farrier-dev/farrier/hack/release/licenses"
	"github.com/farrier-dev/farrier/hack/release/program"
	"github.com/farrier-dev/farrier/hack/release/sbom"
	"github.com/farrier-dev/farrier/hack/release/source"
)

// imagesFolder is where layouts are, in the folder of a release.
const imagesFolder = "images"

// work is a release in the making.
type work struct {
	source.Source
	dist       string
	platforms  []program.Platform
	unreleased bool

	notes string
	// builds are paths of programs; manual is the folder of manual pages and completions, and licenses the file.
	builds           map[program.Platform]map[string]string
	manual, licenses string
}

// check refuses what may not be released, all of it at once, before anything is built.
func (w *work) check(ctx context.Context) error {
	if w.unreleased {
		return nil
	}
	page, err := os.ReadFile(filepath.Join(w.Root, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	description, err := os.ReadFile(filepath.Join(chart.Folder(w.Root), "Chart.yaml"))
	if err != nil {
		return err
	}
	// A candidate says what the version that it leads to will say.
	version, _, _ := strings.Cut(w.Plain(), "-")
	errs := []error{w.Release(ctx), checkChart(string(description), version)}
	if w.notes, err = changelog.Notes(string(page), version); err != nil {
		errs = append(errs, fmt.Errorf("CHANGELOG.md: %w", err))
	}
	return errors.Join(errs...)
}

var chartVersion = regexp.MustCompile(`(?m)^(version|appVersion): *"?([^"\s]+)"?`)

// checkChart: the chart of a version installs the image of that version.
func checkChart(description, version string) error {
	var errs []error
	for _, m := range chartVersion.FindAllStringSubmatch(description, -1) {
		if m[2] != version {
			errs = append(errs, fmt.Errorf("charts/farrier/Chart.yaml: %s is %s, want %s", m[1], m[2], version))
		}
	}
	return errors.Join(errs...)
}

// build builds programs and what is made of their flags.
func (w *work) build(ctx context.Context) error {
	scratch := filepath.Join(w.Root, "bin", "release")
	w.builds = map[program.Platform]map[string]string{}
	var programs []string
	for _, p := range w.platforms {
		built, err := program.Build(ctx, w.Source, p, filepath.Join(scratch, p.OS+"_"+p.Arch))
		if err != nil {
			return err
		}
		w.builds[p] = built
		for _, name := range p.Programs() {
			programs = append(programs, built[name])
		}
	}
	if err := w.buildManual(ctx, filepath.Join(scratch, "manual")); err != nil {
		return err
	}
	text, err := licenses.Of(ctx, w.Root, programs)
	if err != nil {
		return err
	}
	w.licenses = filepath.Join(scratch, licenses.Name)
	return os.WriteFile(w.licenses, text, 0o600)
}

// buildManual runs hack/manual on this machine.
func (w *work) buildManual(ctx context.Context, folder string) error {
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "run", "-trimpath", "-buildvcs=false", "./hack/manual",
		"-dir", folder, "-version", w.Plain(), "-time", strconv.FormatInt(w.Time.Unix(), 10))
	cmd.Dir = w.Root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("hack/manual: %w", err)
	}
	w.manual = folder
	return nil
}

// everything is what `make release` makes. What an earlier version left in the folder goes first.
func (w *work) everything(ctx context.Context) error {
	if err := clear(w.dist); err != nil {
		return err
	}
	if err := w.says(ctx); err != nil {
		return err
	}
	for _, p := range w.platforms {
		if err := w.archive(p); err != nil {
			return err
		}
	}
	if err := errors.Join(w.packages(ctx), w.images(ctx), w.imageArchives(), w.chart()); err != nil {
		return err
	}
	if w.notes != "" {
		if err := os.WriteFile(filepath.Join(w.dist, "NOTES.md"), []byte(w.notes), 0o644); err != nil {
			return err
		}
	}
	return sums(w.dist)
}

// says asks the program of this platform for its version: what the linker was told is what users read.
func (w *work) says(ctx context.Context) error {
	built := w.builds[program.Platform{OS: runtime.GOOS, Arch: runtime.GOARCH}]
	for name, file := range built {
		out, err := exec.CommandContext(ctx, file, "--version").Output()
		if err != nil {
			return fmt.Errorf("%s --version: %w", name, err)
		}
		if want := name + " " + w.Version + " (commit " + w.Commit[:12] + ", "; !strings.HasPrefix(string(out), want) {
			return fmt.Errorf("%s --version: prints %q, want %q", name, out, want)
		}
	}
	return nil
}

// archive writes the archive of a platform, and its bill of materials.
func (w *work) archive(p program.Platform) error {
	name := fmt.Sprintf("farrier_%s_%s_%s", w.Plain(), p.OS, p.Arch)
	entries := []archive.Entry{{Name: name + "/" + licenses.Name, Mode: 0o644, File: w.licenses}}
	for _, file := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		entries = append(entries, archive.Entry{Name: name + "/" + file, Mode: 0o644, File: filepath.Join(w.Root, file)})
	}
	for kind, folder := range map[string]string{"man": "man/man1", "bash": "completions/bash", "zsh": "completions/zsh", "fish": "completions/fish"} {
		pages, err := archive.Folder(filepath.Join(w.manual, kind), name+"/"+folder)
		if err != nil {
			return err
		}
		entries = append(entries, pages...)
	}
	var programs []string
	for _, of := range p.Programs() {
		programs = append(programs, w.builds[p][of])
		entries = append(entries, archive.Entry{Name: name + "/bin/" + of, Mode: 0o755, File: w.builds[p][of]})
	}
	bill, err := sbom.Of(sbom.Subject{Name: name, Version: w.Version, Time: w.Time}, programs...)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(w.dist, name+".cdx.json"), bill, 0o644); err != nil {
		return err
	}
	return create(filepath.Join(w.dist, name+".tar.gz"), func(f *os.File) error { return archive.Gzip(f, entries, w.Time) })
}

// packages writes the Debian packages, in place of those of an earlier version.
func (w *work) packages(context.Context) error {
	for _, p := range w.platforms {
		if p.OS != "linux" {
			continue
		}
		earlier, err := filepath.Glob(filepath.Join(w.dist, debian.Name+"_*_"+p.Arch+".deb"))
		if err != nil {
			return err
		}
		for _, file := range earlier {
			if err := os.Remove(file); err != nil {
				return err
			}
		}
		parts := debian.Parts{Programs: w.builds[p], Manual: w.manual, Licenses: w.licenses}
		if err := create(filepath.Join(w.dist, debian.File(w.Source, p)), func(f *os.File) error { return debian.Write(f, w.Source, p, parts) }); err != nil {
			return fmt.Errorf("package for %s: %w", p, err)
		}
	}
	return nil
}

// chart writes the package of the Helm chart.
func (w *work) chart() error {
	return create(filepath.Join(w.dist, chart.File(w.Plain())), func(f *os.File) error { return chart.Write(f, w.Root, w.Plain(), w.Time) })
}

// images writes the layouts and a list of their digests.
func (w *work) images(context.Context) error {
	var list strings.Builder
	for _, i := range image.Images {
		digest, err := i.Write(w.Source, w.builds, filepath.Join(w.dist, imagesFolder, i.Name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&list, "%s:%s@%s\n", i.Name, w.Plain(), digest)
	}
	fmt.Print(list.String())
	return os.WriteFile(filepath.Join(w.dist, "images.txt"), []byte(list.String()), 0o644)
}

// imageArchives packs each layout into one file, which tools read as oci-archive.
func (w *work) imageArchives() error {
	for _, i := range image.Images {
		entries, err := archive.Folder(filepath.Join(w.dist, imagesFolder, i.Name), ".")
		if err != nil {
			return err
		}
		if err := create(filepath.Join(w.dist, i.Name+"_"+w.Plain()+"_oci.tar"), func(f *os.File) error { return archive.Write(f, entries, w.Time) }); err != nil {
			return err
		}
	}
	return nil
}
