package probe

import (
	"io/fs"
	"maps"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/farrier-dev/farrier/internal/probe/disk"
)

// storage is a machine with a disk for each way in which one can be in use.
func storage() fstest.MapFS {
	m := files(map[string]string{
		"proc/self/mountinfo": `22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:27 / /data rw - btrfs /dev/sdf rw
31 22 254:1 / /var rw - xfs /dev/mapper/vg-var rw
40 22 0:5 / /proc rw - proc proc rw
nonsense
`,
		"proc/1/mountinfo": "22 1 179:8 / / rw - ext4 /dev/sdk1 rw\n",
		"proc/swaps":       "Filename Type Size Used Priority\n/dev/sdc2 partition 1 0 -2\n",
		"proc/cmdline":     "BOOT_IMAGE=/vmlinuz root=PARTUUID=1234-01 quiet\n",
		// UTF-16 with attributes in front.
		"sys/firmware/efi/efivars/LoaderDevicePartUUID-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f": "\x06\x00\x00\x00A\x00B\x00-\x001\x00\x00\x00",
		"sys/fs/btrfs/0a1b/devices/sdf/x": "", "sys/fs/btrfs/0a1b/devices/sdg/x": "", "sys/fs/btrfs/features/x": "",

		"sys/block/dm-0/dev": "254:0", "sys/block/dm-0/slaves/sdd1/x": "", "sys/block/dm-0/slaves/sde/x": "",
		"sys/block/dm-1/dev": "254:1", "sys/block/dm-1/slaves/dm-0/x": "",
		"sys/block/md0/dev": "9:0", "sys/block/md0/slaves/sdh/x": "",
		"sys/block/loop0/dev": "7:0", "sys/block/zram0/dev": "253:0", "sys/block/ram0/dev": "1:0",
		"sys/block/nvme1c0n1/device/x": "", "sys/block/nvme1c0n1/hidden": "1\n",
		"sys/block/mmcblk0boot0/device/type": "MMC\n", "sys/block/mmcblk0boot0/ro": "1\n", "sys/block/mmcblk0boot0/size": "8192\n",
	})
	for i, name := range []string{"sda", "sdb", "sdc", "sdd", "sde", "sdf", "sdg", "sdh", "sdi", "sdj", "sdk"} {
		dir := "sys/block/" + name
		maps.Copy(m, files(map[string]string{
			dir + "/dev": "8:" + string(rune('0'+i)) + "0\n", dir + "/device/vendor": "ATA     \n", dir + "/size": "1000\n",
			dir + "/queue/write_zeroes_max_bytes": "0\n",
		}))
	}
	for part, dev := range map[string]string{"sda/sda1": "8:1", "sdc/sdc2": "8:34", "sdd/sdd1": "8:49", "sdi/sdi1": "8:129", "sdj/sdj3": "8:147", "sdk/sdk1": "179:8"} {
		maps.Copy(m, files(map[string]string{
			"sys/block/" + part + "/partition": "1\n", "sys/block/" + part + "/dev": dev + "\n",
			"sys/block/" + part + "/start": "8\n", "sys/block/" + part + "/size": "16\n",
		}))
	}
	link := func(name, target string) { m[name] = &fstest.MapFile{Data: []byte(target), Mode: fs.ModeSymlink} }
	link("dev/mapper/vg-var", "../dm-1")
	link("dev/disk/by-partuuid/1234-01", "../../sdi1")
	link("dev/disk/by-partuuid/ab-1", "../../sdj3")
	return m
}

func TestDisksInUse(t *testing.T) {
	disks, err := Linux{FS: storage()}.Disks(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, d := range disks {
		got[d.Name] = d.InUse
	}
	want := map[string]string{
		"sda": "mounted at /", "sdb": "", "sdc": "swap",
		"sdd": "mounted at /var", "sde": "mounted at /var", // below two layers
		"sdf": "mounted at /data", "sdg": "part of a mounted Btrfs",
		"sdh": "", // an array that nobody uses
		"sdi": "boot medium of the running system", "sdj": "boot medium of the running system",
		"sdk":          "mounted at /", // of the host that a container runs on
		"mmcblk0boot0": "",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("in use (-want +got):\n%s", diff)
	}
}

func TestDisksToBeWiped(t *testing.T) {
	m := storage()
	maps.Copy(m, files(map[string]string{
		"sys/block/sda/wwid": "naa.5\n", "sys/block/sda/queue/write_zeroes_max_bytes": "4096\n",
		"sys/block/nvme0n1/device/transport": "pcie\n", "sys/block/nvme0n1/device/subsysnqn": "nqn.1\n", "sys/block/nvme0n1/nsid": "1\n",
		"sys/block/nvme1n2/device/nvme1/transport": "pcie\n", "sys/block/nvme1n2/device/subsysnqn": "nqn.2\n", "sys/block/nvme1n2/nsid": "2\n",
		"sys/block/nvme2n1/device/transport": "tcp\n", "sys/block/nvme2n1/device/subsysnqn": "nqn.3\n", "sys/block/nvme2n1/nsid": "1\n",
	}))
	disks, err := Linux{FS: m}.Disks(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]disk.Disk{}
	for _, d := range disks {
		byName[d.Name] = d
	}
	if d := byName["sda"]; !d.ATA || !d.WriteZeroes || d.Group != "naa.5" || d.Namespace != 0 || d.SizeBytes != 512000 {
		t.Errorf("sda: %+v", d)
	}
	if diff := cmp.Diff([]disk.Extent{{Offset: 4096, Length: 8192}}, byName["sda"].Partitions); diff != "" {
		t.Errorf("partitions of sda (-want +got):\n%s", diff)
	}
	for name, want := range map[string]struct {
		group string
		nsid  uint32
	}{
		"nvme0n1": {"nqn.1", 1},
		"nvme1n2": {"nqn.2", 2}, // over several paths
		"nvme2n1": {"", 0},      // over a fabric: the controller is not ours
		"sdb":     {"", 0},
	} {
		if d := byName[name]; d.Group != want.group || d.Namespace != want.nsid || d.WriteZeroes {
			t.Errorf("%s: %+v", name, d)
		}
	}
	for _, name := range []string{"dm-0", "md0", "loop0", "zram0", "ram0", "nvme1c0n1"} {
		if _, ok := byName[name]; ok {
			t.Errorf("%s is taken for a disk", name)
		}
	}
	if !byName["mmcblk0boot0"].ReadOnly {
		t.Error("the boot partition of an eMMC is not read-only")
	}
}

func TestDisksWithoutSysfs(t *testing.T) {
	if _, err := (Linux{FS: fstest.MapFS{}}).Disks(t.Context()); err == nil {
		t.Error("no error: a machine without sysfs would count as one without disks")
	}
}

// TestDisksOfThisMachine: what this test runs on is in use.
func TestDisksOfThisMachine(t *testing.T) {
	disks, err := Linux{}.Disks(t.Context())
	if err != nil {
		t.Skip(err)
	}
	for _, d := range disks {
		t.Logf("%s: %q, %d bytes", d.Path, d.InUse, d.SizeBytes)
	}
}
