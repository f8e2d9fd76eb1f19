package sim

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/farrier-dev/farrier/internal/sim/fault"
)

const managerNIC = "eth0"

var managerResetTypes = []string{"GracefulRestart", "ForceRestart"}

func getManager(b *bmc, _ *http.Request) (object, error) {
	uri := b.managerURI()
	var systems, chassis []object
	for _, m := range b.machines {
		systems, chassis = append(systems, link(m.systemURI())), append(chassis, link(m.chassisURI()))
	}
	first := b.machines[0]
	links := object{"ManagerForServers": systems, "ManagerForChassis": chassis, "ManagerInChassis": chassis[0]}
	if b.quirks.managerAttributes {
		links["Oem"] = object{"Dell": object{"DellAttributes": b.attributeLinks()}}
	}
	b.linkBanks(links, firmwareBMC)
	return object{
		"@odata.id": uri, "@odata.type": "#Manager.v1_19_1.Manager", "Id": b.managerID(), "Name": "Manager", "ManagerType": "BMC",
		"Manufacturer": b.quirks.service, "Model": b.quirks.product, "PartNumber": "AN-BMC", "SerialNumber": first.partSerial("manager"),
		"UUID": managerUUID(first.inventory), "ServiceEntryPointUUID": first.uuid, "FirmwareVersion": b.firmwareVersion(), "PowerState": "On", "Status": healthy(),
		"DateTime": b.now().UTC().Format(time.RFC3339), "DateTimeLocalOffset": "+00:00",
		"EthernetInterfaces": link(uri + "/EthernetInterfaces"), "NetworkProtocol": link(uri + "/NetworkProtocol"), "LogServices": link(uri + "/LogServices"),
		"Links":   links,
		"Actions": object{"#Manager.Reset": b.resetAction(uri, "/Actions/Manager.Reset", managerResetTypes)},
	}, nil
}

// resetAction says what may be reset how, in the place that the vendor prefers
// (DSP0266, "Allowable values" and "Action info").
func (b *bmc) resetAction(uri, action string, types []string) object {
	if b.quirks.actionInfo {
		return object{"target": uri + action, "@Redfish.ActionInfo": uri + "/ResetActionInfo"}
	}
	return object{"target": uri + action, "ResetType@Redfish.AllowableValues": types}
}

func (b *bmc) resetInfo(uri string, types []string) (object, error) {
	if !b.quirks.actionInfo {
		return nil, errNotFound(uri)
	}
	return object{
		"@odata.id": uri, "@odata.type": "#ActionInfo.v1_4_2.ActionInfo", "Id": "ResetActionInfo", "Name": "Reset Action Info",
		"Parameters": []object{{"Name": "ResetType", "Required": true, "DataType": "String", "AllowableValues": types}},
	}, nil
}

func getManagerResetInfo(b *bmc, r *http.Request) (object, error) {
	return b.resetInfo(r.URL.Path, managerResetTypes)
}

// now is what the BMC's own clock says.
func (b *bmc) now() time.Time {
	now := b.rack.opts.Clock.Now()
	if s, ok := b.struck(fault.ClockSkew, ""); ok {
		now = now.Add(s.Value.Duration)
	}
	return now
}

func managerUUID(v inventory) string { return randomUUID(octets16(v.hash("manager"))) }

// postManagerReset restarts the BMC. What it keeps in memory is gone: the
// sessions, that of the caller too. Accounts, subscriptions and settings are kept. It does
// not answer until it is up again.
func postManagerReset(b *bmc, c caller, r *http.Request, body object) (answer, error) {
	const name = "Manager.Reset"
	if r.PathValue("manager") != b.managerID() {
		return answer{}, errNotFound(r.URL.Path)
	}
	if c.role != roleAdministrator {
		return answer{}, errPrivilege
	}
	resetType, ok := body["ResetType"].(string)
	if !ok {
		return answer{}, errMissingParameter(name, "ResetType")
	}
	if !slices.Contains(managerResetTypes, resetType) {
		return answer{}, errParameter(name, "ResetType", resetType)
	}
	b.log.add(b.now(), "OK", "Manager.1.0.ManagerReset", fmt.Sprintf("The manager was reset: %s.", resetType))
	b.forgetTasks(func(t task) bool { return t.update && !t.over() && t.state != taskPending })
	b.restart()
	return answer{}, nil
}

