package sim

import (
	"maps"
	"net/http"
	"slices"

	"github.com/farrier-dev/farrier/internal/sim/fault"
)

var (
	bootEnableds  = []string{overrideDisabled, overrideOnce, overrideContinuous}
	bootModes     = []string{ModeUEFI, ModeLegacy}
	indicatorLEDs = []string{"Off", "Lit", "Blinking"}
)

func getSystem(m *Machine, _ *http.Request) (object, error) {
	b := m.bmc
	m.mu.Lock()
	led, tag, boot, order, bios := m.led, m.assetTag, m.override, slices.Clone(m.bootOrder), m.biosVersionLocked()
	m.mu.Unlock()
	power, uri := m.toldPower(), m.systemURI()
	state := "Enabled"
	if power == PowerOff {
		state = "Disabled"
	}
	o := object{
		"@odata.id": uri, "@odata.type": "#ComputerSystem.v1_22_0.ComputerSystem",
		"Id": m.systemID(), "Name": "System", "SystemType": "Physical", "AssetTag": tag, "HostName": m.serial,
		"Manufacturer": b.quirks.manufacturer, "Model": m.name, "SKU": m.sku, "SerialNumber": m.serial, "PartNumber": m.sku + "-1", "UUID": m.uuid,
		"BiosVersion": bios, "PowerState": power, "Status": withRollup(state),
		"LocationIndicatorActive": led == "Blinking",
		"ProcessorSummary": object{
			"Count": m.sockets, "CoreCount": m.sockets * m.processor.cores, "LogicalProcessorCount": m.sockets * m.processor.threads,
			"Model": m.processor.name, "Status": withRollup("Enabled"),
		},
		"MemorySummary": object{"TotalSystemMemoryGiB": m.memoryGiB(), "MemoryMirroring": "None", "Status": withRollup("Enabled")},
		"Boot":          m.bootBody(boot, order),
		"Bios":          link(m.biosURI()), "Processors": link(uri + "/Processors"), "Memory": link(uri + "/Memory"),
		"Storage": link(uri + "/Storage"), "SimpleStorage": link(uri + "/SimpleStorage"), "EthernetInterfaces": link(uri + "/EthernetInterfaces"),
		"LogServices": link(uri + "/LogServices"), "SerialConsole": b.serialConsole(),
		"Links":   object{"Chassis": []object{link(m.chassisURI())}, "ManagedBy": []object{link(b.managerURI())}},
		"Actions": object{"#ComputerSystem.Reset": b.resetAction(uri, "/Actions/ComputerSystem.Reset", resetTypes)},
	}
	if !b.quirks.noIndicator {
		o["IndicatorLED"] = led
	}
	if b.quirks.bootInSettings {
		o["@Redfish.Settings"] = object{"@odata.type": "#Settings.v1_3_5.Settings", "SettingsObject": link(uri + "/SD")}
	}
	for kind, property := range map[fault.Kind]string{fault.NoUUID: "UUID", fault.NoPowerState: "PowerState", fault.NoStorage: "Storage"} {
		if _, ok := b.struck(kind, ""); ok {
			delete(o, property)
		}
	}
	return o, nil
}

func getResetInfo(m *Machine, _ *http.Request) (object, error) {
	return m.bmc.resetInfo(m.systemURI()+"/ResetActionInfo", resetTypes)
}

