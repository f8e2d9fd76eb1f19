package sim

import (
	"net/http"
	"slices"
)

var (
	bootTargets   = []BootTarget{BootNone, BootPXE, BootDisk, BootUEFIHTTP, BootSetup}
	bootEnableds  = []string{overrideDisabled, overrideOnce, overrideContinuous}
	bootModes     = []string{"UEFI", "Legacy"}
	indicatorLEDs = []string{"Off", "Lit", "Blinking"}
)

func getSystem(b *bmc, _ *http.Request) (object, error) {
	m := b.machine
	m.mu.Lock()
	power, led, tag, boot, order := m.power, m.led, m.assetTag, m.override, slices.Clone(m.bootOrder)
	m.mu.Unlock()
	state := "Enabled"
	if power == PowerOff {
		state = "Disabled"
	}
	return object{
		"@odata.id": systemURI, "@odata.type": "#ComputerSystem.v1_22_0.ComputerSystem",
		"Id": "1", "Name": "System", "SystemType": "Physical", "AssetTag": tag, "HostName": m.serial,
		"Manufacturer": manufacturer, "Model": m.name, "SKU": m.sku, "SerialNumber": m.serial, "PartNumber": m.sku + "-1", "UUID": m.uuid,
		"BiosVersion": biosVersion, "PowerState": power, "Status": withRollup(state),
		"IndicatorLED": led, "LocationIndicatorActive": led == "Blinking",
		"ProcessorSummary": object{
			"Count": m.sockets, "CoreCount": m.sockets * m.processor.cores, "LogicalProcessorCount": m.sockets * m.processor.threads,
			"Model": m.processor.name, "Status": withRollup("Enabled"),
		},
		"MemorySummary": object{"TotalSystemMemoryGiB": m.memoryGiB(), "MemoryMirroring": "None", "Status": withRollup("Enabled")},
		"Boot":          bootBody(boot, order),
		"Bios":          link(biosURI), "Processors": link(processorsURI), "Memory": link(memoryURI),
		"Storage": link(storageURI), "EthernetInterfaces": link(systemNICsURI),
		"Links": object{"Chassis": []object{link(chassisURI)}, "ManagedBy": []object{link(managerURI)}},
		"Actions": object{"#ComputerSystem.Reset": object{
			"target": resetURI, "ResetType@Redfish.AllowableValues": resetTypes,
		}},
	}, nil
}

func bootBody(o BootOverride, order []string) object {
	boot := object{
		"BootSourceOverrideEnabled": o.Enabled, "BootSourceOverrideEnabled@Redfish.AllowableValues": bootEnableds,
		"BootSourceOverrideTarget": o.Target, "BootSourceOverrideTarget@Redfish.AllowableValues": bootTargets,
		"BootSourceOverrideMode": o.Mode, "BootSourceOverrideMode@Redfish.AllowableValues": bootModes,
		"BootOrder": order, "BootOptions": link(bootOptionsURI), "HttpBootUri": nil, "UefiTargetBootSourceOverride": nil,
	}
	if o.HTTPURI != "" {
		boot["HttpBootUri"] = o.HTTPURI
	}
	return boot
}

// patchSystem changes all that a body says, or nothing.
func patchSystem(b *bmc, _ caller, _ *http.Request, body object) error {
	m := b.machine
	m.mu.Lock()
	defer m.mu.Unlock()
	override, order, led, tag := m.override, m.bootOrder, m.led, m.assetTag
	for name, value := range body {
		var err error
		switch name {
		case "Boot":
			boot, ok := value.(object)
			if !ok {
				return errValueType(name)
			}
			override, order, err = patchBoot(override, order, boot)
		case "IndicatorLED":
			led, err = oneOf(name, value, indicatorLEDs)
		case "LocationIndicatorActive":
			active, ok := value.(bool)
			if !ok {
				return errValueType(name)
			}
			if led = "Off"; active {
				led = "Blinking"
			}
		case "AssetTag":
			var ok bool
			if tag, ok = value.(string); !ok || len(tag) > 64 {
				return errValueType(name)
			}
		case "Id", "Name", "UUID", "SerialNumber", "Manufacturer", "Model", "SKU", "PowerState", "BiosVersion", "Status", "SystemType":
			return errReadOnly(name)
		default:
			return errUnknownProperty(name)
		}
		if err != nil {
			return err
		}
	}
	m.override, m.bootOrder, m.led, m.assetTag = override, order, led, tag
	return nil
}

