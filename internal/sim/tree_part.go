package sim

import (
	"net/http"
	"slices"
	"strings"

	"github.com/farrier-dev/farrier/internal/sim/fault"
)

func getProcessor(m *Machine, r *http.Request) (object, error) {
	i, err := position(r, ids("CPU", m.sockets))
	if err != nil {
		return nil, err
	}
	p := m.processor
	return object{
		"@odata.id": r.URL.Path, "@odata.type": "#Processor.v1_20_0.Processor", "Id": r.PathValue("id"),
		"Name": namedAfter("Processor", i), "Socket": r.PathValue("id"), "ProcessorType": "CPU", "ProcessorArchitecture": "x86",
		"InstructionSet": "x86-64", "Manufacturer": p.vendor, "Model": p.name, "MaxSpeedMHz": p.mhz + 1000, "OperatingSpeedMHz": p.mhz,
		"TotalCores": p.cores, "TotalEnabledCores": p.cores, "TotalThreads": p.threads, "SerialNumber": m.partSerial(r.PathValue("id")),
		"Status": healthy(), "Links": object{"Chassis": link(m.chassisURI())},
	}, nil
}

func getDIMM(m *Machine, r *http.Request) (object, error) {
	i, err := position(r, ids("DIMM", m.dimms))
	if err != nil {
		return nil, err
	}
	return object{
		"@odata.id": r.URL.Path, "@odata.type": "#Memory.v1_20_0.Memory", "Id": r.PathValue("id"), "Name": namedAfter("DIMM", i),
		"MemoryType": "DRAM", "MemoryDeviceType": "DDR5", "BaseModuleType": "RDIMM", "CapacityMiB": m.dimmMiB,
		"DataWidthBits": 64, "BusWidthBits": 72, "ErrorCorrection": "MultiBitECC", "OperatingSpeedMhz": m.dimmMHz,
		"AllowedSpeedsMHz": []int{m.dimmMHz}, "RankCount": 2, "Manufacturer": "Ingot", "PartNumber": "ID5-R",
		"SerialNumber": m.partSerial(dimmName(i)), "DeviceLocator": dimmName(i),
		"MemoryLocation": object{"Socket": 1 + i*m.sockets/m.dimms, "MemoryController": 0, "Channel": i, "Slot": 0},
		"Status":         healthy(), "Links": object{"Chassis": link(m.chassisURI())},
	}, nil
}

func driveIDs(m *Machine) []string {
	var out []string
	for _, d := range m.diskList() {
		out = append(out, driveID(d))
	}
	return out
}

func driveID(d drive) string { return ids("Disk", d.slot+1)[d.slot] }

// durableName is the disk's worldwide name as Redfish spells it (DSP0268, DurableNameFormat): an EUI-64 with colons, an NAA
// name without.
func (d drive) durableName() (name, format string) {
	format, digits, found := strings.Cut(d.wwid, ".")
	if !found {
		return "", ""
	}
	if format == "naa" {
		return strings.ToUpper(digits), "NAA"
	}
	pairs := make([]string, 0, len(digits)/2)
	for pair := range slices.Chunk([]byte(strings.ToUpper(digits)), 2) {
		pairs = append(pairs, string(pair))
	}
	return strings.Join(pairs, ":"), "EUI"
}

// volumeIDs are none where the disks stand for themselves.
func volumeIDs(m *Machine) []string {
	if m.mirrored {
		return []string{"1"}
	}
	return nil
}

func getStorage(m *Machine, _ *http.Request) (object, error) {
	return object{
		"@odata.id": m.storageURI(), "@odata.type": "#Storage.v1_16_0.Storage", "Id": "1", "Name": m.controller + " controller",
		"Status": withRollup("Enabled"),
		"StorageControllers": []object{{
			"@odata.id": m.storageURI() + "#/StorageControllers/0", "MemberId": "0", "Name": m.controller + " controller",
			"Manufacturer": "Ingot", "Model": "IC-" + m.controller, "FirmwareVersion": "7.1", "SerialNumber": m.partSerial("controller"),
			"SupportedDeviceProtocols": []string{m.controller}, "Status": healthy(),
		}},
		"StorageControllers@odata.count": 1,
		"Drives":                         links(m.drivesURI(), driveIDs(m)), "Drives@odata.count": len(driveIDs(m)),
		"Volumes": link(m.volumesURI()), "Links": object{"Enclosures": []object{link(m.chassisURI())}},
	}, nil
}

