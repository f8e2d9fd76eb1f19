package sim

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/farrier-dev/farrier/internal/sim/fault"
)

const (
	redfishVersion = "1.20.0"
	biosVersion    = "2.4.1"
	bmcVersion     = "1.12.0"
)

// getServiceRoot names no AccountService keys that need a session to be read:
// everybody may read it (DSP0266 §13.3).
func getServiceRoot(b *bmc, _ *http.Request) (object, error) {
	root := object{
		"@odata.id": rootURI + "/", "@odata.type": "#ServiceRoot.v1_17_0.ServiceRoot",
		"Id": "RootService", "Name": "Root Service", "RedfishVersion": redfishVersion, "Vendor": b.quirks.service,
		"Product": b.quirks.product, "UUID": b.machines[0].uuid,
		"ProtocolFeaturesSupported": object{
			"ExcerptQuery": false, "FilterQuery": false, "OnlyMemberQuery": false, "SelectQuery": false,
			"ExpandQuery": b.expands().feature(),
			"DeepOperations": object{
				"DeepPATCH": false, "DeepPOST": false,
			},
		},
		"Systems": link(systemsURI), "Managers": link(managersURI), "Chassis": link(chassisListURI),
		"SessionService": link(sessionServiceURI), "AccountService": link(accountServiceURI),
		"UpdateService": link(updateServiceURI), "EventService": link(eventServiceURI), "TelemetryService": link(telemetryURI),
		"Tasks": link(taskServiceURI), "Registries": link(registriesURI),
		"Links": object{"Sessions": link(sessionsURI), "ManagerProvidingService": link(b.managerURI())},
	}
	if b.quirks.oem != "" {
		root["Oem"] = object{b.quirks.oem: object{}}
	}
	if b.quirks.updateBecomesJob {
		root["JobService"] = link(jobServiceURI)
	}
	if _, ok := b.struck(fault.NoSessions, ""); ok {
		delete(root, "SessionService")
		root["Links"] = object{"ManagerProvidingService": link(b.managerURI())}
	}
	return root, nil
}

// services are the resources that the two OData documents name.
var services = []struct{ name, uri, schema string }{
	{"Systems", systemsURI, "ComputerSystemCollection"},
	{"Managers", managersURI, "ManagerCollection"},
	{"Chassis", chassisListURI, "ChassisCollection"},
	{"SessionService", sessionServiceURI, "SessionService"},
	{"AccountService", accountServiceURI, "AccountService"},
	{"UpdateService", updateServiceURI, "UpdateService"},
	{"EventService", eventServiceURI, "EventService"},
	{"TelemetryService", telemetryURI, "TelemetryService"},
	{"Tasks", taskServiceURI, "TaskService"},
	{"Registries", registriesURI, "MessageRegistryFileCollection"},
}

// getServiceDocument is the OData service document (DSP0266, "OData service document").
func getServiceDocument(*bmc, *http.Request) (object, error) {
	value := []object{{"name": "Service", "kind": "Singleton", "url": rootURI + "/"}}
	for _, s := range services {
		value = append(value, object{"name": s.name, "kind": "Singleton", "url": s.uri})
	}
	return object{"@odata.context": rootURI + "/$metadata", "value": value}, nil
}

// serveMetadata is the OData metadata document (DSP0266, "OData metadata").
func serveMetadata(w http.ResponseWriter, _ *http.Request) {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>
<edmx:Edmx xmlns:edmx="http://docs.oasis-open.org/odata/ns/edmx" Version="4.0">
`)
	for _, schema := range append([]string{"ServiceRoot"}, schemaNames()...) {
		fmt.Fprintf(&b, "  <edmx:Reference Uri=\"http://redfish.dmtf.org/schemas/v1/%s_v1.xml\"><edmx:Include Namespace=%q/></edmx:Reference>\n", schema, schema)
	}
	b.WriteString(`  <edmx:DataServices>
    <Schema xmlns="http://docs.oasis-open.org/odata/ns/edm" Namespace="Service">
      <EntityContainer Name="Service" Extends="ServiceRoot.v1_17_0.ServiceContainer"/>
    </Schema>
  </edmx:DataServices>
</edmx:Edmx>
`)
	w.Header().Set("Content-Type", "application/xml;charset=utf-8")
	w.Header().Set("OData-Version", "4.0")
	_, _ = w.Write([]byte(b.String()))
}

func schemaNames() []string {
	out := make([]string, len(services))
	for i, s := range services {
		out[i] = s.schema
	}
	return out
}

func getAccountService(b *bmc, _ *http.Request) (object, error) {
	shortest, longest := b.passwordLengths()
	return object{
		"@odata.id": accountServiceURI, "@odata.type": "#AccountService.v1_15_0.AccountService",
		"Id": "AccountService", "Name": "Account Service", "ServiceEnabled": true, "Status": healthy(),
		"MinPasswordLength": shortest, "MaxPasswordLength": longest,
		"SupportedAccountTypes": []string{"Redfish"},
		"Accounts":              link(accountsURI), "Roles": link(rolesURI),
	}, nil
}

func getRole(_ *bmc, r *http.Request) (object, error) {
	i, err := position(r, roles)
	if err != nil {
		return nil, err
	}
	privileges := []string{"Login", "ConfigureSelf"}
	switch roles[i] {
	case roleOperator:
		privileges = append(privileges, "ConfigureComponents")
	case roleAdministrator:
		privileges = append(privileges, "ConfigureComponents", "ConfigureManager", "ConfigureUsers")
	}
	return object{
		"@odata.id": rolesURI + "/" + roles[i], "@odata.type": "#Role.v1_3_1.Role", "Id": roles[i], "Name": "User Role",
		"RoleId": roles[i], "IsPredefined": true, "AssignedPrivileges": privileges,
	}, nil
}
