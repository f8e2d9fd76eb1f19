package sim

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stmcginnis/gofish"
	"github.com/stmcginnis/gofish/schemas"
	testclock "k8s.io/utils/clock/testing"
)

// vendorRack is a rack of one BMC of a vendor, whose machine is of a model.
func vendorRack(t *testing.T, v Vendor, model string, opts Options) (*Rack, *client, *Machine) {
	t.Helper()
	opts.Vendors = []Vendor{v}
	for opts.Seed = 1; newInventory(opts.Seed, 0).name != model; opts.Seed++ {
	}
	rack := startRack(t, opts)
	return rack, rack.client(t, 0), rack.Machine(0)
}

const withMode, withoutMode = "A120", "S480"

func bootOnce(extra ...string) object {
	boot := object{"BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": "Pxe"}
	for _, name := range extra {
		boot[name] = "UEFI"
	}
	return object{"Boot": boot}
}

const bootMode = "BootSourceOverrideMode"

func (c *client) wantError(status int, id, method, path string, body any) {
	c.t.Helper()
	if r := c.do(method, path, body); r.status != status || !strings.HasSuffix(r.messageID(), id) {
		c.t.Errorf("%s %s: HTTP %d %s, want %d %s", method, path, r.status, r.messageID(), status, id)
	}
}

func TestDell(t *testing.T) {
	clock := testclock.NewFakeClock(time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC))
	_, c, m := vendorRack(t, Dell, withMode, Options{Clock: clock})
	uri := m.systemURI()
	if uri != "/redfish/v1/Systems/System.Embedded.1" || m.bmc.managerURI() != "/redfish/v1/Managers/iDRAC.Embedded.1" {
		t.Errorf("system at %s, manager at %s", uri, m.bmc.managerURI())
	}
	c.want(http.StatusOK, http.MethodPatch, uri, bootOnce())
	c.want(http.StatusOK, http.MethodPatch, uri, bootOnce(bootMode))
	c.wantError(http.StatusConflict, "ResourceInUse", http.MethodPatch, uri, bootOnce())
	if tasks := c.want(http.StatusOK, http.MethodGet, tasksURI, nil); tasks.body["Members@odata.count"] != 1.0 {
		t.Errorf("tasks %v", tasks.body)
	}
	clock.Step(lifecycleJob)
	c.want(http.StatusOK, http.MethodPatch, uri, bootOnce())

	c.wantError(http.StatusMethodNotAllowed, "OperationNotAllowed", http.MethodPost, accountsURI, object{"UserName": "new", "Password": "long enough", "RoleId": roleOperator})
	slot := accountsURI + "/3"
	c.wantError(http.StatusBadRequest, "PropertyNotWritable", http.MethodPatch, accountsURI+"/1", object{"UserName": "new"})
	c.wantError(http.StatusBadRequest, "PropertyMissing", http.MethodPatch, slot, object{"UserName": "new", "Password": "long enough"})
	c.want(http.StatusOK, http.MethodPatch, slot, object{"UserName": "new", "Password": "long enough", "RoleId": roleOperator, "Enabled": true})
	other := *c
	other.user, other.password = "new", "long enough"
	other.want(http.StatusOK, http.MethodGet, uri, nil)
	c.want(http.StatusNoContent, http.MethodDelete, slot, nil)
	other.want(http.StatusUnauthorized, http.MethodGet, uri, nil)
	if r := c.want(http.StatusOK, http.MethodGet, slot, nil); r.body["UserName"] != "" {
		t.Errorf("a deleted slot says %v", r.body)
	}

	subscription := object{"Destination": "http://127.0.0.1:1/events", "Protocol": "Redfish"}
	c.want(http.StatusCreated, http.MethodPost, subscriptionsURI, subscription)
	c.wantError(http.StatusBadRequest, "PropertyValueModified", http.MethodPost, subscriptionsURI, subscription)

	c.header.Set("If-Match", "*")
	c.wantError(http.StatusPreconditionFailed, "PreconditionFailed", http.MethodPost, simpleUpdateURI, object{"ImageURI": "http://127.0.0.1:1/bios-9.9.bin"})
}

