package sim

import (
	"maps"
	"net/http"
	"strings"

	"github.com/farrier-dev/farrier/internal/sim/fault"
)

// managerRegistry is the attribute registry of BMCs that have attributes.
const managerRegistry = "ManagerAttributeRegistry.v1_0_0"

const (
	managerRegistryURI  = registriesURI + "/" + managerRegistry
	managerRegistryFile = managerRegistryURI + "/" + managerRegistry + ".json"
)

// managerAttribute is a row of the registry, at one of the two resources that attributes are at.
type managerAttribute struct {
	biosAttribute
	lifecycle bool
}

// managerAttributes are what a BMC with attributes has. What is not withoutReset is taken over at a restart of the BMC.
var managerAttributes = []managerAttribute{
	{biosAttribute: biosAttribute{name: "SysLog.1.Server1", text: "Remote Syslog Server 1", kind: "String", initial: "", high: 255, withoutReset: true}},
	{biosAttribute: biosAttribute{name: "SysLog.1.SysLogEnable", text: "Remote Syslog", kind: "Enumeration", initial: "Disabled", values: []string{"Disabled", "Enabled"}, withoutReset: true}},
	{biosAttribute: biosAttribute{name: "NIC.1.DNSRacName", text: "DNS Name of the BMC", kind: "String", initial: "", high: 63}},
	{biosAttribute: biosAttribute{name: "WebServer.1.Timeout", text: "Web Server Timeout", kind: "Integer", initial: 1800, low: 60, high: 10800}},
	{biosAttribute: biosAttribute{name: "LDAP.1.BindPassword", text: "LDAP Bind Password", kind: "Password", initial: nil, high: 63, withoutReset: true}},
	{biosAttribute: biosAttribute{name: "Info.1.HWModel", text: "Hardware Model", kind: "String", initial: "SIM", high: 63, readOnly: true}},
	{biosAttribute: biosAttribute{name: "LCAttributes.1.AutoUpdate", text: "Automatic Update", kind: "Enumeration", initial: "Disabled", values: []string{"Disabled", "Enabled"}, withoutReset: true}, lifecycle: true},
}

// managerSettings are the settings of a BMC itself that are, or will be after its next restart, other than at first.
type managerSettings struct {
	attributes, pendingAttributes object
	protocol, pendingProtocol     object
}

// restarted is what a BMC takes over when it restarts.
func (s *managerSettings) restarted() {
	if s.attributes == nil {
		s.attributes = object{}
	}
	if s.protocol == nil {
		s.protocol = object{}
	}
	maps.Copy(s.attributes, s.pendingAttributes)
	merge(s.protocol, s.pendingProtocol)
	s.pendingAttributes, s.pendingProtocol = nil, nil
}

// ids of the resources that attributes are at, by whether they are those of the lifecycle controller.
var attributeResources = map[string]bool{"iDRAC.Embedded.1": false, "LifecycleController.Embedded.1": true}

func (b *bmc) attributesURI(id string) string {
	return b.managerURI() + "/Oem/Dell/DellAttributes/" + id
}

// attributeLinks are where a manager links its attributes.
func (b *bmc) attributeLinks() []object {
	return []object{link(b.attributesURI("iDRAC.Embedded.1")), link(b.attributesURI("LifecycleController.Embedded.1"))}
}

func (b *bmc) lifecycleOf(r *http.Request) (bool, error) {
	lifecycle, known := attributeResources[r.PathValue("id")]
	if !known || !b.quirks.managerAttributes {
		return false, errNotFound(r.URL.Path)
	}
	return lifecycle, nil
}

func getManagerAttributes(b *bmc, r *http.Request) (object, error) {
	lifecycle, err := b.lifecycleOf(r)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	attributes := object{}
	for _, a := range managerAttributes {
		if a.lifecycle != lifecycle {
			continue
		}
		attributes[a.name] = a.initial
		if value, changed := b.settings.attributes[a.name]; changed && a.kind != "Password" {
			attributes[a.name] = value
		}
	}
	return object{
		"@odata.id": r.URL.Path, "@odata.type": "#DellAttributes.v1_0_0.DellAttributes", "Id": r.PathValue("id"), "Name": "OEM Attributes of the Manager",
		"AttributeRegistry": managerRegistry, "Attributes": attributes,
	}, nil
}

