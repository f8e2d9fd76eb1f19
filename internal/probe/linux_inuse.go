package probe

import (
	"encoding/binary"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf16"
)

// blockNames knows how block devices stand on one another.
type blockNames struct {
	tree
	diskOf map[string]string // a disk or partition to its disk
	byDev  map[string]string // major:minor to a name
}

func readBlockNames(t tree) blockNames {
	b := blockNames{tree: t, diskOf: map[string]string{}, byDev: map[string]string{}}
	for _, disk := range t.list("sys/block") {
		dir := path.Join("sys/block", disk)
		b.diskOf[disk], b.byDev[t.text(dir+"/dev")] = disk, disk
		for _, part := range t.list(dir) {
			if t.exists(path.Join(dir, part, "partition")) {
				b.diskOf[part], b.byDev[t.text(path.Join(dir, part, "dev"))] = disk, part
			}
		}
	}
	delete(b.byDev, "")
	return b
}

// under lists the disks that a device stands on, through any number of layers.
func (b blockNames) under(name string) []string {
	var out []string
	todo, seen := []string{name}, map[string]bool{}
	for len(todo) > 0 {
		disk, ok := b.diskOf[todo[0]]
		todo = todo[1:]
		if !ok || seen[disk] {
			continue
		}
		seen[disk] = true
		out = append(out, disk)
		todo = append(todo, b.list(path.Join("sys/block", disk, "slaves"))...)
	}
	return out
}

// named turns a path such as /dev/sda1 or a link below /dev into the kernel's name.
func (b blockNames) named(device string) string {
	rest, ok := strings.CutPrefix(device, "/dev/")
	if !ok {
		return ""
	}
	if name := strings.ReplaceAll(rest, "/", "!"); b.diskOf[name] != "" {
		return name
	}
	target, err := fs.ReadLink(b.FS, "dev/"+rest)
	if err != nil {
		return ""
	}
	return path.Base(target)
}

// inUse says of each disk that the running system stands on what for.
func inUse(t tree) map[string]string {
	b := readBlockNames(t)
	uses := map[string]string{}
	use := func(name, what string) {
		for _, disk := range b.under(name) {
			if uses[disk] == "" {
				uses[disk] = what
			}
		}
	}
	for _, m := range mounts(t) {
		what := "mounted at " + m.at
		use(b.byDev[m.dev], what)
		// Btrfs and others have a device number of their own; their source is a disk.
		use(b.named(m.source), what)
	}
	for line := range strings.Lines(t.read("proc/swaps", 1<<16)) {
		if fields := strings.Fields(line); len(fields) > 0 {
			use(b.named(fields[0]), "swap")
		}
	}
	for _, uuid := range t.list("sys/fs/btrfs") {
		for _, name := range t.list(path.Join("sys/fs/btrfs", uuid, "devices")) {
			use(name, "part of a mounted Btrfs")
		}
	}
	for _, device := range bootMedia(t) {
		use(b.named(device), "boot medium of the running system")
	}
	return uses
}

type mount struct{ dev, at, source string }

// mounts reads what is mounted for this process and, as this one may be in a container, for
// the first (proc_pid_mountinfo(5)). The kernel escapes spaces, so fields are separated by
// nothing else.
func mounts(t tree) []mount {
	var out []mount
	for line := range strings.Lines(t.read("proc/self/mountinfo", 4<<20) + t.read("proc/1/mountinfo", 4<<20)) {
		before, after, ok := strings.Cut(line, " - ")
		fields, more := strings.Fields(before), strings.Fields(after)
		if ok && len(fields) >= 5 && len(more) >= 2 {
			out = append(out, mount{dev: fields[2], at: fields[4], source: more[1]})
		}
	}
	return out
}

// bootMedia are devices that the system was booted from, mounted or not: what the command
// line names as root, and the partition that a boot loader of systemd says it was on.
func bootMedia(t tree) []string {
	var out []string
	for word := range strings.FieldsSeq(t.read("proc/cmdline", 1<<16)) {
		root, ok := strings.CutPrefix(word, "root=")
		if !ok {
			continue
		}
		root = strings.TrimPrefix(root, "live:")
		if strings.HasPrefix(root, "/dev/") {
			out = append(out, root)
		}
		kind, value, _ := strings.Cut(root, "=")
		if slices.Contains([]string{"UUID", "PARTUUID", "LABEL", "PARTLABEL"}, kind) {
			out = append(out, "/dev/disk/by-"+strings.ToLower(kind)+"/"+strings.Trim(value, `"`))
		}
	}
	// An EFI variable is four bytes of attributes, then UTF-16 (UEFI 2.10 §8.2).
	variable := t.read("sys/firmware/efi/efivars/LoaderDevicePartUUID-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f", 256)
	if len(variable) > 4 {
		var text []uint16
		for b := []byte(variable[4:]); len(b) >= 2; b = b[2:] {
			text = append(text, binary.LittleEndian.Uint16(b))
		}
		uuid := strings.Trim(string(utf16.Decode(text)), "\x00")
		out = append(out, "/dev/disk/by-partuuid/"+strings.ToLower(uuid))
	}
	return out
}