func TestHPE(t *testing.T) {
	rack, c, m := vendorRack(t, HPE, withMode, Options{Timing: Timing{POST: time.Hour}})
	uri := m.systemURI()
	c.want(http.StatusOK, http.MethodPatch, uri, bootOnce())
	c.wantError(http.StatusBadRequest, "PropertyValueNotInList", http.MethodPatch, uri, object{"Boot": object{"BootSourceOverrideEnabled": "Disabled", "BootSourceOverrideTarget": "None"}})
	c.want(http.StatusOK, http.MethodPatch, uri, object{"Boot": object{"BootSourceOverrideTarget": "None"}})
	if _, err := rack.Machine(0).Reset("On"); err != nil {
		t.Fatal(err)
	}
	c.wantError(http.StatusBadRequest, "UnsupportedOperation", http.MethodPatch, uri, bootOnce())
	c.wantError(http.StatusBadRequest, "UnsupportedOperation", http.MethodPatch, m.biosURI()+"/Settings", object{"Attributes": object{"QuietBoot": true}})
	body := object{"Destination": "http://127.0.0.1:1/events", "Protocol": "Redfish", "DeliveryRetryPolicy": "RetryForever"}
	c.wantError(http.StatusBadRequest, "PropertyUnknown", http.MethodPost, subscriptionsURI, body)
	delete(body, "DeliveryRetryPolicy")
	c.want(http.StatusCreated, http.MethodPost, subscriptionsURI, body)
}

func TestLenovo(t *testing.T) {
	clock := testclock.NewFakeClock(time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC))
	site := newBootSite(t)
	_, c, m := vendorRack(t, Lenovo, withMode, Options{Clock: clock, Timing: Timing{Update: time.Minute}})
	c.wantError(http.StatusBadRequest, "ActionParameterValueNotInList", http.MethodPost, m.systemURI()+"/Actions/ComputerSystem.Reset", object{"ResetType": "PushPowerButton"})

	slot := accountsURI + "/2"
	c.wantError(http.StatusMethodNotAllowed, "OperationNotAllowed", http.MethodPost, accountsURI, object{"UserName": "new", "Password": "long enough", "RoleId": roleOperator})
	c.wantError(http.StatusBadRequest, "PropertyValueFormatError", http.MethodPatch, slot, object{"UserName": "new", "Password": "has a space", "RoleId": roleOperator})
	c.want(http.StatusOK, http.MethodPatch, slot, object{"UserName": "new", "Password": "long-enough", "RoleId": roleOperator, "Enabled": true})
	other := *c
	other.user, other.password = "new", "long-enough"
	other.want(http.StatusOK, http.MethodGet, m.systemURI(), nil)
	if r := c.do(http.MethodDelete, slot, nil); r.status != http.StatusMethodNotAllowed || r.header.Get("Allow") != "GET, HEAD, PATCH" {
		t.Errorf("DELETE of an account: HTTP %d, Allow %q", r.status, r.header.Get("Allow"))
	}
	c.want(http.StatusOK, http.MethodPatch, slot, object{"Enabled": false, "UserName": ""})
	other.want(http.StatusUnauthorized, http.MethodGet, m.systemURI(), nil)

	// The task becomes a job once the image is there.
	c.want(http.StatusAccepted, http.MethodPost, simpleUpdateURI, object{"ImageURI": site.URL + "/kernel"})
	taskURI := tasksURI + "/1"
	eventually(t, "the task is a job", func() bool {
		r := c.want(http.StatusOK, http.MethodGet, taskURI, nil)
		return r.body["JobState"] == "Running" && r.body["TaskState"] == nil && r.body["@odata.id"] == jobsURI+"/1"
	})
	c.want(http.StatusNotFound, http.MethodGet, monitorsURI+"/1", nil)
	eventually(t, "the job waits", clock.HasWaiters)
	clock.Step(time.Minute)
	eventually(t, "the job is done", func() bool {
		return c.want(http.StatusOK, http.MethodGet, jobsURI+"/1", nil).body["JobState"] == "Completed"
	})
}

func TestSupermicro(t *testing.T) {
	_, c, m := vendorRack(t, Supermicro, withMode, Options{})
	c.wantError(http.StatusBadRequest, "PropertyMissing", http.MethodPatch, m.systemURI(), bootOnce())
	c.want(http.StatusOK, http.MethodPatch, m.systemURI(), bootOnce(bootMode))
	info := c.want(http.StatusOK, http.MethodGet, m.systemURI()+"/ResetActionInfo", nil)
	if parameters, _ := info.body["Parameters"].([]any); len(parameters) != 1 {
		t.Errorf("action info %v", info.body)
	}
	long := object{"UserName": "new", "Password": strings.Repeat("a", 21), "RoleId": roleOperator}
	c.wantError(http.StatusBadRequest, "PropertyValueFormatError", http.MethodPost, accountsURI, long)
	long["Password"] = strings.Repeat("a", 20)
	c.want(http.StatusCreated, http.MethodPost, accountsURI, long)

	_, c, m = vendorRack(t, Supermicro, withoutMode, Options{})
	boot, _ := c.want(http.StatusOK, http.MethodGet, m.systemURI(), nil).body["Boot"].(object)
	if _, has := boot[bootMode]; has {
		t.Errorf("model %s has %s", withoutMode, bootMode)
	}
	c.wantError(http.StatusBadRequest, "PropertyUnknown", http.MethodPatch, m.systemURI(), bootOnce(bootMode))
	c.want(http.StatusOK, http.MethodPatch, m.systemURI(), bootOnce())
}

