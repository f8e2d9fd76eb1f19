package vm

import (
	"slices"
	"strings"
	"testing"

	"github.com/farrier-dev/farrier/internal/sim"
)

var testSpec = spec{
	Chassis: sim.Chassis{
		Name: "sim-0001", UUID: "6f0c2b1e-6d6a-4b5c-9a55-0a3c7d1e0001", Serial: "S1", Manufacturer: "Anvil, Inc.", Model: "VM", MAC: "02:fa:45:00:00:01", MemoryMiB: 768,
		Disks: []sim.ChassisDisk{{Serial: "D1", Bytes: 1 << 30}, {Serial: "D2", Bytes: 1 << 30}},
	},
	tap: "tap0", dir: "/data,here/sim-0001",
}

// The arguments of QEMU that settings and a plan lead to, and those that they must not.
func TestArguments(t *testing.T) {
	network, disk, http := sim.BootPXE, sim.BootDisk, sim.BootUEFIHTTP
	for name, c := range map[string]struct {
		kind        Kind
		plan        plan
		has, hasNot []string
	}{
		"any": {
			Kind{Firmware: BIOS}, plan{order: []sim.BootTarget{network, disk}},
			[]string{
				"-accel tcg", "-m 768", "-uuid 6f0c2b1e-6d6a-4b5c-9a55-0a3c7d1e0001", "-sandbox on,spawn=deny", "-no-reboot",
				"manufacturer=Anvil,, Inc.,product=VM,serial=S1,uuid=6f0c2b1e-6d6a-4b5c-9a55-0a3c7d1e0001", "uefi=off",
				"tap,id=n0,ifname=tap0,script=no,downscript=no", "virtio-net-pci,netdev=n0,mac=02:fa:45:00:00:01,bootindex=0",
				"id=d0,file=/data,,here/sim-0001/disk1.img", "nvme,id=nvme0,drive=d0,serial=D1,bootindex=1",
				"nvme,id=nvme1,drive=d1,serial=D2", "socket,id=qmp,fd=3",
			},
			[]string{"pflash", "romfile", "tpm", "serial=D2,bootindex", "fw_cfg"},
		},
		"disk first": {
			Kind{Firmware: UEFI}, plan{uefi: true, order: []sim.BootTarget{disk, network}},
			[]string{"mac=02:fa:45:00:00:01,bootindex=1", "serial=D1,bootindex=0", "file=" + ovmfCode, "if=pflash,format=raw,file=/own.fd", "uefi=on"},
			[]string{"smm=on", "romfile"},
		},
		"HTTP boot": {
			Kind{Firmware: UEFI}, plan{uefi: true, order: []sim.BootTarget{http, disk}},
			[]string{"romfile=,bootindex=0", "name=opt/org.tianocore/IPv4PXESupport,string=n", "name=opt/org.tianocore/IPv6PXESupport,string=n"}, nil,
		},
		"HTTP boot of a URI that the variables name": {
			Kind{Firmware: UEFI}, plan{uefi: true, order: []sim.BootTarget{http, disk}, uri: "http://192.0.2.1/a.efi"},
			[]string{"romfile="}, []string{"bootindex"},
		},
		"Secure Boot and TPM": {
			Kind{Firmware: SecureBoot, TPM: true}, plan{uefi: true, order: []sim.BootTarget{network}},
			[]string{"smm=on", "file=" + secureCode, "property=secure,value=on", "socket,id=tpm,fd=4", "tpm-crb,tpmdev=tpm0"},
			[]string{"serial=D1,bootindex"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := testSpec
			s.kind = c.kind
			line := strings.Join(s.arguments(c.plan, "/own.fd"), " ")
			for _, want := range c.has {
				if !strings.Contains(line, want) {
					t.Errorf("no %q in\n%s", want, line)
				}
			}
			for _, unwanted := range c.hasNot {
				if strings.Contains(line, unwanted) {
					t.Errorf("%q is in\n%s", unwanted, line)
				}
			}
		})
	}
}

func TestParseKinds(t *testing.T) {
	kinds, err := ParseKinds("bios, uefi+tpm,secureboot")
	if want := []Kind{{BIOS, false}, {UEFI, true}, {SecureBoot, false}}; err != nil || !slices.Equal(kinds, want) {
		t.Errorf("%v, %v", kinds, err)
	}
	for _, text := range []string{"", "efi", "uefi+", "bios,,uefi", "+tpm"} {
		if kinds, err := ParseKinds(text); err == nil {
			t.Errorf("%q is read as %v", text, kinds)
		}
	}
}
