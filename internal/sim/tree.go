package sim

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/farrier-dev/farrier/internal/sim/fault"
)

// newTree is all resources of a BMC. One tree serves all of them.
func newTree() http.Handler {
	mux := http.NewServeMux()
	for _, part := range []map[string]resource{rootTree(), accountTree(), serviceTree(), eventTree(), systemTree(), partTree(), managerTree()} {
		for uri, res := range part {
			mux.Handle(uri, res)
		}
	}
	for _, uri := range pushURIs() {
		mux.Handle(uri, pushResource(uri))
	}
	mux.Handle("/", resource{open: true, ownRules: true, get: missing})
	return mux
}

func rootTree() map[string]resource {
	return map[string]resource{
		"/redfish":             {open: true, document: true, get: fixed(object{"v1": rootURI + "/"})},
		rootURI:                {open: true, get: getServiceRoot},
		rootURI + "/odata":     {open: true, document: true, get: getServiceDocument},
		rootURI + "/$metadata": {open: true, raw: serveMetadata},
		registriesURI:          {get: members("MessageRegistryFileCollection", (*bmc).registries)},
		biosRegistryURI:        {get: getRegistryFile},
		biosRegistryFile:       {get: getBiosRegistry},
		managerRegistryURI:     {get: getManagerRegistryFile},
		managerRegistryFile:    {get: getManagerRegistry},
	}
}

func accountTree() map[string]resource {
	return map[string]resource{
		sessionServiceURI:     {get: getSessionService, patch: patchSessionService},
		sessionsURI:           {openPost: true, ownRules: true, get: members("SessionCollection", (*bmc).sessionIDs), post: postSession},
		sessionsURI + "/{id}": {ownRules: true, get: getSession, delete: deleteSession},
		accountServiceURI:     {get: getAccountService},
		accountsURI:           {ownRules: true, get: members("ManagerAccountCollection", (*bmc).accountIDs), post: postAccount, lacks: slotMethods},
		accountsURI + "/{id}": {ownRules: true, get: getAccount, patch: patchAccount, delete: deleteAccount, lacks: undeletable},
		rolesURI:              {get: members("RoleCollection", func(*bmc) []string { return roles })},
		rolesURI + "/{id}":    {get: getRole},
	}
}

func serviceTree() map[string]resource {
	return map[string]resource{
		updateServiceURI:      {get: getUpdateService},
		simpleUpdateURI:       {post: postSimpleUpdate},
		firmwareURI:           {get: members("SoftwareInventoryCollection", (*bmc).firmwareIDs)},
		firmwareURI + "/{id}": {get: getFirmware},
		taskServiceURI:        {get: getTaskService},
		tasksURI:              {get: members("TaskCollection", (*bmc).taskIDs)},
		tasksURI + "/{id}":    {get: getTask},
		monitorsURI + "/{id}": {raw: serveMonitor},
		jobServiceURI:         {get: getJobService},
		jobsURI:               {get: ofJobs(members("JobCollection", (*bmc).jobIDs))},
		jobsURI + "/{id}":     {get: ofJobs(getJob)},
	}
}

func eventTree() map[string]resource {
	return map[string]resource{
		eventServiceURI:            {get: getEventService},
		testEventURI:               {post: postTestEvent},
		subscriptionsURI:           {get: members("EventDestinationCollection", (*bmc).subscriptionIDs), post: postSubscription},
		subscriptionsURI + "/{id}": {get: getSubscription, patch: patchSubscription, delete: deleteSubscription},
		telemetryURI:               {get: getTelemetryService},
		metricReportsURI:           {get: members("MetricReportCollection", func(*bmc) []string { return []string{metricReportID} })},
		metricReportsURI + "/{id}": {get: getMetricReport},
	}
}

func systemTree() map[string]resource {
	const actions, bios, logs = systemPattern + "/Actions/", systemPattern + "/Bios", systemPattern + "/LogServices"
	return map[string]resource{
		systemsURI:                                  {get: members("ComputerSystemCollection", systemIDs)},
		systemPattern:                               {get: ofSystem(getSystem), patch: changeSystem(patchSystem)},
		systemPattern + "/SD":                       {get: ofSystem(getSystemSettings), patch: changeSystem(patchSystemSettings), needsETag: true},
		systemPattern + "/ResetActionInfo":          {get: ofSystem(getResetInfo)},
		actions + "ComputerSystem.Reset":            {post: actOnSystem(postReset)},
		bios:                                        {get: ofSystem(getBios), patch: changeSystem(patchBios), lacks: unbanked},
		bios + "/{settings}":                        {get: ofSystem(getBiosSettings), patch: changeSystem(patchBiosSettings)},
		bios + "/Actions/Bios.ResetBios":            {post: actOnSystem(postResetBios)},
		systemPattern + "/BootOptions":              {get: ofSystem(membersOf("BootOptionCollection", bootReferences))},
		systemPattern + "/BootOptions/{id}":         {get: ofSystem(getBootOption)},
		logs:                                        {get: members("LogServiceCollection", func(*bmc) []string { return []string{logID} })},
		logs + "/{log}":                             {get: ofSystem(getSystemLog)},
		logs + "/{log}/Entries":                     {get: ofSystem(getSystemEntries)},
		logs + "/{log}/Entries/{id}":                {get: ofSystem(getSystemEntry)},
		logs + "/{log}/Actions/LogService.ClearLog": {post: actOnSystem(clearSystemLog)},
	}
}