func TestAMI(t *testing.T) {
	_, c, m := vendorRack(t, AMI, withMode, Options{})
	settings := m.systemURI() + "/SD"
	if m.systemURI() != "/redfish/v1/Systems/Self" {
		t.Errorf("system at %s", m.systemURI())
	}
	c.wantError(http.StatusBadRequest, "PropertyNotWritable", http.MethodPatch, m.systemURI(), bootOnce(bootMode))
	c.wantError(http.StatusPreconditionRequired, "PreconditionRequired", http.MethodPatch, settings, bootOnce(bootMode))
	c.header.Set("If-Match", `"old"`)
	c.wantError(http.StatusPreconditionFailed, "PreconditionFailed", http.MethodPatch, settings, bootOnce(bootMode))
	c.header.Set("If-Match", c.want(http.StatusOK, http.MethodGet, settings, nil).header.Get("ETag"))
	c.want(http.StatusOK, http.MethodPatch, settings, bootOnce(bootMode))
	if o := m.BootOverride(); o.Target != BootPXE {
		t.Errorf("override %+v", o)
	}
}

// TestSessionLimits has each vendor's own words for a full table.
func TestSessionLimits(t *testing.T) {
	rack := startRack(t, Options{Servers: len(personalities), Vendors: Vendors()})
	for i, p := range personalities {
		c := rack.client(t, i)
		for range maxSessions {
			if r := c.login(); r.status != http.StatusCreated {
				t.Fatalf("%s: HTTP %d", p.vendor, r.status)
			}
		}
		if r := c.login(); r.status != p.sessionLimit.status || !strings.HasSuffix(r.messageID(), p.sessionLimit.id) {
			t.Errorf("%s: HTTP %d %s", p.vendor, r.status, r.messageID())
		}
	}
}

// TestGofishReadsEveryVendor walks every collection with a client that is not
// ours, at BMCs with one system and with two.
func TestGofishReadsEveryVendor(t *testing.T) {
	for systems, scheme := range map[int]string{1: "https", 2: "http"} {
		rack := startRack(t, Options{Servers: len(personalities), Vendors: Vendors(), SystemsPerBMC: systems, Scheme: scheme})
		for i, info := range rack.BMCs() {
			c, err := gofish.ConnectContext(t.Context(), gofish.ClientConfig{
				Endpoint: info.URL(), Username: DefaultUsername, Password: DefaultPassword, HTTPClient: rack.httpClient(t),
			})
			if err != nil {
				t.Fatalf("%s: %v", info.Vendor, err)
			}
			read := &reads{}
			rack.SetFault(i, read)
			walkServices(t, c, rack.bmcs[i])
			list := must[[]*schemas.ComputerSystem](t)(c.Service.Systems())
			if len(list) != systems {
				t.Fatalf("%s: %d systems", info.Vendor, len(list))
			}
			for k, s := range list {
				walkSystem(t, s, rack.Machines(i)[k])
			}
			c.Logout()
			rack.SetFault(i, nil)
			if scheme != "http" {
				continue
			}
			for uri := range collections(t, rack, i) {
				if _, ok := read.uris.Load(uri); !ok {
					t.Errorf("%s: collection %s was not read", info.Vendor, uri)
				}
			}
		}
	}
}

// reads remembers what was read of a BMC.
type reads struct{ uris sync.Map }

func (r *reads) Effect(req *http.Request) Effect {
	if req.Method == http.MethodGet {
		r.uris.Store(strings.TrimRight(req.URL.Path, "/"), true)
	}
	return EffectNone
}

