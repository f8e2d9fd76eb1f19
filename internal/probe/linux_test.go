package probe

import (
	"errors"
	"net"
	"net/netip"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/farrier-dev/farrier/internal/inspection"
)

const twoPackages = `processor	: 0
vendor_id	: GenuineIntel
model name	: Xeon
physical id	: 0
core id		: 0
flags		: fpu aes

processor	: 1
physical id	: 0
core id		: 0

processor	: 2
physical id	: 1
core id		: 0
vendor_id	: GenuineIntel
model name	: Xeon
`

const arm64 = `processor	: 0
CPU implementer	: 0x41
CPU part	: 0xd0c
Features	: fp asimd

processor	: 1
CPU implementer	: 0x41
`

func files(contents map[string]string) fstest.MapFS {
	m := fstest.MapFS{}
	for name, text := range contents {
		m[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return m
}

func fixture() fstest.MapFS {
	return files(map[string]string{
		"sys/class/dmi/id/bios_vendor":                    "Acme BIOS\n",
		"sys/class/dmi/id/bios_version":                   "1.2\n",
		"sys/class/dmi/id/sys_vendor":                     "Acme\n",
		"sys/class/dmi/id/product_name":                   "Rack 1\n",
		"sys/class/dmi/id/product_uuid":                   testUUID + "\n",
		"sys/class/dmi/id/board_name":                     "B1\n",
		"proc/cpuinfo":                                    twoPackages,
		"proc/meminfo":                                    "MemTotal:       16384 kB\nMemFree: 1 kB\n",
		"sys/block/nvme0n1/size":                          "2000\n",
		"sys/block/nvme0n1/device/model":                  "Fast\n",
		"sys/block/nvme0n1/device/serial":                 "N1\n",
		"sys/block/nvme0n1/device/numa_node":              "1\n",
		"sys/block/nvme0n1/wwid":                          "eui.1\n",
		"sys/block/nvme0n1/queue/rotational":              "0\n",
		"sys/block/nvme0n1/queue/logical_block_size":      "512\n",
		"sys/block/nvme0n1/queue/physical_block_size":     "4096\n",
		"sys/block/nvme0n1/queue/hw_sector_size":          "512\n",
		"sys/block/sda/size":                              "4\n",
		"sys/block/sda/ro":                                "1\n",
		"sys/block/sda/removable":                         "1\n",
		"sys/block/sda/queue/rotational":                  "1\n",
		"sys/block/sda/device/type":                       "0\n",
		"sys/block/sda/device/vendor":                     "Slow    \n",
		"sys/block/sda/device/vpd_pg80":                   "\x00\x80\x00\x04 S1 \x00",
		"sys/block/sr0/device/type":                       "5\n",
		"sys/block/loop0/size":                            "8\n",
		"sys/class/net/eth0/carrier":                      "1\n",
		"sys/class/net/eth0/speed":                        "25000\n",
		"sys/class/net/eth0/device/uevent":                "DRIVER=x\nPCI_SLOT_NAME=0000:01:00.0\n",
		"sys/class/net/eth1/speed":                        "-1\n",
		"sys/class/net/eth1/device/uevent":                "DRIVER=x\n",
		"sys/class/net/br0/carrier":                       "1\n",
		"sys/devices/system/node/node0/unrelated/nothing": "",
	})
}

func links() ([]Link, error) {
	mac := func(last byte) net.HardwareAddr { return net.HardwareAddr{0x02, 0xfa, 0x45, 0, 0, last} }
	return []Link{
		{Name: "lo", Loopback: true, Prefixes: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/8")}},
		{Name: "eth0", MAC: mac(1), Prefixes: []netip.Prefix{netip.MustParsePrefix("10.0.0.1/24"), netip.MustParsePrefix("fe80::1/64")}},
		{Name: "eth1", MAC: mac(2)},
		{Name: "br0", MAC: mac(3)},
		{Name: "tun0"},
	}, nil
}

func TestLinuxCollect(t *testing.T) {
	got, err := Linux{FS: fixture(), Addresses: links}.Collect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := inspection.Report{
		SystemInfo: inspection.SystemInfo{
			BIOS:   inspection.BIOSInformation{Vendor: "Acme BIOS", Version: "1.2"},
			System: inspection.SystemInformation{Manufacturer: "Acme", ProductName: "Rack 1", UUID: testUUID},
			Board:  inspection.BoardInformation{Product: "B1"},
		},
		CPU: []inspection.CPU{
			{ID: 0, TotalCores: 1, TotalHardwareThreads: 2, Vendor: "GenuineIntel", Model: "Xeon", Capabilities: []string{"fpu", "aes"}},
			{ID: 1, TotalCores: 1, TotalHardwareThreads: 1, Vendor: "GenuineIntel", Model: "Xeon", Capabilities: []string{}},
		},
		NetworkInterfaces: []inspection.NetworkInterface{
			{Name: "eth0", MACAddress: "02:fa:45:00:00:01", IPAddresses: []string{"10.0.0.1", "fe80::1"}, CarrierStatus: inspection.CarrierUp},
			{Name: "eth1", MACAddress: "02:fa:45:00:00:02", CarrierStatus: inspection.CarrierDown},
			{Name: "br0", MACAddress: "02:fa:45:00:00:03", CarrierStatus: inspection.CarrierUp},
		},
		NICs: []inspection.NIC{
			{Name: "eth0", MAC: "02:fa:45:00:00:01", PCIAddress: "0000:01:00.0", Speed: "25000Mb/s"},
			{Name: "eth1", MAC: "02:fa:45:00:00:02"},
		},
		Storage: []inspection.BlockDevice{
			{
				Path: "/dev/nvme0n1", Name: "nvme0n1", Model: "Fast", Serial: "N1", WWID: "eui.1", PhysicalBlockSize: 4096,
				LogicalBlockSize: 512, HWSectorSize: 512, SizeBytes: 1024000, NUMANodeID: 1,
			},
			{Path: "/dev/sda", Name: "sda", Rotational: true, Removable: true, ReadOnly: true, Vendor: "Slow", Serial: "S1", SizeBytes: 2048, NUMANodeID: -1},
		},
		Memory: []inspection.MemoryDevice{{SizeBytes: 16 << 20, DeviceLocator: "total"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

func TestLinuxCollectOfAnEmptyTree(t *testing.T) {
	got, err := Linux{FS: fstest.MapFS{}, Addresses: func() ([]Link, error) { return nil, nil }}.Collect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(inspection.Report{}, got); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

func TestLinuxCollectWithoutLinks(t *testing.T) {
	broken := errors.New("netlink is away")
	_, err := Linux{FS: fixture(), Addresses: func() ([]Link, error) { return nil, broken }}.Collect(t.Context())
	if !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
}

func TestProcessorsWithoutPackages(t *testing.T) {
	want := []inspection.CPU{{TotalCores: 2, TotalHardwareThreads: 2, Vendor: "0x41", Model: "0xd0c", Capabilities: []string{"fp", "asimd"}}}
	if diff := cmp.Diff(want, processors(arm64)); diff != "" {
		t.Errorf("processors (-want +got):\n%s", diff)
	}
}

func TestLinuxCollectOfThisMachine(t *testing.T) {
	if _, err := (Linux{}).Collect(t.Context()); err != nil {
		t.Error(err)
	}
}
