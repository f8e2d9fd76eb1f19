package bmc_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/bmc/bmctest"
)

func client(t *testing.T, s *bmctest.Server) *bmc.Client {
	t.Helper()
	c := bmc.NewClient(s.Endpoint(), s.Credentials(), bmc.Options{})
	t.Cleanup(func() { _ = c.Close(t.Context()) })
	return c
}

func TestSystems(t *testing.T) {
	s := bmctest.New(t)
	got, err := client(t, s).Systems(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []bmc.System{{
		URI: bmctest.System, UUID: bmctest.UUID, Name: "System",
		Manufacturer: "Contoso", Model: "R1", SKU: "SKU-1", SerialNumber: "SN-1",
		BIOSVersion: "1.2.3", IndicatorLED: "Off", State: "Enabled", Health: "OK",
		PowerState: bmc.PowerOff, MemoryBytes: 64 << 30,
		ResetTypes: []string{"On", "ForceOff", "GracefulShutdown", "ForceRestart"},
		Boot: bmc.BootState{
			Enabled: "Disabled", Target: "None", Mode: "UEFI",
			Targets: []string{"None", "Pxe", "Hdd", "UefiHttp"}, Order: []string{"Boot0001", "Boot0000"},
		},
		ETag: `"0"`,
	}}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(bmc.System{})); diff != "" {
		t.Errorf("systems (-want +got):\n%s", diff)
	}
}

func TestManager(t *testing.T) {
	s := bmctest.New(t)
	c := client(t, s)
	want := bmc.Manager{
		URI: bmctest.Manager, UUID: "58893887-8974-2487-2389-841168418919", Manufacturer: "Contoso", Model: "BMC 9",
		SKU: "PN-9", SerialNumber: "MSN-9", FirmwareVersion: "7.0", State: "Enabled", PowerState: "On",
		MACAddress: "02:00:00:00:00:aa", HostName: "bmc-1",
	}
	for range 2 {
		got, err := c.Manager(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("manager (-want +got):\n%s", diff)
		}
	}
	// Reading it again costs the manager and the interface it is reached by.
	for pattern, n := range map[string]int{
		"GET /redfish/v1/":                                    1,
		"GET /redfish/v1/Managers":                            1,
		"GET " + bmctest.Manager:                              2,
		"GET " + bmctest.Manager + "/EthernetInterfaces":      1,
		"GET " + bmctest.Manager + "/EthernetInterfaces/usb":  1,
		"GET " + bmctest.Manager + "/EthernetInterfaces/eth0": 2,
	} {
		if got := s.Count(pattern); got != n {
			t.Errorf("%s: %d requests, want %d", pattern, got, n)
		}
	}
}

func TestInventory(t *testing.T) {
	s := bmctest.New(t)
	got, err := client(t, s).Inventory(t.Context(), bmctest.System)
	if err != nil {
		t.Fatal(err)
	}
	want := bmc.Inventory{
		Processors: []bmc.Processor{{
			ID: "CPU1", Type: "CPU", Architecture: "x86", InstructionSet: "x86-64",
			Manufacturer: "Contoso", Model: "C-32", MaxSpeedMHz: 3200, TotalCores: 16, TotalThreads: 32,
		}},
		Storage: []bmc.Storage{{
			ID: "1", Name: "NVMe", State: "Enabled",
			Drives: []bmc.Drive{{
				ID: "0", Name: "Disk 0", Vendor: "Contoso", Model: "D", SerialNumber: "DSN",
				MediaType: "SSD", Type: "NVMe", State: "Enabled", CapacityBytes: 960197124096,
			}},
			Volumes: []bmc.Volume{{
				ID: "1", Name: "Data", RAIDType: "RAID1", Usage: "Data", State: "Enabled", CapacityBytes: 960197124096,
			}},
		}},
		Interfaces: []bmc.Interface{{
			ID: "1", Name: "eth0", MACAddress: "02:fa:44:00:00:01", LinkStatus: "LinkUp", State: "Enabled", SpeedMbps: 25000,
		}},
		MemoryBytes: 64 << 30,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("inventory (-want +got):\n%s", diff)
	}
}
