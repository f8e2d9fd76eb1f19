package sim

import (
	"fmt"
	"net/http"
	"slices"
	"time"
)

var managerResetTypes = []string{"GracefulRestart", "ForceRestart"}

func getManager(b *bmc, _ *http.Request) (object, error) {
	m := b.machine
	return object{
		"@odata.id": managerURI, "@odata.type": "#Manager.v1_19_1.Manager", "Id": "1", "Name": "Manager", "ManagerType": "BMC",
		"Manufacturer": manufacturer, "Model": "Simulated BMC", "PartNumber": "AN-BMC", "SerialNumber": m.partSerial("manager"),
		"UUID": managerUUID(m.inventory), "ServiceEntryPointUUID": m.uuid, "FirmwareVersion": bmcVersion, "PowerState": "On", "Status": healthy(),
		"DateTime": b.rack.opts.Clock.Now().UTC().Format(time.RFC3339), "DateTimeLocalOffset": "+00:00",
		"EthernetInterfaces": link(managerNICsURI), "NetworkProtocol": link(protocolURI),
		"Links": object{
			"ManagerForServers": []object{link(systemURI)}, "ManagerForChassis": []object{link(chassisURI)}, "ManagerInChassis": link(chassisURI),
		},
		"Actions": object{"#Manager.Reset": object{
			"target": managerResetURI, "ResetType@Redfish.AllowableValues": managerResetTypes,
		}},
	}, nil
}

func managerUUID(v inventory) string { return randomUUID(octets16(v.hash("manager"))) }

// postManagerReset restarts the BMC. What it keeps in memory is gone: the
// sessions, that of the caller too.
func postManagerReset(b *bmc, c caller, _ *http.Request, body object) (answer, error) {
	const name = "Manager.Reset"
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
	b.mu.Lock()
	b.sessions = nil
	b.mu.Unlock()
	return answer{}, nil
}

func getManagerNIC(b *bmc, r *http.Request) (object, error) {
	if r.PathValue("id") != "eth0" {
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
		"@odata.id": r.URL.Path, "@odata.type": "#EthernetInterface.v1_12_3.EthernetInterface", "Id": "eth0", "Name": "Manager Ethernet Interface",
		"MACAddress": b.machine.mac, "PermanentMACAddress": b.machine.mac, "HostName": hostName(b), "InterfaceEnabled": true,
		"LinkStatus": "LinkUp", "SpeedMbps": 1000, "FullDuplex": true, "AutoNeg": true, "MTUSize": 1500, "Status": healthy(),
		kind: []object{address}, other: []object{},
	}, nil
}

func hostName(b *bmc) string { return fmt.Sprintf("bmc-%s", b.machine.serial) }

func getProtocol(b *bmc, _ *http.Request) (object, error) {
	return object{
		"@odata.id": protocolURI, "@odata.type": "#ManagerNetworkProtocol.v1_10_1.ManagerNetworkProtocol", "Id": "NetworkProtocol",
		"Name": "Manager Network Protocol", "HostName": hostName(b), "FQDN": hostName(b), "Status": healthy(),
		"HTTP":  object{"ProtocolEnabled": true, "Port": int(b.at.Port())},
		"HTTPS": object{"ProtocolEnabled": false, "Port": 443},
	}, nil
}

func getChassis(b *bmc, _ *http.Request) (object, error) {
	m := b.machine
	power := m.PowerState()
	m.mu.Lock()
	led := m.led
	m.mu.Unlock()
	return object{
		"@odata.id": chassisURI, "@odata.type": "#Chassis.v1_25_0.Chassis", "Id": "1", "Name": "Chassis", "ChassisType": "RackMount",
		"Manufacturer": manufacturer, "Model": m.name, "SKU": m.sku, "PartNumber": m.sku + "-C", "SerialNumber": m.serial,
		"PowerState": power, "IndicatorLED": led, "LocationIndicatorActive": led == "Blinking", "Status": withRollup("Enabled"),
		"Links": object{
			"ComputerSystems": []object{link(systemURI)}, "ManagedBy": []object{link(managerURI)}, "ManagersInChassis": []object{link(managerURI)},
			"Drives": links(drivesURI, driveIDs(b)), "Drives@odata.count": len(driveIDs(b)), "Storage": []object{link(controllerURI)},
		},
	}, nil
}

// patchChassis has the light of the system, which is the same light.
func patchChassis(b *bmc, c caller, r *http.Request, body object) error {
	for name := range body {
		if name != "IndicatorLED" && name != "LocationIndicatorActive" {
			return errUnknownProperty(name)
		}
	}
	return patchSystem(b, c, r, body)
}
