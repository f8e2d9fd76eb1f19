package sim

import (
	"maps"
	"net/http"
	"slices"
	"strings"
)

// biosRegistry is the attribute registry of all simulated firmware.
const biosRegistry = "BiosAttributeRegistry"

// biosAttribute is one row of the registry (DSP0268, AttributeRegistry).
type biosAttribute struct {
	name, text   string
	kind         string // Enumeration, Integer, String, Boolean
	initial      any
	values       []string
	low, high    int
	readOnly     bool
	withoutReset bool
}

var biosAttributes = []biosAttribute{
	{name: "BootMode", text: "Boot Mode", kind: "Enumeration", initial: "Uefi", values: []string{"Uefi", "Bios"}},
	{name: "ProcVirtualization", text: "Virtualization Technology", kind: "Enumeration", initial: "Enabled", values: []string{"Enabled", "Disabled"}},
	{name: "SriovGlobalEnable", text: "SR-IOV Global Enable", kind: "Enumeration", initial: "Enabled", values: []string{"Enabled", "Disabled"}},
	{name: "LogicalProc", text: "Logical Processor", kind: "Enumeration", initial: "Enabled", values: []string{"Enabled", "Disabled"}},
	{name: "SystemProfile", text: "System Profile", kind: "Enumeration", initial: "Performance", values: []string{"Performance", "Balanced", "Quiet"}},
	{name: "BootRetryCount", text: "Boot Retry Count", kind: "Integer", initial: 3, low: 0, high: 10},
	{name: "QuietBoot", text: "Quiet Boot", kind: "Boolean", initial: false},
	{name: "AssetTag", text: "Asset Tag", kind: "String", initial: "", high: 63, withoutReset: true},
	{name: "SystemServiceTag", text: "Service Tag", kind: "String", initial: nil, high: 63, readOnly: true},
}

// attributesLocked are the attributes as they are; those that were never
// changed are not kept.
func (m *Machine) attributesLocked() object {
	out := object{}
	for _, a := range biosAttributes {
		out[a.name] = a.initial
	}
	out["SystemServiceTag"] = m.serial
	maps.Copy(out, m.bios)
	return out
}

func getBios(m *Machine, _ *http.Request) (object, error) {
	m.mu.Lock()
	attributes := m.attributesLocked()
	m.mu.Unlock()
	uri, links := m.biosURI(), object{}
	m.bmc.linkBanks(links, m.firmwareID())
	return object{
		"@odata.id": uri, "@odata.type": "#Bios.v1_2_3.Bios", "Id": "BIOS", "Name": "BIOS Configuration",
		"AttributeRegistry": biosRegistry, "Attributes": attributes, "ResetBiosToDefaultsPending": false,
		"Links": links,
		"@Redfish.Settings": object{
			"@odata.type": "#Settings.v1_3_5.Settings", "SettingsObject": link(uri + "/" + m.bmc.quirks.settings),
			"SupportedApplyTimes": []string{"OnReset"},
		},
		"Actions": object{"#Bios.ResetBios": object{"target": uri + "/Actions/Bios.ResetBios"}},
	}, nil
}