func patchBoot(o BootOverride, order []string, body object) (BootOverride, []string, error) {
	for name, value := range body {
		var text string
		var err error
		switch name {
		case "BootSourceOverrideEnabled":
			o.Enabled, err = oneOf(name, value, bootEnableds)
		case "BootSourceOverrideTarget":
			text, err = oneOf(name, value, bootTargets)
			o.Target = BootTarget(text)
		case "BootSourceOverrideMode":
			o.Mode, err = oneOf(name, value, bootModes)
		case "HttpBootUri":
			var ok bool
			if o.HTTPURI, ok = value.(string); !ok && value != nil || len(o.HTTPURI) > 2048 {
				return o, order, errValueType(name)
			}
		case "BootOrder":
			order, err = permutation(name, value, order)
		case "UefiTargetBootSourceOverride":
			if value != nil && value != "" {
				return o, order, errValue(name, "a device path")
			}
		default:
			return o, order, errUnknownProperty(name)
		}
		if err != nil {
			return o, order, err
		}
	}
	// A disabled override has no target, and a target that is none is disabled
	// (DSP0268, Boot).
	if o.Enabled == overrideDisabled || o.Target == BootNone {
		o.Enabled, o.Target = overrideDisabled, BootNone
	}
	return o, order, nil
}

func oneOf[S ~string](name string, value any, among []S) (string, error) {
	text, ok := value.(string)
	if !ok {
		return "", errValueType(name)
	}
	if !slices.Contains(among, S(text)) {
		return "", errValue(name, text)
	}
	return text, nil
}

// permutation reads a list that has the same strings in another order.
func permutation(name string, value any, of []string) ([]string, error) {
	list, ok := value.([]any)
	if !ok {
		return nil, errValueType(name)
	}
	out := make([]string, 0, len(of))
	for _, v := range list {
		text, err := oneOf(name, v, of)
		if err != nil {
			return nil, err
		}
		if slices.Contains(out, text) {
			return nil, errValue(name, text)
		}
		out = append(out, text)
	}
	if len(out) != len(of) {
		return nil, errValueType(name)
	}
	return out, nil
}

func postReset(b *bmc, _ caller, _ *http.Request, body object) (answer, error) {
	const name = "ComputerSystem.Reset"
	value, given := body["ResetType"]
	if !given {
		return answer{}, errMissingParameter(name, "ResetType")
	}
	resetType, ok := value.(string)
	if !ok || !slices.Contains(resetTypes, resetType) {
		return answer{}, errParameter(name, "ResetType", resetType)
	}
	changed, err := b.machine.Reset(resetType)
	if err != nil {
		return answer{}, errConflict(err.Error())
	}
	if !changed {
		return answer{status: http.StatusOK, body: errNoOperation.body()}, nil
	}
	return answer{}, nil
}

func getBios(b *bmc, _ *http.Request) (object, error) {
	return object{
		"@odata.id": biosURI, "@odata.type": "#Bios.v1_2_3.Bios", "Id": "BIOS", "Name": "BIOS Configuration",
		"Attributes": object{
			"BootMode": "Uefi", "ProcVirtualization": "Enabled", "SriovGlobalEnable": "Enabled", "LogicalProc": "Enabled",
			"SystemProfile": "Performance", "AssetTag": b.machine.serial,
		},
	}, nil
}

// bootOptionNames are the boot options of a machine: its ports, then its disks.
func bootOptionNames(v inventory) []string {
	var out []string
	for port := range v.ports {
		out = append(out, "PXE "+namedAfter("port", port))
	}
	return append(out, "Disk 1")
}

func bootReferences(b *bmc) []string {
	out := bootOptionNames(b.machine.inventory)
	for i := range out {
		out[i] = bootReference(i)
	}
	return out
}

func getBootOption(b *bmc, r *http.Request) (object, error) {
	i, err := position(r, bootReferences(b))
	if err != nil {
		return nil, err
	}
	alias := BootPXE
	if i >= b.machine.ports {
		alias = BootDisk
	}
	return object{
		"@odata.id": bootOptionsURI + "/" + bootReference(i), "@odata.type": "#BootOption.v1_0_6.BootOption",
		"Id": bootReference(i), "Name": namedAfter("Boot Option", i), "BootOptionReference": bootReference(i),
		"DisplayName": bootOptionNames(b.machine.inventory)[i], "BootOptionEnabled": true, "Alias": alias,
	}, nil
}