func partTree() map[string]resource {
	const storage, simple = systemPattern + "/Storage", systemPattern + "/SimpleStorage"
	return map[string]resource{
		systemPattern + "/Processors":              {get: ofSystem(membersOf("ProcessorCollection", func(m *Machine) []string { return ids("CPU", m.sockets) }))},
		systemPattern + "/Processors/{id}":         {get: ofSystem(getProcessor)},
		systemPattern + "/Memory":                  {get: ofSystem(membersOf("MemoryCollection", func(m *Machine) []string { return ids("DIMM", m.dimms) }))},
		systemPattern + "/Memory/{id}":             {get: ofSystem(getDIMM)},
		systemPattern + "/EthernetInterfaces":      {get: ofSystem(membersOf("EthernetInterfaceCollection", func(m *Machine) []string { return ids("NIC", m.ports) }))},
		systemPattern + "/EthernetInterfaces/{id}": {get: ofSystem(getSystemNIC)},
		storage:                     {get: ofSystem(withStorage(membersOf("StorageCollection", func(*Machine) []string { return []string{"1"} })))},
		storage + "/1":              {get: ofSystem(withStorage(getStorage))},
		storage + "/1/Drives/{id}":  {get: ofSystem(withStorage(getDrive))},
		storage + "/1/Volumes":      {get: ofSystem(withStorage(membersOf("VolumeCollection", volumeIDs)))},
		storage + "/1/Volumes/{id}": {get: ofSystem(withStorage(getVolume))},
		simple:                      {get: ofSystem(membersOf("SimpleStorageCollection", func(*Machine) []string { return []string{"1"} }))},
		simple + "/1":               {get: ofSystem(getSimpleStorage)},
	}
}

func managerTree() map[string]resource {
	const nics, logs = managerPattern + "/EthernetInterfaces", managerPattern + "/LogServices"
	return map[string]resource{
		managersURI:                               {get: members("ManagerCollection", func(b *bmc) []string { return []string{b.managerID()} })},
		managerPattern:                            {get: ofManager(getManager), patch: patchManager, lacks: unbanked},
		managerPattern + "/ResetActionInfo":       {get: ofManager(getManagerResetInfo)},
		managerPattern + "/Actions/Manager.Reset": {post: postManagerReset},
		nics:                                {get: ofManager(members("EthernetInterfaceCollection", func(*bmc) []string { return []string{managerNIC} }))},
		nics + "/{id}":                      {get: ofManager(getManagerNIC)},
		managerPattern + "/NetworkProtocol": {get: ofManager(getProtocol), patch: patchProtocol},
		managerPattern + "/Oem/Dell/DellAttributes/{id}": {get: ofManager(getManagerAttributes), patch: patchManagerAttributes},
		logs:                         {get: ofManager(members("LogServiceCollection", func(*bmc) []string { return []string{logID} }))},
		logs + "/{log}":              {get: ofManager(getManagerLog)},
		logs + "/{log}/Entries":      {get: ofManager(getManagerEntries)},
		logs + "/{log}/Entries/{id}": {get: ofManager(getManagerEntry)},
		logs + "/{log}/Actions/LogService.ClearLog": {post: clearManagerLog},
		chassisListURI: {get: members("ChassisCollection", chassisIDs)},
		chassisPattern: {get: ofChassis(getChassis), patch: patchChassis},
	}
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

func fixed(o object) getter {
	return func(*bmc, *http.Request) (object, error) {
		c := object{}
		for k, v := range o {
			c[k] = v
		}
		return c, nil
	}
}

// members is a collection of a schema, whose members have the listed ids.
func members(schema string, list func(*bmc) []string) getter {
	return func(b *bmc, r *http.Request) (object, error) {
		return b.collection(r, schema, list(b)), nil
	}
}

// membersOf is the same for a collection that belongs to a system.
func membersOf(schema string, list func(*Machine) []string) func(*Machine, *http.Request) (object, error) {
	return func(m *Machine, r *http.Request) (object, error) {
		return m.bmc.collection(r, schema, list(m)), nil
	}
}

// faultyMember is the one that the fault of that name adds.
const faultyMember = "Faulty"

func (b *bmc) collection(r *http.Request, schema string, ids []string) object {
	uri := r.URL.Path
	if _, ok := b.struck(fault.MemberError, uri); ok {
		ids = append(slices.Clone(ids), faultyMember)
	}
	all := links(uri, ids)
	return object{
		"@odata.id": uri, "@odata.type": "#" + schema + "." + schema, "Name": schema,
		"Members": all, "Members@odata.count": len(all),
	}
}

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