// collections follows every link of a BMC, and returns what has members.
func collections(t *testing.T, rack *Rack, i int) map[string]bool {
	t.Helper()
	c := rack.client(t, i)
	visited, found := map[string]bool{}, map[string]bool{}
	for queue := []string{"/redfish/v1"}; len(queue) > 0; queue = queue[1:] {
		uri := strings.TrimRight(queue[0], "/")
		if visited[uri] {
			continue
		}
		visited[uri] = true
		r := c.want(http.StatusOK, http.MethodGet, uri, nil)
		if _, has := r.body["Members"]; has {
			found[uri] = true
		}
		queue = append(queue, odataIDs(r.body)...)
	}
	return found
}

func walkServices(t *testing.T, c *gofish.APIClient, b *bmc) {
	t.Helper()
	if c.Service.Vendor != b.quirks.service {
		t.Errorf("vendor %q", c.Service.Vendor)
	}
	accounts := must[*schemas.AccountService](t)(c.Service.AccountService())
	if int(accounts.MaxPasswordLength) != b.quirks.longestPassword {
		t.Errorf("MaxPasswordLength %d", accounts.MaxPasswordLength)
	}
	if list := must[[]*schemas.ManagerAccount](t)(accounts.Accounts()); len(list) != max(1, b.quirks.slots) {
		t.Errorf("%d accounts", len(list))
	}
	if list := must[[]*schemas.Role](t)(accounts.Roles()); len(list) != len(roles) {
		t.Errorf("%d roles", len(list))
	}
	sessions := must[*schemas.SessionService](t)(c.Service.SessionService())
	must[[]*schemas.Session](t)(sessions.Sessions())
	update := must[*schemas.UpdateService](t)(c.Service.UpdateService())
	must[[]*schemas.SoftwareInventory](t)(update.FirmwareInventory())
	events := must[*schemas.EventService](t)(c.Service.EventService())
	must[[]*schemas.EventDestination](t)(events.Subscriptions())
	tasks := must[*schemas.TaskService](t)(c.Service.Tasks())
	must[[]*schemas.Task](t)(tasks.Tasks())
	if b.quirks.updateBecomesJob {
		jobs := must[*schemas.JobService](t)(c.Service.JobService())
		must[[]*schemas.Job](t)(jobs.Jobs())
	}
	telemetry := must[*schemas.TelemetryService](t)(c.Service.TelemetryService())
	if list := must[[]*schemas.MetricReport](t)(telemetry.MetricReports()); len(list) != 1 {
		t.Errorf("%d metric reports", len(list))
	}
	must[[]*schemas.MessageRegistryFile](t)(c.Service.Registries())
	for _, chassis := range must[[]*schemas.Chassis](t)(c.Service.Chassis()) {
		must[[]*schemas.ComputerSystem](t)(chassis.ComputerSystems())
		must[[]*schemas.Drive](t)(chassis.Drives())
	}
	for _, manager := range must[[]*schemas.Manager](t)(c.Service.Managers()) {
		for _, log := range must[[]*schemas.LogService](t)(manager.LogServices()) {
			must[[]*schemas.LogEntry](t)(log.Entries())
		}
		must[[]*schemas.EthernetInterface](t)(manager.EthernetInterfaces())
		if types := must[[]schemas.ResetType](t)(manager.GetSupportedResetTypes()); len(types) != len(managerResetTypes) {
			t.Errorf("reset types %v", types)
		}
	}
}

func walkSystem(t *testing.T, s *schemas.ComputerSystem, m *Machine) {
	t.Helper()
	if s.UUID != m.UUID() || s.Manufacturer != m.bmc.quirks.manufacturer {
		t.Errorf("system %s of %s", s.UUID, s.Manufacturer)
	}
	if types := must[[]schemas.ResetType](t)(s.GetSupportedResetTypes()); len(types) != len(resetTypes) {
		t.Errorf("reset types %v", types)
	}
	if bios := must[*schemas.Bios](t)(s.Bios()); len(bios.Attributes) != len(biosAttributes) {
		t.Errorf("attributes %v", bios.Attributes)
	}
	must[[]*schemas.BootOption](t)(s.BootOptions())
	must[[]*schemas.Processor](t)(s.Processors())
	must[[]*schemas.Memory](t)(s.Memory())
	must[[]*schemas.EthernetInterface](t)(s.EthernetInterfaces())
	must[[]*schemas.SimpleStorage](t)(s.SimpleStorage())
	for _, storage := range must[[]*schemas.Storage](t)(s.Storage()) {
		must[[]*schemas.Drive](t)(storage.Drives())
		must[[]*schemas.Volume](t)(storage.Volumes())
	}
	for _, log := range must[[]*schemas.LogService](t)(s.LogServices()) {
		must[[]*schemas.LogEntry](t)(log.Entries())
	}
}
