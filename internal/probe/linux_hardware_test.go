package probe

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farrier-dev/farrier/internal/inspection"
)

// dimm is a memory device as version 3.3 of the standard has it.
func dimm(change func(area []byte)) string {
	area := make([]byte, 0x5c)
	area[0], area[1] = smbiosMemoryDevice, byte(len(area))
	binary.LittleEndian.PutUint16(area[0x0c:], 0x7fff)
	binary.LittleEndian.PutUint32(area[0x1c:], 64<<10) // MiB
	area[0x0f], area[0x10], area[0x11], area[0x12] = 1, 1, 2, 0x22
	binary.LittleEndian.PutUint16(area[0x15:], 4800)
	area[0x17], area[0x18], area[0x19], area[0x1a] = 3, 4, 0, 5
	binary.LittleEndian.PutUint16(area[0x20:], 0xffff)
	binary.LittleEndian.PutUint32(area[0x58:], 70_000)
	binary.LittleEndian.PutUint16(area[0x22:], 1100)
	binary.LittleEndian.PutUint16(area[0x26:], 1250)
	change(area)
	return string(area) + "DIMM A1\x00BANK 0\x00Ingot \x000042\x00ID5-R\x00\x00"
}

func TestModules(t *testing.T) {
	same := func([]byte) {}
	bios := "\x00\x04\x00\x00" + "vendor\x00\x00"
	none := "\x02\x04\x01\x00" + "\x00\x00" // a structure without strings
	end := "\x7f\x04\x02\x00" + "\x00\x00"
	want := inspection.MemoryDevice{
		SizeBytes: 64 << 30, DeviceSet: "1", DeviceLocator: "DIMM A1", BankLocator: "BANK 0", MemoryType: "DDR5", Speed: "4800 MT/s", Vendor: "Ingot",
		SerialNumber: "0042", PartNumber: "ID5-R", ConfiguredMemorySpeed: "70000 MT/s", MinimumVoltage: "1.1 V", ConfiguredVoltage: "1.25 V",
	}
	small := want
	small.SizeBytes = 512 << 10
	for name, tc := range map[string]struct {
		table string
		want  []inspection.MemoryDevice
	}{
		"two":           {bios + dimm(same) + none + dimm(func(a []byte) { binary.LittleEndian.PutUint16(a[0x0c:], 0x8000|512) }) + end, []inspection.MemoryDevice{want, small}},
		"empty":         {dimm(func(a []byte) { clear(a[0x0c:0x0e]) }) + end, nil},
		"size unknown":  {dimm(func(a []byte) { a[0x0c], a[0x0d] = 0xff, 0xff }), nil},
		"after the end": {end + dimm(same), nil},
		"nothing":       {"", nil},
		"cut short":     {dimm(same)[:40], nil},
		"bad length":    {"\x11\x02\x00\x00\x00\x00", nil},
		"old and short": {"\x11\x15\x00\x00" + strings.Repeat("\x00", 8) + "\x00\x04" + strings.Repeat("\x00", 7) + "\x00\x00",
			[]inspection.MemoryDevice{{SizeBytes: 1 << 30}}},
	} {
		if diff := cmp.Diff(tc.want, modules([]byte(tc.table))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func FuzzModules(f *testing.F) {
	f.Add([]byte(dimm(func([]byte) {})))
	f.Fuzz(func(t *testing.T, table []byte) {
		for _, m := range modules(table) {
			if m.SizeBytes <= 0 {
				t.Errorf("size %d", m.SizeBytes)
			}
		}
	})
}

func TestPCIDevices(t *testing.T) {
	m := files(map[string]string{
		"sys/bus/pci/devices/0000:01:00.0/vendor": "0x8086\n", "sys/bus/pci/devices/0000:01:00.0/device": "0x159B\n",
		"sys/bus/pci/devices/0000:01:00.0/numa_node": "1\n",
		"sys/bus/pci/devices/0000:02:00.0/vendor":    "0x144d\n", "sys/bus/pci/devices/0000:02:00.0/device": "0xa80a\n",
		"sys/bus/pci/devices/0000:02:00.0/numa_node": "-1\n",
	})
	want := []inspection.PCIDevice{
		{Address: "0000:01:00.0", VendorID: "8086", ProductID: "159b", NUMANodeID: 1},
		{Address: "0000:02:00.0", VendorID: "144d", ProductID: "a80a"},
	}
	if diff := cmp.Diff(want, pciDevices(tree{m})); diff != "" {
		t.Errorf("without names (-want +got):\n%s", diff)
	}
	m["usr/share/misc/pci.ids"] = files(map[string]string{"x": `# names
144d  Samsung Electronics Co Ltd
	a80a  NVMe SSD Controller PM9A1
		144d a801  a subsystem
	159b  not of this vendor
8086  Intel Corporation
	159b  Ethernet Controller E810-XXV

C 00  Unclassified device
`})["x"]
	want[0].Vendor, want[0].Product = "Intel Corporation", "Ethernet Controller E810-XXV"
	want[1].Vendor, want[1].Product = "Samsung Electronics Co Ltd", "NVMe SSD Controller PM9A1"
	if diff := cmp.Diff(want, pciDevices(tree{m})); diff != "" {
		t.Errorf("with names (-want +got):\n%s", diff)
	}
}

func TestEthtool(t *testing.T) {
	settings := make([]byte, linkSettingsHeader+12)
	settings[linkSettingsWords] = 3
	for _, bit := range []int{5, 6, 7, 10, 12, 13, 31, 33, 50} {
		at := linkSettingsHeader + bit/32*4
		binary.NativeEndian.PutUint32(settings[at:], binary.NativeEndian.Uint32(settings[at:])|1<<(bit%32))
	}
	modes, ports := parseSupported(settings)
	if diff := cmp.Diff([]string{"1000baseT/Full", "10000baseT/Full", "25000baseCR/Full", "25000baseSR/Full"}, modes); diff != "" {
		t.Errorf("modes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"TP", "FIBRE"}, ports); diff != "" {
		t.Errorf("ports (-want +got):\n%s", diff)
	}
	info := make([]byte, driverInfoBytes)
	copy(info[driverInfoFirmware:], "22.31.1014 \x00junk")
	if got := parseFirmware(info); got != "22.31.1014" {
		t.Errorf("firmware %q", got)
	}
	if modes, ports := parseSupported(nil); modes != nil || ports != nil || parseFirmware(nil) != "" {
		t.Error("something is read from nothing")
	}
	if got, err := (Linux{FS: fixture(), Addresses: links, ethtool: func(string) ethtoolInfo { return ethtoolInfo{firmware: "1", ports: []string{"TP"}} }}).Collect(t.Context()); err != nil || got.NICs[0].FirmwareVersion != "1" {
		t.Errorf("%v, %+v", err, got.NICs)
	}
}
