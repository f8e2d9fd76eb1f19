package sim

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
)

// The URIs of what every BMC has exactly one of.
const (
	rootURI           = "/redfish/v1"
	sessionServiceURI = rootURI + "/SessionService"
	sessionsURI       = sessionServiceURI + "/Sessions"
	accountServiceURI = rootURI + "/AccountService"
	accountsURI       = accountServiceURI + "/Accounts"
	rolesURI          = accountServiceURI + "/Roles"
	updateServiceURI  = rootURI + "/UpdateService"
	firmwareURI       = updateServiceURI + "/FirmwareInventory"
	eventServiceURI   = rootURI + "/EventService"
	subscriptionsURI  = eventServiceURI + "/Subscriptions"

	systemsURI     = rootURI + "/Systems"
	systemURI      = systemsURI + "/1"
	resetURI       = systemURI + "/Actions/ComputerSystem.Reset"
	biosURI        = systemURI + "/Bios"
	bootOptionsURI = systemURI + "/BootOptions"
	processorsURI  = systemURI + "/Processors"
	memoryURI      = systemURI + "/Memory"
	storageURI     = systemURI + "/Storage"
	controllerURI  = storageURI + "/1"
	drivesURI      = controllerURI + "/Drives"
	volumesURI     = controllerURI + "/Volumes"
	systemNICsURI  = systemURI + "/EthernetInterfaces"

	managersURI     = rootURI + "/Managers"
	managerURI      = managersURI + "/1"
	managerResetURI = managerURI + "/Actions/Manager.Reset"
	managerNICsURI  = managerURI + "/EthernetInterfaces"
	protocolURI     = managerURI + "/NetworkProtocol"

	chassisListURI = rootURI + "/Chassis"
	chassisURI     = chassisListURI + "/1"
)

// newTree is all resources of a BMC. One tree serves all of them.
func newTree() http.Handler {
	mux := http.NewServeMux()
	for uri, res := range map[string]resource{
		"/redfish":               {open: true, get: fixed(object{"v1": rootURI + "/"})},
		rootURI:                  {open: true, get: getServiceRoot},
		rootURI + "/odata":       {open: true, get: getServiceDocument},
		rootURI + "/$metadata":   {open: true, raw: serveMetadata},
		sessionServiceURI:        {get: getSessionService, patch: patchSessionService},
		sessionsURI:              {openPost: true, ownRules: true, get: members(sessionsURI, "SessionCollection", (*bmc).sessionIDs), post: postSession},
		sessionsURI + "/{id}":    {ownRules: true, get: getSession, delete: deleteSession},
		accountServiceURI:        {get: getAccountService},
		accountsURI:              {ownRules: true, get: members(accountsURI, "ManagerAccountCollection", (*bmc).accountIDs), post: postAccount},
		accountsURI + "/{id}":    {ownRules: true, get: getAccount, patch: patchAccount, delete: deleteAccount},
		rolesURI:                 {get: members(rolesURI, "RoleCollection", func(*bmc) []string { return roles })},
		rolesURI + "/{id}":       {get: getRole},
		updateServiceURI:         {get: getUpdateService},
		firmwareURI:              {get: members(firmwareURI, "SoftwareInventoryCollection", func(*bmc) []string { return []string{"BIOS", "BMC"} })},
		firmwareURI + "/{id}":    {get: getFirmware},
		eventServiceURI:          {get: getEventService},
		subscriptionsURI:         {get: members(subscriptionsURI, "EventDestinationCollection", none)},
		systemsURI:               {get: members(systemsURI, "ComputerSystemCollection", one)},
		systemURI:                {get: getSystem, patch: patchSystem},
		resetURI:                 {post: postReset},
		biosURI:                  {get: getBios},
		bootOptionsURI:           {get: members(bootOptionsURI, "BootOptionCollection", bootReferences)},
		bootOptionsURI + "/{id}": {get: getBootOption},
		processorsURI:            {get: members(processorsURI, "ProcessorCollection", func(b *bmc) []string { return ids("CPU", b.machine.sockets) })},
		processorsURI + "/{id}":  {get: getProcessor},
		memoryURI:                {get: members(memoryURI, "MemoryCollection", func(b *bmc) []string { return ids("DIMM", b.machine.dimms) })},
		memoryURI + "/{id}":      {get: getDIMM},
		storageURI:               {get: members(storageURI, "StorageCollection", one)},
		controllerURI:            {get: getStorage},
		drivesURI + "/{id}":      {get: getDrive},
		volumesURI:               {get: members(volumesURI, "VolumeCollection", volumeIDs)},
		volumesURI + "/{id}":     {get: getVolume},
		systemNICsURI:            {get: members(systemNICsURI, "EthernetInterfaceCollection", func(b *bmc) []string { return ids("NIC", b.machine.ports) })},
		systemNICsURI + "/{id}":  {get: getSystemNIC},
		managersURI:              {get: members(managersURI, "ManagerCollection", one)},
		managerURI:               {get: getManager},
		managerResetURI:          {post: postManagerReset},
		managerNICsURI:           {get: members(managerNICsURI, "EthernetInterfaceCollection", func(*bmc) []string { return []string{"eth0"} })},
		managerNICsURI + "/{id}": {get: getManagerNIC},
		protocolURI:              {get: getProtocol},
		chassisListURI:           {get: members(chassisListURI, "ChassisCollection", one)},
		chassisURI:               {get: getChassis, patch: patchChassis},
	} {
		mux.Handle(uri, res)
	}
	mux.Handle("/", resource{open: true, ownRules: true, get: missing})
	return mux
}

