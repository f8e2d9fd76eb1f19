//go:build linux

package pid1

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// index is what modules.dep and modules.alias say (depmod(8)).
type index struct {
	files   map[string]string   // by the name of a module, its file
	needs   map[string][]string // by its file, those to load before, the last first
	aliases map[string][]alias  // by the part before the first colon or wildcard
}

type alias struct{ pattern, module string }

func readIndex(root fs.FS) index {
	x := index{files: map[string]string{}, needs: map[string][]string{}, aliases: map[string][]alias{}}
	eachLine(root, "modules.dep", func(line string) {
		file, needs, ok := strings.Cut(line, ":")
		if !ok {
			return
		}
		x.files[strings.ReplaceAll(strings.TrimSuffix(path.Base(file), ".ko"), "-", "_")] = file
		x.needs[file] = strings.Fields(needs)
	})
	eachLine(root, "modules.alias", func(line string) {
		rest, ok := strings.CutPrefix(line, "alias ")
		space := strings.LastIndexByte(rest, ' ')
		if ok && space > 0 {
			bus := busOf(rest[:space])
			x.aliases[bus] = append(x.aliases[bus], alias{rest[:space], rest[space+1:]})
		}
	})
	return x
}

// busOf is what an alias and a pattern have to have in common. Patterns of ACPI begin with acpi*.
func busOf(text string) string {
	bus, _, _ := strings.Cut(text, ":")
	return strings.TrimSuffix(bus, "*")
}

func eachLine(root fs.FS, name string, do func(string)) {
	f, err := root.Open(name)
	if err != nil {
		return // a kernel without modules
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		do(lines.Text())
	}
}

// matching returns the modules for a device, as the kernel's alias of it says.
func (x index) matching(modalias string) []string {
	var out []string
	for _, a := range x.aliases[busOf(modalias)] {
		if ok, err := path.Match(a.pattern, modalias); ok && err == nil {
			out = append(out, a.module)
		}
	}
	return out
}

// order returns the files to load for a module, in their order.
func (x index) order(module string) []string {
	file, ok := x.files[module]
	if !ok {
		return nil
	}
	out := slices.Clone(x.needs[file])
	slices.Reverse(out)
	return append(out, file)
}

// loader loads each module once.
type loader struct {
	index
	folder string
	tried  map[string]bool
	load   func(file string) error
}

// parameters are given to modules. Disks behind a SCSI host are there when its module is.
var parameters = map[string]string{"scsi_mod.ko": "scan=sync"}

func newLoader(folder string) *loader {
	return &loader{index: readIndex(os.DirFS(folder)), folder: folder, tried: map[string]bool{}, load: loadModule}
}

// forDevices loads the modules of all devices that are there, until no module makes further devices appear. loaded are the files, failed has an error for
// each that could not be.
func (l *loader) forDevices(devices func() []string) (loaded []string, failed map[string]error) {
	failed = map[string]error{}
	for {
		progress := false
		for _, modalias := range devices() {
			for _, module := range l.matching(modalias) {
				for _, file := range l.order(module) {
					if l.tried[file] {
						continue
					}
					l.tried[file], progress = true, true
					switch err := l.load(path.Join(l.folder, file)); {
					case err == nil:
						loaded = append(loaded, file)
					case !errors.Is(err, unix.EEXIST) && !errors.Is(err, unix.ENODEV): // there already; a device that is not there after all
						failed[file] = err
					}
				}
			}
		}
		if !progress {
			return loaded, failed
		}
	}
}

func loadModule(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if err := unix.FinitModule(int(f.Fd()), parameters[path.Base(file)], 0); err != nil {
		return os.NewSyscallError("finit_module", err)
	}
	return nil
}

// modaliases lists the aliases of the devices below a folder such as /sys/devices.
func modaliases(folder string) []string {
	seen := map[string]bool{}
	_ = filepath.WalkDir(folder, func(file string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Name() == "modalias" {
			if text, err := os.ReadFile(file); err == nil {
				seen[strings.TrimSpace(string(text))] = true
			}
		}
		return nil // a device that has gone meanwhile
	})
	out := make([]string, 0, len(seen))
	for modalias := range seen {
		out = append(out, modalias)
	}
	slices.Sort(out)
	return out
}
