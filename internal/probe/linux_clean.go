package probe

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"syscall"

	"github.com/farrier-dev/farrier/internal/probe/disk"
)

var _ disk.Source = Linux{}

// Disks lists the disks of this machine with what it takes to wipe them.
func (l Linux) Disks(ctx context.Context) ([]disk.Disk, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t := tree{l.FS}
	if l.FS == nil {
		t.FS = os.DirFS("/")
	}
	if !t.exists("sys/block") {
		return nil, errors.New("sys/block is not there: sysfs is not mounted")
	}
	uses := inUse(t)
	var out []disk.Disk
	for _, known := range disks(t) {
		dir := path.Join("sys/block", known.Name)
		d := disk.Disk{
			BlockDevice: known, InUse: uses[known.Name], Group: known.WWID,
			// SAT-4 §8.1.2: the translation layer's vendor is ATA.
			ATA:         known.Vendor == "ATA",
			WriteZeroes: t.number(dir+"/queue/write_zeroes_max_bytes") > 0,
			Partitions:  partitions(t, dir),
		}
		if local, subsystem := nvme(t, dir); local {
			d.Namespace, d.Group = uint32(t.number(dir+"/nsid")), subsystem
		}
		out = append(out, d)
	}
	return out, nil
}

// nvme tells the subsystem of a namespace whose controller is in this machine. With
// multipathing the namespace is below the subsystem, the controllers beside it.
func nvme(t tree, dir string) (local bool, subsystem string) {
	device := dir + "/device"
	for _, at := range append([]string{device}, t.below(device, "nvme")...) {
		switch t.text(at + "/transport") {
		case "":
			continue
		case "tcp", "rdma", "fc", "loop":
			return false, ""
		}
		return true, first(t.text(at+"/subsysnqn"), t.text(device+"/subsysnqn"), at)
	}
	return false, ""
}

func partitions(t tree, dir string) []disk.Extent {
	var out []disk.Extent
	for _, part := range t.list(dir) {
		at := path.Join(dir, part)
		if t.exists(at + "/partition") {
			out = append(out, disk.Extent{Offset: int64(t.number(at+"/start")) * sysfsSector, Length: int64(t.number(at+"/size")) * sysfsSector})
		}
	}
	return out
}

// OpenForErase opens a disk that nothing uses. Arrays and volumes that were assembled from
// what a tenant left, and that nothing uses either, are taken apart first.
func (l Linux) OpenForErase(_ context.Context, d disk.Disk) (disk.Device, error) {
	dev, err := disk.OpenForErase(d)
	if !errors.Is(err, syscall.EBUSY) {
		return dev, err
	}
	if released := disk.Release(d.Name); released != nil {
		return nil, fmt.Errorf("%w; what holds it: %w", err, released)
	}
	return disk.OpenForErase(d)
}

// Inspect opens a disk to be asked and read.
func (l Linux) Inspect(_ context.Context, d disk.Disk) (disk.Device, error) { return disk.Inspect(d) }

// list names what is in a directory; nothing where there is none.
func (t tree) list(dir string) []string {
	entries, err := fs.ReadDir(t.FS, dir)
	if err != nil {
		return nil
	}
	out := make([]string, 0, len(entries))
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// below lists the paths in a directory whose names are a prefix and a number.
func (t tree) below(dir, prefix string) []string {
	var out []string
	for _, name := range t.list(dir) {
		if len(name) > len(prefix) && name[:len(prefix)] == prefix {
			if _, err := strconv.Atoi(name[len(prefix):]); err == nil {
				out = append(out, path.Join(dir, name))
			}
		}
	}
	return out
}
