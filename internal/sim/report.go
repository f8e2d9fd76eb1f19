package sim

import (
	"context"
	"encoding/hex"
	"fmt"

	"github.com/farrier-dev/farrier/internal/inspection"
)

// agentHardware is the machine as an agent running on it sees it: the same
// inventory that the BMC tells, from inside.
type agentHardware struct{ *Machine }

// Collect implements probe.Hardware.
func (h agentHardware) Collect(ctx context.Context) (inspection.Report, error) {
	if err := ctx.Err(); err != nil {
		return inspection.Report{}, err
	}
	r := inspection.Report{
		SystemInfo: inspection.SystemInfo{
			BIOS: inspection.BIOSInformation{Vendor: h.bmc.quirks.manufacturer, Version: h.biosVersion(), Date: "01/15/2026"},
			System: inspection.SystemInformation{
				Manufacturer: h.bmc.quirks.manufacturer, ProductName: h.name, SerialNumber: h.serial, UUID: h.uuid, SKUNumber: h.sku, Family: "Anvil",
			},
			Board: inspection.BoardInformation{Manufacturer: h.bmc.quirks.manufacturer, Product: h.name + " board", SerialNumber: h.partSerial("board")},
		},
	}
	for socket := range h.sockets {
		r.CPU = append(r.CPU, inspection.CPU{
			ID: socket, TotalCores: uint32(h.processor.cores), TotalHardwareThreads: uint32(h.processor.threads),
			Vendor: h.processor.vendor, Model: h.processor.name, Capabilities: []string{"aes", "avx2", "vmx"},
		})
	}
	for slot := range h.dimms {
		speed := fmt.Sprintf("%d MT/s", h.dimmMHz)
		r.Memory = append(r.Memory, inspection.MemoryDevice{
			SizeBytes: int64(h.dimmMiB) << 20, DeviceLocator: dimmName(slot), MemoryType: "DDR5", Speed: speed,
			Vendor: "Ingot", SerialNumber: h.partSerial(dimmName(slot)), ConfiguredMemorySpeed: speed,
		})
	}
	h.addStorage(&r)
	h.addNetwork(&r)
	return r, nil
}

func (h agentHardware) addStorage(r *inspection.Report) {
	for _, d := range h.diskList() {
		name := d.kernelName()
		r.Storage = append(r.Storage, inspection.BlockDevice{
			Path: "/dev/" + name, Name: name, Rotational: d.media == "HDD", Vendor: d.vendor, Model: d.name, Serial: d.serial,
			WWID: d.wwid, PhysicalBlockSize: 4096, LogicalBlockSize: 512, HWSectorSize: 512, SizeBytes: uint64(d.bytes),
		})
	}
}

// addNetwork has the first port on the boot network, with an address. Each port
// hears one of two switches.
func (h agentHardware) addNetwork(r *inspection.Report) {
	for port := range h.ports {
		name, mac, pci := portName(port), h.portMAC(port), fmt.Sprintf("0000:%02x:00.%d", 0x31+port/2, port%2)
		i := inspection.NetworkInterface{Name: name, MACAddress: mac, CarrierStatus: inspection.CarrierDown}
		nic := inspection.NIC{Name: name, MAC: mac, PCIAddress: pci, FirmwareVersion: "22.31.1014"}
		if port < linkedPorts {
			i.CarrierStatus = inspection.CarrierUp
			nic.Speed = fmt.Sprintf("%dMb/s", h.portMbps)
			r.LLDP = append(r.LLDP, inspection.LLDPInterface{Name: name, Neighbors: []inspection.Neighbor{h.neighbor(port)}})
		}
		if port == 0 {
			i.IPAddresses = []string{h.ip.String()}
		}
		r.NetworkInterfaces = append(r.NetworkInterfaces, i)
		r.NICs = append(r.NICs, nic)
		r.PCIDevices = append(r.PCIDevices, inspection.PCIDevice{Address: pci, Vendor: "Bellows Networks", VendorID: "fa45", Product: "Bellows dual port", ProductID: "0002"})
	}
}

func (h agentHardware) neighbor(port int) inspection.Neighbor {
	const perRack = 40
	shelf := h.index / perRack
	return inspection.Neighbor{
		ChassisID: macOf("02:fa:46", uint32(2*shelf+port)), PortID: fmt.Sprintf("Ethernet%d", h.index%perRack+1),
		PortDescription: h.serial + " " + portName(port), SystemName: fmt.Sprintf("leaf-%d%c", shelf+1, 'a'+port),
		SystemDescription: "Simulated leaf switch", Capabilities: []string{"Bridge", "Router"},
	}
}

// linkedPorts is how many ports of a machine have a cable.
const linkedPorts = 2

func portName(port int) string { return fmt.Sprintf("eth%d", port) }

func dimmName(slot int) string { return fmt.Sprintf("DIMM%d", slot+1) }

func uuidOctets(uuid string) [16]byte {
	var octets [16]byte
	digits := make([]byte, 0, 32)
	for i := range len(uuid) {
		if uuid[i] != '-' {
			digits = append(digits, uuid[i])
		}
	}
	_, _ = hex.Decode(octets[:], digits)
	return octets
}