// getSystemSettings is where some vendors have Boot written.
func getSystemSettings(m *Machine, r *http.Request) (object, error) {
	if !m.bmc.quirks.bootInSettings {
		return nil, errNotFound(r.URL.Path)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return object{
		"@odata.id": m.systemURI() + "/SD", "@odata.type": "#ComputerSystem.v1_22_0.ComputerSystem", "Id": "SD",
		"Name": "System settings", "Boot": m.bootBody(m.override, slices.Clone(m.bootOrder)),
	}, nil
}

func (m *Machine) bootBody(o BootOverride, order []string) object {
	boot := object{
		"BootSourceOverrideEnabled": o.Enabled, "BootSourceOverrideEnabled@Redfish.AllowableValues": bootEnableds,
		"BootSourceOverrideTarget": o.Target, "BootSourceOverrideTarget@Redfish.AllowableValues": m.targets(),
		"BootSourceOverrideMode": o.Mode, "BootSourceOverrideMode@Redfish.AllowableValues": m.modes(),
		"BootOrder": order, "BootOptions": link(m.systemURI() + "/BootOptions"), "HttpBootUri": nil, "UefiTargetBootSourceOverride": nil,
	}
	if o.HTTPURI != "" {
		boot["HttpBootUri"] = o.HTTPURI
	}
	if !m.bmc.quirks.hasMode(m.model) {
		delete(boot, "BootSourceOverrideMode")
		delete(boot, "BootSourceOverrideMode@Redfish.AllowableValues")
	}
	if _, ok := m.bmc.struck(fault.FewBootTargets, ""); ok {
		few.show(boot, o)
	}
	if _, ok := m.bmc.struck(fault.NoBootTarget, ""); ok {
		delete(boot, "BootSourceOverrideTarget")
		delete(boot, "BootSourceOverrideTarget@Redfish.AllowableValues")
	}
	return boot
}

// patchSystem changes all that a body says, or nothing.
func patchSystem(m *Machine, _ caller, _ *http.Request, body object) error {
	boot, changesBoot := body["Boot"]
	if changesBoot {
		if m.bmc.quirks.bootInSettings {
			return errReadOnly("Boot")
		}
		// It is done last, when nothing else can be wrong any more.
		body = maps.Clone(body)
		delete(body, "Boot")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	led, tag := m.led, m.assetTag
	for name, value := range body {
		var err error
		switch name {
		case "IndicatorLED":
			if m.bmc.quirks.noIndicator {
				return errUnknownProperty(name)
			}
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
	if changesBoot {
		if err := m.changeBootLocked(boot); err != nil {
			return err
		}
	}
	m.led, m.assetTag = led, tag
	return nil
}

func patchSystemSettings(m *Machine, _ caller, r *http.Request, body object) error {
	if !m.bmc.quirks.bootInSettings {
		return errNotFound(r.URL.Path)
	}
	for name := range body {
		if name != "Boot" {
			return errUnknownProperty(name)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.changeBootLocked(body["Boot"])
}

// changeBootLocked is a change of Boot, in the vendor's way.
func (m *Machine) changeBootLocked(value any) error {
	boot, ok := value.(object)
	if !ok {
		return errValueType("Boot")
	}
	if err := m.busyLocked(); err != nil {
		return err
	}
	if err := m.bmc.lockedByJob(); err != nil {
		return err
	}
	quirks := m.bmc.quirks
	mode, sendsMode := boot["BootSourceOverrideMode"]
	_, sendsEnabled := boot["BootSourceOverrideEnabled"]
	target, sendsTarget := boot["BootSourceOverrideTarget"].(string)
	none := target == string(BootNone)
	switch {
	case sendsMode && !quirks.hasMode(m.model):
		return errUnknownProperty("BootSourceOverrideMode")
	case quirks.mode == modeRequired && quirks.hasMode(m.model) && sendsTarget && !none && mode != ModeUEFI:
		return errMissing("BootSourceOverrideMode")
	case quirks.noEnabledWithNone && none && sendsEnabled:
		return errValue("BootSourceOverrideEnabled", "while the target is None")
	}
	if s, ok := m.bmc.struck(fault.FewBootTargets, ""); ok {
		var err error
		if boot, err = few.take(boot, s.Value.Text == "taken"); err != nil {
			return err
		}
	}
	override, order, err := m.patchBoot(m.override, m.bootOrder, boot)
	if err != nil {
		return err
	}
	if sendsMode && quirks.mode == modeStarts {
		m.bmc.startLifecycleJob()
	}
	m.override, m.bootOrder = override, order
	return nil
}

// busyLocked refuses what a vendor's firmware does not take during its self test.
func (m *Machine) busyLocked() error {
	if m.power != PoweringOn || m.bmc.quirks.busyInPOST == "" {
		return nil
	}
	return &failure{status: http.StatusBadRequest, id: m.bmc.quirks.busyInPOST, text: "The operation is not supported during the system's power-on self test."}
}

func (m *Machine) patchBoot(o BootOverride, order []string, body object) (BootOverride, []string, error) {
	for name, value := range body {
		var text string
		var err error
		switch name {
		case "BootSourceOverrideEnabled":
			o.Enabled, err = oneOf(name, value, bootEnableds)
		case "BootSourceOverrideTarget":
			text, err = oneOf(name, value, m.targets())
			o.Target = BootTarget(text)
		case "BootSourceOverrideMode":
			o.Mode, err = oneOf(name, value, m.modes())
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

func postReset(m *Machine, _ caller, _ *http.Request, body object) (answer, error) {
	const name = "ComputerSystem.Reset"
	value, given := body["ResetType"]
	if !given {
		return answer{}, errMissingParameter(name, "ResetType")
	}
	resetType, ok := value.(string)
	if !ok || !slices.Contains(resetTypes, resetType) || resetType == m.bmc.quirks.refusedReset {
		return answer{}, errParameter(name, "ResetType", resetType)
	}
	changed, err := m.resetByBMC(resetType)
	if err != nil {
		return answer{}, errConflict(err.Error())
	}
	if !changed {
		return answer{status: http.StatusOK, body: errNoOperation.body()}, nil
	}
	return answer{}, nil
}

// bootOptionNames are the boot options of a machine: its ports, then its disks.
func bootOptionNames(v inventory) []string {
	var out []string
	for port := range v.ports {
		out = append(out, "PXE "+namedAfter("port", port))
	}
	return append(out, "Disk 1")
}

func bootReferences(m *Machine) []string {
	out := bootOptionNames(m.inventory)
	for i := range out {
		out[i] = bootReference(i)
	}
	return out
}

func getBootOption(m *Machine, r *http.Request) (object, error) {
	i, err := position(r, bootReferences(m))
	if err != nil {
		return nil, err
	}
	alias := BootPXE
	if i >= m.ports {
		alias = BootDisk
	}
	return object{
		"@odata.id": r.URL.Path, "@odata.type": "#BootOption.v1_0_6.BootOption",
		"Id": bootReference(i), "Name": namedAfter("Boot Option", i), "BootOptionReference": bootReference(i),
		"DisplayName": bootOptionNames(m.inventory)[i], "BootOptionEnabled": true, "Alias": alias,
	}, nil
}