// patchManagerAttributes takes all of the attributes or none.
func patchManagerAttributes(b *bmc, _ caller, r *http.Request, body object) error {
	lifecycle, err := b.lifecycleOf(r)
	if err != nil {
		return err
	}
	attributes, ok := body["Attributes"].(object)
	if !ok || len(body) != 1 {
		return errValueType("Attributes")
	}
	rows := map[string]biosAttribute{}
	for _, a := range managerAttributes {
		if a.lifecycle == lifecycle {
			rows[a.name] = a.biosAttribute
		}
	}
	for name, value := range attributes {
		a, known := rows[name]
		if !known {
			return errUnknownProperty("Attributes/" + name)
		}
		if err := a.check(value); err != nil {
			return err
		}
	}
	stick, err := b.takesSettings(r)
	if err != nil || !stick {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now, later := object{}, object{}
	for name, value := range attributes {
		if rows[name].withoutReset {
			now[name] = value
		} else {
			later[name] = value
		}
	}
	b.settings.attributes, b.settings.pendingAttributes = joined(b.settings.attributes, now), joined(b.settings.pendingAttributes, later)
	return nil
}

// takesSettings lets the faults of settings have their way with a change.
func (b *bmc) takesSettings(r *http.Request) (stick bool, err error) {
	if _, ok := b.struck(fault.SettingsRefused, r.URL.Path); ok {
		return false, &failure{status: http.StatusBadRequest, id: "PropertyValueConflict", text: "The property could not be written because its value conflicts with another property.", args: nil}
	}
	_, ok := b.struck(fault.SettingsIgnored, r.URL.Path)
	return !ok, nil
}

func joined(into, more object) object {
	out := object{}
	maps.Copy(out, into)
	maps.Copy(out, more)
	return out
}

// merge changes a document as a PATCH does.
func merge(into, change object) {
	for name, value := range change {
		part, isObject := value.(object)
		under, wasObject := into[name].(object)
		if !isObject || !wasObject {
			into[name] = value
			continue
		}
		under = maps.Clone(under)
		merge(under, part)
		into[name] = under
	}
}

// protocols are the parts of ManagerNetworkProtocol that can be changed, with what each of them has.
var protocols = map[string][]string{
	"NTP": {"ProtocolEnabled", "NTPServers"}, "SNMP": {"ProtocolEnabled", "Port"}, "SSH": {"ProtocolEnabled", "Port"}, "IPMI": {"ProtocolEnabled", "Port"},
}

// protocolSettings are those parts as they are.
func (b *bmc) protocolSettings() object {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := object{
		"NTP": object{"ProtocolEnabled": false, "NTPServers": []any{}}, "SNMP": object{"ProtocolEnabled": false, "Port": 161.0},
		"SSH": object{"ProtocolEnabled": true, "Port": 22.0}, "IPMI": object{"ProtocolEnabled": false, "Port": 623.0},
	}
	merge(now, b.settings.protocol)
	return now
}

// patchProtocol takes all of the parts or none. BMCs of some makes take them over at their next restart.
func patchProtocol(b *bmc, _ caller, r *http.Request, body object) error {
	if r.PathValue("manager") != b.managerID() {
		return errNotFound(r.URL.Path)
	}
	for name, value := range body {
		known, part := protocols[name]
		if !part {
			return errUnknownProperty(name)
		}
		change, ok := value.(object)
		if !ok {
			return errValueType(name)
		}
		for property, value := range change {
			if err := checkProtocol(name+"/"+property, property, known, value); err != nil {
				return err
			}
		}
	}
	stick, err := b.takesSettings(r)
	if err != nil || !stick {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	place := &b.settings.protocol
	if b.quirks.protocolWaits {
		place = &b.settings.pendingProtocol
	}
	if *place == nil {
		*place = object{}
	}
	merge(*place, body)
	return nil
}

func checkProtocol(full, property string, known []string, value any) error {
	ok := false
	switch property {
	case "ProtocolEnabled":
		_, ok = value.(bool)
	case "Port":
		var n float64
		n, ok = value.(float64)
		ok = ok && n >= 1 && n <= 65535
	case "NTPServers":
		_, ok = value.([]any)
	}
	if !strings.Contains(strings.Join(known, " "), property) {
		return errUnknownProperty(full)
	}
	if !ok {
		return errValueType(full)
	}
	return nil
}

func getManagerRegistryFile(b *bmc, r *http.Request) (object, error) {
	if !b.quirks.managerAttributes {
		return nil, errNotFound(r.URL.Path)
	}
	return object{
		"@odata.id": managerRegistryURI, "@odata.type": "#MessageRegistryFile.v1_1_4.MessageRegistryFile", "Id": managerRegistry,
		"Name": "Manager Attribute Registry File", "Registry": managerRegistry, "Languages": []string{"en"},
		"Location": []object{{"Language": "en", "Uri": managerRegistryFile}},
	}, nil
}

func getManagerRegistry(b *bmc, r *http.Request) (object, error) {
	if !b.quirks.managerAttributes {
		return nil, errNotFound(r.URL.Path)
	}
	var rows []object
	for _, a := range managerAttributes {
		rows = append(rows, a.row())
	}
	return object{
		"@odata.id": managerRegistryFile, "@odata.type": "#AttributeRegistry.v1_3_8.AttributeRegistry", "Id": managerRegistry,
		"Name": "Manager Attribute Registry", "Language": "en", "RegistryVersion": "1.0.0", "OwningEntity": b.quirks.manufacturer,
		"RegistryEntries": object{"Attributes": rows},
	}, nil
}

// registries are the ids of all attribute registries of a BMC.
func (b *bmc) registries() []string {
	if b.quirks.managerAttributes {
		return []string{biosRegistry, managerRegistry}
	}
	return []string{biosRegistry}
}