// getBiosSettings is what the attributes will be after the next reset.
func getBiosSettings(m *Machine, r *http.Request) (object, error) {
	if r.PathValue("settings") != m.bmc.quirks.settings {
		return nil, errNotFound(r.URL.Path)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	attributes := object{}
	maps.Copy(attributes, m.pendingBios)
	return object{
		"@odata.id": r.URL.Path, "@odata.type": "#Bios.v1_2_3.Bios", "Id": m.bmc.quirks.settings, "Name": "BIOS Configuration Pending Settings",
		"AttributeRegistry": biosRegistry, "Attributes": attributes,
	}, nil
}

// patchBiosSettings takes all of the attributes or none.
func patchBiosSettings(m *Machine, _ caller, r *http.Request, body object) error {
	if r.PathValue("settings") != m.bmc.quirks.settings {
		return errNotFound(r.URL.Path)
	}
	var attributes object
	for name, value := range body {
		var ok bool
		switch name {
		case "Attributes":
			attributes, ok = value.(object)
		case "@Redfish.SettingsApplyTime":
			_, ok = value.(object)
		default:
			return errUnknownProperty(name)
		}
		if !ok {
			return errValueType(name)
		}
	}
	for name, value := range attributes {
		if err := checkAttribute(name, value); err != nil {
			return err
		}
	}
	stick, err := m.bmc.takesSettings(r)
	if err != nil || !stick {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.busyLocked(); err != nil {
		return err
	}
	pending := maps.Clone(m.pendingBios)
	if pending == nil {
		pending = object{}
	}
	for name, value := range attributes {
		if i := attributeIndex(name); biosAttributes[i].withoutReset {
			if m.bios == nil {
				m.bios = object{}
			}
			m.bios[name] = value
			continue
		}
		pending[name] = value
	}
	m.pendingBios = pending
	return nil
}

func attributeIndex(name string) int {
	return slices.IndexFunc(biosAttributes, func(a biosAttribute) bool { return a.name == name })
}

func checkAttribute(name string, value any) error {
	i := attributeIndex(name)
	if i < 0 {
		return errUnknownProperty("Attributes/" + name)
	}
	return biosAttributes[i].check(value)
}

// check refuses what an attribute cannot be.
func (a biosAttribute) check(value any) error {
	full := "Attributes/" + a.name
	if a.readOnly {
		return errReadOnly(full)
	}
	var ok bool
	switch a.kind {
	case "Enumeration":
		_, err := oneOf(full, value, a.values)
		return err
	case "Integer":
		var n float64
		n, ok = value.(float64)
		ok = ok && n == float64(int(n)) && int(n) >= a.low && int(n) <= a.high
	case "Boolean":
		_, ok = value.(bool)
	default:
		var text string
		text, ok = value.(string)
		ok = ok && len(text) <= a.high
	}
	if !ok {
		return errValueType(full)
	}
	return nil
}

func postResetBios(m *Machine, _ caller, _ *http.Request, _ object) (answer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pendingBios = object{}
	for _, a := range biosAttributes {
		if !a.readOnly {
			m.pendingBios[a.name] = a.initial
		}
	}
	return answer{}, nil
}

// applyBiosLocked is what firmware does at the start of a self test.
func (m *Machine) applyBiosLocked() {
	if len(m.pendingBios) == 0 {
		return
	}
	if m.bios == nil {
		m.bios = object{}
	}
	maps.Copy(m.bios, m.pendingBios)
	m.pendingBios = nil
}

func getRegistryFile(*bmc, *http.Request) (object, error) {
	return object{
		"@odata.id": biosRegistryURI, "@odata.type": "#MessageRegistryFile.v1_1_4.MessageRegistryFile", "Id": biosRegistry,
		"Name": "BIOS Attribute Registry File", "Registry": biosRegistry + ".v1_0_0", "Languages": []string{"en"},
		"Location": []object{{"Language": "en", "Uri": biosRegistryFile}},
	}, nil
}

func getBiosRegistry(b *bmc, _ *http.Request) (object, error) {
	var rows []object
	for _, a := range biosAttributes {
		rows = append(rows, a.row())
	}
	return object{
		"@odata.id": biosRegistryFile, "@odata.type": "#AttributeRegistry.v1_3_8.AttributeRegistry", "Id": biosRegistry,
		"Name": "BIOS Attribute Registry", "Language": "en", "RegistryVersion": "1.0.0", "OwningEntity": b.quirks.manufacturer,
		"SupportedSystems": []object{{"ProductName": b.machines[0].name, "SystemId": strings.ReplaceAll(b.machines[0].sku, "-", ""), "FirmwareVersion": b.machines[0].biosVersion()}},
		"RegistryEntries":  object{"Attributes": rows},
	}, nil
}

// row is what a registry says of an attribute.
func (a biosAttribute) row() object {
	row := object{
		"AttributeName": a.name, "DisplayName": a.text, "Type": a.kind, "DefaultValue": a.initial, "ReadOnly": a.readOnly,
		"ResetRequired": !a.withoutReset, "Hidden": false, "Immutable": a.readOnly, "MenuPath": "./System",
	}
	switch a.kind {
	case "Enumeration":
		var values []object
		for _, v := range a.values {
			values = append(values, object{"ValueName": v, "ValueDisplayName": v})
		}
		row["Value"] = values
	case "Integer":
		row["LowerBound"], row["UpperBound"], row["ScalarIncrement"] = a.low, a.high, 1
	case "String", "Password":
		row["MinLength"], row["MaxLength"] = a.low, a.high
	}
	return row
}