func getDrive(m *Machine, r *http.Request) (object, error) {
	i, err := position(r, driveIDs(m))
	if err != nil {
		return nil, err
	}
	d := m.diskList()[i]
	volumes := []object{}
	if m.mirrored && i < 2 {
		volumes = links(m.volumesURI(), volumeIDs(m))
	}
	drive := object{
		"@odata.id": r.URL.Path, "@odata.type": "#Drive.v1_20_0.Drive", "Id": driveID(d), "Name": namedAfter("Disk", i),
		"Manufacturer": d.vendor, "Model": d.name, "SerialNumber": d.serial, "PartNumber": d.name, "Revision": "1.0",
		"CapacityBytes": d.bytes, "BlockSizeBytes": 512, "MediaType": d.media, "Protocol": d.protocol,
		"FailurePredicted": false, "Status": healthy(),
		"PhysicalLocation": object{"PartLocation": object{"LocationOrdinalValue": i, "LocationType": "Bay"}},
		"Links":            object{"Chassis": link(m.chassisURI()), "Volumes": volumes, "Volumes@odata.count": len(volumes)},
	}
	if name, format := d.durableName(); name != "" {
		drive["Identifiers"] = []object{{"DurableName": name, "DurableNameFormat": format}}
	}
	if d.rpm > 0 {
		drive["RotationSpeedRPM"] = d.rpm
	} else {
		drive["PredictedMediaLifeLeftPercent"] = 98
	}
	return drive, nil
}

func getVolume(m *Machine, r *http.Request) (object, error) {
	if _, err := position(r, volumeIDs(m)); err != nil {
		return nil, err
	}
	disks := m.diskList()
	return object{
		"@odata.id": m.volumesURI() + "/1", "@odata.type": "#Volume.v1_10_1.Volume", "Id": "1", "Name": "Boot",
		"RAIDType": "RAID1", "CapacityBytes": disks[0].bytes, "BlockSizeBytes": 512, "Encrypted": false, "Status": healthy(),
		"Identifiers": []object{{"DurableName": randomUUID(octets16(m.hash("volume"))), "DurableNameFormat": "UUID"}},
		"Links":       object{"Drives": links(m.drivesURI(), driveIDs(m)[:2]), "Drives@odata.count": 2},
	}, nil
}

func octets16(h [32]byte) []byte { return h[:16] }

func getSystemNIC(m *Machine, r *http.Request) (object, error) {
	i, err := position(r, ids("NIC", m.ports))
	if err != nil {
		return nil, err
	}
	status, speed := "LinkDown", 0
	if i < linkedPorts {
		status, speed = "LinkUp", m.portMbps
	}
	return object{
		"@odata.id": r.URL.Path, "@odata.type": "#EthernetInterface.v1_12_3.EthernetInterface", "Id": r.PathValue("id"),
		"Name": namedAfter("Ethernet Interface", i), "Description": "System NIC " + portName(i),
		"MACAddress": m.portMAC(i), "PermanentMACAddress": m.portMAC(i), "InterfaceEnabled": true, "LinkStatus": status,
		"SpeedMbps": speed, "FullDuplex": true, "AutoNeg": true, "MTUSize": 1500, "Status": healthy(),
		"Links": object{"Chassis": link(m.chassisURI())},
	}, nil
}

// withStorage hides a resource of controllers that the BMC cannot see.
func withStorage(get func(*Machine, *http.Request) (object, error)) func(*Machine, *http.Request) (object, error) {
	return func(m *Machine, r *http.Request) (object, error) {
		if _, ok := m.bmc.struck(fault.NoStorage, r.URL.Path); ok {
			return nil, errNotFound(r.URL.Path)
		}
		return get(m, r)
	}
}

// getSimpleStorage is what older BMCs have in place of Storage.
func getSimpleStorage(m *Machine, r *http.Request) (object, error) {
	devices := []object{}
	for i, d := range m.diskList() {
		devices = append(devices, object{"Name": namedAfter("Disk", i), "Manufacturer": d.vendor, "Model": d.name, "CapacityBytes": d.bytes, "Status": healthy()})
	}
	return object{
		"@odata.id": r.URL.Path, "@odata.type": "#SimpleStorage.v1_3_2.SimpleStorage", "Id": "1", "Name": m.controller + " controller",
		"Status": healthy(), "Devices": devices, "Links": object{"Chassis": link(m.chassisURI())},
	}, nil
}