// restart takes the BMC away for as long as its start takes, and its sessions for ever.
func (b *bmc) restart() {
	takes := b.rack.opts.Timing.ManagerReset
	if s, ok := b.struck(fault.SlowReset, ""); ok {
		takes += s.Value.Duration
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sessions = nil
	b.settings.restarted()
	if now, swapped := b.ownBackup.swap(b.firmwareVersionLocked()); swapped {
		b.newFirmware = now
	}
	b.awayUntil = b.rack.opts.Clock.Now().Add(takes)
}

// away says that the BMC restarts at the moment.
func (b *bmc) away() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.rack.opts.Clock.Now().Before(b.awayUntil)
}

func getManagerNIC(b *bmc, r *http.Request) (object, error) {
	if r.PathValue("id") != managerNIC {
		return nil, errNotFound(r.URL.Path)
	}
	address := object{"Address": b.at.Addr().String(), "AddressOrigin": "DHCP"}
	kind, other := "IPv4Addresses", "IPv6Addresses"
	if b.at.Addr().Is6() {
		kind, other = other, kind
	} else {
		address["SubnetMask"], address["Gateway"] = "255.0.0.0", "0.0.0.0"
	}
	return object{
		"@odata.id": r.URL.Path, "@odata.type": "#EthernetInterface.v1_12_3.EthernetInterface", "Id": managerNIC, "Name": "Manager Ethernet Interface",
		"MACAddress": b.mac, "PermanentMACAddress": b.mac, "HostName": hostName(b), "InterfaceEnabled": true,
		"LinkStatus": "LinkUp", "SpeedMbps": 1000, "FullDuplex": true, "AutoNeg": true, "MTUSize": 1500, "Status": healthy(),
		kind: []object{address}, other: []object{},
	}, nil
}

func hostName(b *bmc) string { return fmt.Sprintf("bmc-%s", b.machines[0].serial) }

func getProtocol(b *bmc, r *http.Request) (object, error) {
	protocol := func(scheme string, port int) object {
		if b.rack.opts.Scheme != scheme {
			return object{"ProtocolEnabled": false, "Port": port}
		}
		return object{"ProtocolEnabled": true, "Port": int(b.at.Port())}
	}
	o := b.protocolSettings()
	merge(o, object{
		"@odata.id": r.URL.Path, "@odata.type": "#ManagerNetworkProtocol.v1_10_1.ManagerNetworkProtocol", "Id": "NetworkProtocol",
		"Name": "Manager Network Protocol", "HostName": hostName(b), "FQDN": hostName(b), "Status": healthy(),
		"HTTP": protocol("http", 80), "HTTPS": protocol("https", 443),
	})
	return o, nil
}

func getChassis(m *Machine, r *http.Request) (object, error) {
	b := m.bmc
	system, err := getSystem(m, r)
	if err != nil {
		return nil, err
	}
	o := object{
		"@odata.id": m.chassisURI(), "@odata.type": "#Chassis.v1_25_0.Chassis", "Id": m.chassisID(), "Name": "Chassis", "ChassisType": "RackMount",
		"Manufacturer": b.quirks.manufacturer, "Model": m.name, "SKU": m.sku, "PartNumber": m.sku + "-C", "SerialNumber": m.serial,
		"Status": withRollup("Enabled"),
		"Links": object{
			"ComputerSystems": []object{link(m.systemURI())}, "ManagedBy": []object{link(b.managerURI())}, "ManagersInChassis": []object{link(b.managerURI())},
			"Drives": links(m.drivesURI(), driveIDs(m)), "Drives@odata.count": len(driveIDs(m)), "Storage": []object{link(m.storageURI())},
		},
	}
	for _, same := range []string{"PowerState", "IndicatorLED", "LocationIndicatorActive"} {
		if value, ok := system[same]; ok {
			o[same] = value
		}
	}
	return o, nil
}

// patchChassis has the light of the system, which is the same light.
func patchChassis(b *bmc, c caller, r *http.Request, body object) error {
	for name := range body {
		if name != "IndicatorLED" && name != "LocationIndicatorActive" {
			return errUnknownProperty(name)
		}
	}
	i := slices.Index(chassisIDs(b), r.PathValue("chassis"))
	if i < 0 {
		return errNotFound(r.URL.Path)
	}
	return patchSystem(b.machines[i], c, r, body)
}