// isOpen says what can be read without authentication.
func isOpen(path string) bool {
	switch path {
	case "/redfish", rootURI, rootURI + "/odata", rootURI + "/$metadata":
		return true
	}
	return false
}

func missing(_ *bmc, r *http.Request) (object, error) { return nil, errNotFound(r.URL.Path) }

func fixed(o object) func(*bmc, *http.Request) (object, error) {
	return func(*bmc, *http.Request) (object, error) {
		c := object{}
		for k, v := range o {
			c[k] = v
		}
		return c, nil
	}
}

// members is a collection of a schema, whose members have the listed ids.
func members(uri, schema string, list func(*bmc) []string) func(*bmc, *http.Request) (object, error) {
	return func(b *bmc, _ *http.Request) (object, error) {
		links := []object{}
		for _, id := range list(b) {
			links = append(links, link(uri+"/"+id))
		}
		return object{
			"@odata.id": uri, "@odata.type": "#" + schema + "." + schema, "Name": schema,
			"Members": links, "Members@odata.count": len(links),
		}, nil
	}
}

func one(*bmc) []string  { return []string{"1"} }
func none(*bmc) []string { return nil }

// ids are prefix1 … prefixN.
func ids(prefix string, n int) []string {
	out := make([]string, n)
	for i := range n {
		out[i] = prefix + strconv.Itoa(i+1)
	}
	return out
}

// position finds the {id} of a request among the ids of its collection.
func position(r *http.Request, among []string) (int, error) {
	i := slices.Index(among, r.PathValue("id"))
	if i < 0 {
		return 0, errNotFound(r.URL.Path)
	}
	return i, nil
}

func link(uri string) object { return object{"@odata.id": uri} }

func links(uri string, among []string) []object {
	out := []object{}
	for _, id := range among {
		out = append(out, link(uri+"/"+id))
	}
	return out
}

func healthy() object { return object{"State": "Enabled", "Health": "OK"} }

func withRollup(state string) object {
	return object{"State": state, "Health": "OK", "HealthRollup": "OK"}
}

// namedAfter is what a part is called by people.
func namedAfter(kind string, i int) string { return fmt.Sprintf("%s %d", kind, i+1) }
