package sim

import (
	"net/http"
	"slices"
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
	simpleUpdateURI   = updateServiceURI + "/Actions/UpdateService.SimpleUpdate"
	firmwareURI       = updateServiceURI + "/FirmwareInventory"
	taskServiceURI    = rootURI + "/TaskService"
	tasksURI          = taskServiceURI + "/Tasks"
	monitorsURI       = taskServiceURI + "/TaskMonitors"
	jobServiceURI     = rootURI + "/JobService"
	jobsURI           = jobServiceURI + "/Jobs"
	eventServiceURI   = rootURI + "/EventService"
	subscriptionsURI  = eventServiceURI + "/Subscriptions"
	testEventURI      = eventServiceURI + "/Actions/EventService.SubmitTestEvent"
	telemetryURI      = rootURI + "/TelemetryService"
	metricReportsURI  = telemetryURI + "/MetricReports"
	registriesURI     = rootURI + "/Registries"
	biosRegistryURI   = registriesURI + "/" + biosRegistry
	biosRegistryFile  = biosRegistryURI + "/" + biosRegistry + ".json"

	systemsURI     = rootURI + "/Systems"
	managersURI    = rootURI + "/Managers"
	chassisListURI = rootURI + "/Chassis"
)

// Patterns of what there may be several of, or what vendors call otherwise.
const (
	systemPattern  = systemsURI + "/{system}"
	managerPattern = managersURI + "/{manager}"
	chassisPattern = chassisListURI + "/{chassis}"
)

// systemURI is where the machine's system is, managerURI where the manager of
// the BMC is.
func (m *Machine) systemURI() string  { return systemsURI + "/" + m.systemID() }
func (m *Machine) systemID() string   { return numbered(m.bmc.quirks.systemID, m.number) }
func (m *Machine) chassisURI() string { return chassisListURI + "/" + m.chassisID() }
func (m *Machine) chassisID() string  { return numbered(m.bmc.quirks.chassisID, m.number) }
func (b *bmc) managerURI() string     { return managersURI + "/" + b.managerID() }
func (b *bmc) managerID() string      { return numbered(b.quirks.managerID, 1) }

func (m *Machine) storageURI() string { return m.systemURI() + "/Storage/1" }
func (m *Machine) drivesURI() string  { return m.storageURI() + "/Drives" }
func (m *Machine) volumesURI() string { return m.storageURI() + "/Volumes" }
func (m *Machine) biosURI() string    { return m.systemURI() + "/Bios" }

// A getter reads one resource.
type getter = func(b *bmc, r *http.Request) (object, error)

// ofSystem is a getter of one of a system's resources.
func ofSystem(get func(m *Machine, r *http.Request) (object, error)) getter {
	return func(b *bmc, r *http.Request) (object, error) {
		m, err := b.system(r)
		if err != nil {
			return nil, err
		}
		return get(m, r)
	}
}

func changeSystem(patch func(m *Machine, c caller, r *http.Request, body object) error) func(*bmc, caller, *http.Request, object) error {
	return func(b *bmc, c caller, r *http.Request, body object) error {
		m, err := b.system(r)
		if err != nil {
			return err
		}
		return patch(m, c, r, body)
	}
}

func actOnSystem(post func(m *Machine, c caller, r *http.Request, body object) (answer, error)) func(*bmc, caller, *http.Request, object) (answer, error) {
	return func(b *bmc, c caller, r *http.Request, body object) (answer, error) {
		m, err := b.system(r)
		if err != nil {
			return answer{}, err
		}
		return post(m, c, r, body)
	}
}

// system finds the machine that a request is about.
func (b *bmc) system(r *http.Request) (*Machine, error) {
	i := slices.IndexFunc(b.machines, func(m *Machine) bool { return m.systemID() == r.PathValue("system") })
	if i < 0 {
		return nil, errNotFound(r.URL.Path)
	}
	return b.machines[i], nil
}

func ofChassis(get func(m *Machine, r *http.Request) (object, error)) getter {
	return func(b *bmc, r *http.Request) (object, error) {
		i := slices.IndexFunc(b.machines, func(m *Machine) bool { return m.chassisID() == r.PathValue("chassis") })
		if i < 0 {
			return nil, errNotFound(r.URL.Path)
		}
		return get(b.machines[i], r)
	}
}

// ofManager is a resource of the BMC itself.
func ofManager(get getter) getter {
	return func(b *bmc, r *http.Request) (object, error) {
		if r.PathValue("manager") != b.managerID() {
			return nil, errNotFound(r.URL.Path)
		}
		return get(b, r)
	}
}

func systemIDs(b *bmc) []string {
	out := make([]string, len(b.machines))
	for i, m := range b.machines {
		out[i] = m.systemID()
	}
	return out
}

func chassisIDs(b *bmc) []string {
	out := make([]string, len(b.machines))
	for i, m := range b.machines {
		out[i] = m.chassisID()
	}
	return out
}
