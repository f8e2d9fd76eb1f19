package bmctest

// Paths of the standard resources.
const (
	Root    = "/redfish/v1/"
	Systems = "/redfish/v1/Systems"
	System  = "/redfish/v1/Systems/1"
	Manager = "/redfish/v1/Managers/1"

	sessions    = "/redfish/v1/SessionService/Sessions"
	resetAction = "/Actions/ComputerSystem.Reset"
)

// UUID is the standard system's.
const UUID = "4c4c4544-0042-3510-8056-b4c04f4e4d32"

// Ref is a link to a resource.
func Ref(path string) Resource { return Resource{"@odata.id": path} }

// Collection is a resource collection.
func Collection(path string, members ...string) Resource {
	list := make([]any, 0, len(members))
	for _, m := range members {
		list = append(list, Ref(m))
	}
	return Resource{"@odata.id": path, "Members": list, "Members@odata.count": len(members)}
}

// ComputerSystem is a system that is off, with all that is read of one.
func ComputerSystem(path string) Resource {
	return Resource{
		"@odata.id": path, "@odata.type": "#ComputerSystem.v1_20_0.ComputerSystem",
		"Id": "1", "Name": "System", "UUID": "4C4C4544-0042-3510-8056-B4C04F4E4D32",
		"Manufacturer": "Contoso", "Model": "R1", "SKU": "SKU-1", "SerialNumber": "SN-1",
		"BiosVersion": "1.2.3", "PowerState": "Off", "IndicatorLED": "Off",
		"Status":        Resource{"State": "Enabled", "Health": "OK"},
		"MemorySummary": Resource{"TotalSystemMemoryGiB": 64},
		"Boot": Resource{
			"BootSourceOverrideEnabled": "Disabled", "BootSourceOverrideTarget": "None",
			"BootSourceOverrideMode":                           "UEFI",
			"BootSourceOverrideTarget@Redfish.AllowableValues": []any{"None", "Pxe", "Hdd", "UefiHttp"},
			"BootOrder":   []any{"Boot0001", "Boot0000"},
			"BootOptions": Ref(path + "/BootOptions"),
		},
		"Actions": Resource{"#ComputerSystem.Reset": Resource{
			"target":                            path + resetAction,
			"ResetType@Redfish.AllowableValues": []any{"On", "ForceOff", "GracefulShutdown", "ForceRestart"},
		}},
		"Processors":         Ref(path + "/Processors"),
		"Storage":            Ref(path + "/Storage"),
		"EthernetInterfaces": Ref(path + "/EthernetInterfaces"),
	}
}

func standardResources() map[string]Resource {
	parts := System + "/"
	return map[string]Resource{
		Root: {
			"@odata.id": Root, "RedfishVersion": "1.20.0", "Vendor": "Contoso",
			"Systems": Ref(Systems), "Managers": Ref("/redfish/v1/Managers"),
			"SessionService": Ref("/redfish/v1/SessionService"), "Links": Resource{"Sessions": Ref(sessions)},
		},
		Systems:                Collection(Systems, System),
		System:                 ComputerSystem(System),
		"/redfish/v1/Managers": Collection("/redfish/v1/Managers", Manager),
		Manager: {
			"@odata.id": Manager, "ManagerType": "BMC", "UUID": "58893887-8974-2487-2389-841168418919",
			"Manufacturer": "Contoso", "Model": "BMC 9", "PartNumber": "PN-9", "SerialNumber": "MSN-9",
			"FirmwareVersion": "7.0", "PowerState": "On", "Status": Resource{"State": "Enabled"},
			"EthernetInterfaces": Ref(Manager + "/EthernetInterfaces"),
		},
		Manager + "/EthernetInterfaces": Collection(Manager+"/EthernetInterfaces",
			Manager+"/EthernetInterfaces/usb", Manager+"/EthernetInterfaces/eth0"),
		Manager + "/EthernetInterfaces/usb": {
			"Id": "usb", "MACAddress": "02-00-00-00-00-99", "IPv4Addresses": []any{Resource{"Address": "169.254.0.1"}},
		},
		Manager + "/EthernetInterfaces/eth0": {
			"Id": "eth0", "MACAddress": "02:00:00:00:00:AA", "HostName": "bmc-1",
			"IPv4Addresses": []any{Resource{"Address": "127.0.0.1"}},
		},
		parts + "Processors": Collection(parts+"Processors", parts+"Processors/1"),
		parts + "Processors/1": {
			"Id": "CPU1", "ProcessorType": "CPU", "ProcessorArchitecture": "x86", "InstructionSet": "x86-64",
			"Manufacturer": "Contoso", "Model": "C-32", "MaxSpeedMHz": 3200, "TotalCores": 16, "TotalThreads": 32,
		},
		parts + "Storage": Collection(parts+"Storage", parts+"Storage/1"),
		parts + "Storage/1": {
			"Id": "1", "Name": "NVMe", "Status": Resource{"State": "Enabled"},
			"Drives":  []any{Ref(parts + "Storage/1/Drives/0")},
			"Volumes": Ref(parts + "Storage/1/Volumes"),
		},
		parts + "Storage/1/Drives/0": {
			"Id": "0", "Name": "Disk 0", "Manufacturer": "Contoso", "Model": "D", "SerialNumber": "DSN",
			"MediaType": "SSD", "Protocol": "NVMe", "CapacityBytes": 960197124096, "Status": Resource{"State": "Enabled"},
		},
		parts + "Storage/1/Volumes": Collection(parts+"Storage/1/Volumes", parts+"Storage/1/Volumes/1"),
		parts + "Storage/1/Volumes/1": {
			"Id": "1", "Name": "Data", "RAIDType": "RAID1", "VolumeUsage": "Data", "CapacityBytes": 960197124096,
			"Status": Resource{"State": "Enabled"},
		},
		parts + "EthernetInterfaces": Collection(parts+"EthernetInterfaces", parts+"EthernetInterfaces/1"),
		parts + "EthernetInterfaces/1": {
			"Id": "1", "Name": "eth0", "MACAddress": "02-FA-44-00-00-01", "LinkStatus": "LinkUp", "SpeedMbps": 25000,
			"Status": Resource{"State": "Enabled"},
		},
		parts + "BootOptions":   Collection(parts+"BootOptions", parts+"BootOptions/0", parts+"BootOptions/1"),
		parts + "BootOptions/0": {"BootOptionReference": "Boot0000", "DisplayName": "Disk", "UefiDevicePath": "HD(1)"},
		parts + "BootOptions/1": {"BootOptionReference": "Boot0001", "DisplayName": "PXE", "UefiDevicePath": "MAC()"},
	}
}
