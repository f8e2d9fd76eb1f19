package probe

import (
	"fmt"
	"net"
	"net/netip"
	"reflect"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farrier-dev/farrier/internal/inspection"
)

// notCollected are the fields of a report that the hardware does not tell: who sends it fills them in, or other agents do.
var notCollected = []string{"Timestamp", "AgentVersion", "Capabilities", "NetworkInterfaces[0].IPAddress", "Cleanup"}

// fullTree is a machine that tells everything.
func fullTree() map[string]string {
	tree := map[string]string{
		"proc/cpuinfo": "processor: 0\nvendor_id: V\nmodel name: M\nphysical id: 1\ncore id: 0\nflags: aes\n",
		"sys/firmware/dmi/tables/DMI": dimm(func(a []byte) {
			a[0x19], a[0x24], a[0x25] = 5, 0x4c, 0x04 // asset tag, maximum voltage
		}),
		"sys/class/net/eth0/carrier":                        "1",
		"sys/class/net/eth0/speed":                          "25000",
		"sys/class/net/eth0/device/uevent":                  "PCI_SLOT_NAME=0000:01:00.0",
		"sys/bus/pci/devices/0000:01:00.0/vendor":           "0x8086",
		"sys/bus/pci/devices/0000:01:00.0/device":           "0x159b",
		"usr/share/misc/pci.ids":                            "8086  Intel Corporation\n\t159b  Ethernet Controller E810-XXV\n",
		"sys/bus/pci/devices/0000:01:00.0/numa_node":        "1",
		"sys/block/sda/size":                                "4",
		"sys/block/sda/ro":                                  "1",
		"sys/block/sda/removable":                           "1",
		"sys/block/sda/wwid":                                "naa.1",
		"sys/block/sda/queue/rotational":                    "1",
		"sys/block/sda/queue/logical_block_size":            "512",
		"sys/block/sda/queue/physical_block_size":           "4096",
		"sys/block/sda/queue/hw_sector_size":                "512",
		"sys/block/sda/device/vendor":                       "V",
		"sys/block/sda/device/model":                        "M",
		"sys/block/sda/device/serial":                       "S",
		"sys/block/sda/device/numa_node":                    "1",
		"sys/class/tpm/tpm0/tpm_version_major":              "2",
		"sys/class/tpm/tpm0/pcr-sha256/0":                   "AB00",
		"sys/kernel/security/tpm0/binary_bios_measurements": "\x03\x00log",
	}
	for _, name := range []string{
		"bios_vendor", "bios_version", "bios_date", "sys_vendor", "product_name", "product_version", "product_serial", "product_uuid", "product_sku",
		"product_family", "board_vendor", "board_name", "board_version", "board_serial", "board_asset_tag",
	} {
		tree["sys/class/dmi/id/"+name] = "value of " + name
	}
	return tree
}

// TestEveryField: a machine that tells everything has every field of the report.
func TestEveryField(t *testing.T) {
	clock := testclock.NewFakeClock(time.Now())
	frame := lldpHeader + tlv(1, "\x07sw") + tlv(2, "\x05p1") + tlv(3, "\x00\x78") + tlv(4, "port") + tlv(5, "leaf") + tlv(6, "NOS") + tlv(7, "\x00\x04\x00\x04") +
		tlv(8, "\x05\x01\x0a\x00\x00\x01\x02\x00\x00\x00\x01\x00") + tlv(127, "\x00\x80\xc2\x01\x00\x64") + tlv(0, "")
	machine := Linux{
		FS: files(fullTree()),
		Addresses: func() ([]Link, error) {
			return []Link{{Index: 2, Name: "eth0", MAC: net.HardwareAddr{2, 0, 0, 0, 0, 1}, Prefixes: []netip.Prefix{netip.MustParsePrefix("10.0.0.1/24")}}}, nil
		},
		LLDP: &Listener{Clock: clock, open: func() (frames, error) { return &script{clock: clock, events: []heard{{2, frame, nil}}}, nil }},
		ethtool: func(string) ethtoolInfo {
			return ethtoolInfo{firmware: "1", linkModes: []string{"m"}, ports: []string{"FIBRE"}}
		},
		endorsement: func() (string, error) { return "key", nil },
	}
	report, err := machine.Collect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var empty []string
	unfilled("", reflect.ValueOf(report), &empty)
	if diff := cmp.Diff(notCollected, empty); diff != "" {
		t.Errorf("fields without a value (-known +found):\n%s", diff)
	}
	if report.SystemInfo.System.SKUNumber != "value of product_sku" || report.SystemInfo.Board.AssetTag != "value of board_asset_tag" || report.SystemInfo.BIOS.Date != "value of bios_date" {
		t.Errorf("system: %+v", report.SystemInfo)
	}
	want := &inspection.TPM{Version: "2", EndorsementKey: "key", PCRs: []inspection.PCRBank{{Algorithm: "sha256", Values: []string{"ab00"}}}, EventLog: []byte("\x03\x00log")}
	if diff := cmp.Diff(want, report.TPM); diff != "" {
		t.Errorf("TPM (-want +got):\n%s", diff)
	}
}

// unfilled collects the fields that are zero, lists of nothing included.
func unfilled(at string, v reflect.Value, out *[]string) {
	switch {
	case v.IsZero():
		*out = append(*out, at)
	case v.Kind() == reflect.Pointer:
		unfilled(at, v.Elem(), out)
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct:
		if v.Len() == 0 {
			*out = append(*out, at)
			return
		}
		unfilled(fmt.Sprintf("%s[0]", at), v.Index(0), out)
	case v.Kind() == reflect.Struct && v.Type().PkgPath() != "time":
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			if at != "" {
				name = at + "." + name
			}
			unfilled(name, v.Field(i), out)
		}
	}
}
