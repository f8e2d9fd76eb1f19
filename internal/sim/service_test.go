package sim

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"

	"github.com/farrier-dev/farrier/internal/sim/fault"
)

// receiver collects what BMCs deliver.
type receiver struct {
	*httptest.Server
	mu      sync.Mutex
	got     []object
	headers []http.Header
	from    []string
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		text, err := io.ReadAll(req.Body)
		var body object
		if err == nil {
			err = json.Unmarshal(text, &body)
		}
		if err != nil {
			t.Errorf("delivery: %v", err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.got, r.headers, r.from = append(r.got, body), append(r.headers, req.Header), append(r.from, req.RemoteAddr)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) deliveries() []object {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.got
}

func messageOf(delivery object) string {
	events, _ := delivery["Events"].([]any)
	if len(events) == 0 {
		return ""
	}
	event, _ := events[0].(object)
	id, _ := event["MessageId"].(string)
	return id
}

func TestEventsAreDelivered(t *testing.T) {
	rack := startRack(t, Options{Timing: Timing{POST: time.Hour}})
	c, to := rack.client(t, 0), newReceiver(t)
	subscribe := func(format, context string) string {
		return c.want(http.StatusCreated, http.MethodPost, subscriptionsURI, object{
			"Destination": to.URL + "/" + context, "Protocol": "Redfish", "Context": context, "EventFormatType": format,
			"DeliveryRetryPolicy": "RetryForever", "HttpHeaders": []object{{"X-Mark": context}},
		}).header.Get("Location")
	}
	alerts := subscribe(formatEvent, "alerts")
	subscribe(formatMetric, "metrics")
	next := 0
	arrives := func(check func(object) bool) {
		t.Helper()
		next++
		eventually(t, "an event is delivered", func() bool { return len(to.deliveries()) == next })
		if got := to.deliveries()[next-1]; !check(got) {
			t.Errorf("delivered %v", got)
		}
	}
	is := func(suffix string) func(object) bool {
		return func(o object) bool { return o["Context"] == "alerts" && strings.HasSuffix(messageOf(o), suffix) }
	}
	c.want(http.StatusNoContent, http.MethodPost, resetURI, object{"ResetType": "On"})
	arrives(is(".ResourcePowerStateChanged"))
	id := rack.inject(t, fault.Spec{Kind: fault.NoUUID})
	arrives(is(".ResourceErrorsDetected"))
	rack.clear(t, id)
	arrives(is(".ResourceErrorsCorrected"))
	c.want(http.StatusNoContent, http.MethodPost, testEventURI, object{})
	arrives(is(".TestMessage"))
	if n := rack.SendMetricReport(0); n != 1 {
		t.Errorf("%d subscribers of reports", n)
	}
	arrives(func(o object) bool {
		values, _ := o["MetricValues"].([]any)
		return o["Context"] == "metrics" && len(values) == 1
	})
	to.mu.Lock()
	if to.headers[0].Get("X-Mark") != "alerts" || rack.shared && !strings.HasPrefix(to.from[0], "127.64.0.1:") {
		t.Errorf("headers %v from %s", to.headers[0], to.from[0])
	}
	to.mu.Unlock()

	id = rack.inject(t, fault.Spec{Kind: fault.DropEvents})
	c.want(http.StatusNoContent, http.MethodPost, testEventURI, object{})
	rack.clear(t, id)
	arrives(is(".ResourceErrorsCorrected"))
	c.want(http.StatusOK, http.MethodPatch, alerts, object{"Context": "other"})
	c.want(http.StatusNoContent, http.MethodDelete, alerts, nil)
	c.want(http.StatusNotFound, http.MethodGet, alerts, nil)
	eventually(t, "deliveries are counted", func() bool { return rack.Stats(0).EventsDelivered == next })
}

func TestSubscriptionsAreChecked(t *testing.T) {
	c := startRack(t, Options{}).client(t, 0)
	good := object{"Destination": "http://127.0.0.1:1/", "Protocol": "Redfish"}
	for name, value := range map[string]any{
		"Destination": "nowhere", "Protocol": "SNMPv3", "EventFormatType": "Poem", "Context": 7, "DeliveryRetryPolicy": "Never",
		"HttpHeaders": "X", "Shoe": 43,
	} {
		body := object{name: value}
		for k, v := range good {
			if k != name {
				body[k] = v
			}
		}
		if r := c.do(http.MethodPost, subscriptionsURI, body); r.status != http.StatusBadRequest {
			t.Errorf("%s %v: HTTP %d", name, value, r.status)
		}
	}
	for range maxSubscriptions {
		c.want(http.StatusCreated, http.MethodPost, subscriptionsURI, good)
	}
	c.wantError(http.StatusBadRequest, "EventSubscriptionLimitExceeded", http.MethodPost, subscriptionsURI, good)
}

func TestBiosSettingsWaitForAReset(t *testing.T) {
	rack := startRack(t, Options{})
	c := rack.client(t, 0)
	attributes := func() object {
		t.Helper()
		return c.want(http.StatusOK, http.MethodGet, biosURI, nil).body["Attributes"].(object)
	}
	for name, value := range map[string]any{"SystemProfile": "Loud", "BootRetryCount": 11.0, "QuietBoot": "yes", "AssetTag": 7.0, "SystemServiceTag": "x", "Shoe": 43.0} {
		if r := c.do(http.MethodPatch, biosURI+"/Settings", object{"Attributes": object{name: value}}); r.status != http.StatusBadRequest {
			t.Errorf("%s %v: HTTP %d", name, value, r.status)
		}
	}
	c.want(http.StatusBadRequest, http.MethodPatch, biosURI, object{"Attributes": object{"QuietBoot": true}})
	c.want(http.StatusOK, http.MethodPatch, biosURI+"/Settings", object{
		"Attributes":                 object{"SystemProfile": "Quiet", "BootRetryCount": 5, "AssetTag": "now"},
		"@Redfish.SettingsApplyTime": object{"ApplyTime": "OnReset"},
	})
	if a := attributes(); a["SystemProfile"] != "Performance" || a["AssetTag"] != "now" {
		t.Errorf("before the reset: %v", a)
	}
	c.want(http.StatusNoContent, http.MethodPost, resetURI, object{"ResetType": "On"})
	if a := attributes(); a["SystemProfile"] != "Quiet" || a["BootRetryCount"] != 5.0 {
		t.Errorf("after the reset: %v", a)
	}
	c.want(http.StatusNoContent, http.MethodPost, biosURI+"/Actions/Bios.ResetBios", object{})
	c.want(http.StatusNoContent, http.MethodPost, resetURI, object{"ResetType": "ForceRestart"})
	if a := attributes(); a["SystemProfile"] != "Performance" {
		t.Errorf("after a reset to defaults: %v", a)
	}
	registry := c.want(http.StatusOK, http.MethodGet, biosRegistryFile, nil).body["RegistryEntries"].(object)["Attributes"].([]any)
	if len(registry) != len(biosAttributes) {
		t.Errorf("%d attributes in the registry", len(registry))
	}
}

func TestUpdate(t *testing.T) {
	site := newBootSite(t)
	rack := startRack(t, Options{})
	c := rack.client(t, 0)
	update := func(file string, targets ...string) string {
		t.Helper()
		r := c.want(http.StatusAccepted, http.MethodPost, simpleUpdateURI, object{"ImageURI": site.URL + file, "TransferProtocol": "HTTP", "Targets": targets})
		location := r.header.Get("Location")
		var last reply
		eventually(t, "the task ends", func() bool {
			last = c.do(http.MethodGet, location, nil)
			return last.status == http.StatusOK
		})
		state, _ := last.body["TaskState"].(string)
		return state
	}
	if state := update("/kernel?2.5.0"); state != "Completed" {
		t.Errorf("task %s", state)
	}
	if r := c.want(http.StatusOK, http.MethodGet, systemURI, nil); r.body["BiosVersion"] != "2.5.0" {
		t.Errorf("BIOS %v", r.body["BiosVersion"])
	}
	if state := update("/initrd", firmwareURI+"/BMC"); state != "Completed" {
		t.Errorf("task %s", state)
	}
	if r := c.want(http.StatusOK, http.MethodGet, managerURI, nil); r.body["FirmwareVersion"] != bmcVersion+".1" {
		t.Errorf("BMC %v", r.body["FirmwareVersion"])
	}
	if state := update("/missing"); state != "Exception" {
		t.Errorf("an image that is not there: task %s", state)
	}
	for name, body := range map[string]object{
		"nothing": {}, "scheme": {"ImageURI": "ftp://x/y"}, "target": {"ImageURI": site.URL + "/kernel", "Targets": []string{"/redfish/v1/Nowhere"}},
	} {
		if r := c.do(http.MethodPost, simpleUpdateURI, body); r.status != http.StatusBadRequest {
			t.Errorf("%s: HTTP %d", name, r.status)
		}
	}
}

// TestManagerReset: the BMC is away for a time, and comes back with what it keeps.
func TestManagerReset(t *testing.T) {
	clock := testclock.NewFakeClock(time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC))
	rack := startRack(t, Options{Clock: clock, Timing: Timing{ManagerReset: time.Minute}})
	c := rack.client(t, 0)
	c.want(http.StatusCreated, http.MethodPost, accountsURI, object{"UserName": "kept", "Password": "long enough", "RoleId": roleOperator})
	c.want(http.StatusCreated, http.MethodPost, subscriptionsURI, object{"Destination": "http://127.0.0.1:1/", "Protocol": "Redfish"})
	token := c.login().header.Get("X-Auth-Token")
	c.want(http.StatusNoContent, http.MethodPost, managerResetURI, object{"ResetType": "GracefulRestart"})
	if _, _, err := c.fetch(t.Context(), rootURI); err == nil {
		t.Error("a BMC that restarts answers")
	}
	clock.Step(time.Minute)
	kept := *c
	kept.user, kept.password = "kept", "long enough"
	kept.want(http.StatusOK, http.MethodGet, systemURI, nil)
	if n := c.want(http.StatusOK, http.MethodGet, subscriptionsURI, nil).body["Members@odata.count"]; n != 1.0 {
		t.Errorf("%v subscriptions", n)
	}
	c.token = token
	c.want(http.StatusUnauthorized, http.MethodGet, systemURI, nil)
}

func TestLogs(t *testing.T) {
	rack := startRack(t, Options{})
	c := rack.client(t, 0)
	entries := func(uri string) []any {
		t.Helper()
		return c.want(http.StatusOK, http.MethodGet, uri+"/Entries", nil).body["Members"].([]any)
	}
	system, manager := rack.Machine(0).logURI(), rack.bmcs[0].logURI()
	for range maxEntries {
		c.do(http.MethodPost, resetURI, object{"ResetType": "On"})
		c.do(http.MethodPost, resetURI, object{"ResetType": "ForceOff"})
	}
	list := entries(system)
	if len(list) != maxEntries || !strings.Contains(list[0].(object)["Message"].(string), "power state") {
		t.Errorf("%d entries, the first %v", len(list), list[0])
	}
	c.want(http.StatusOK, http.MethodGet, list[0].(object)["@odata.id"].(string), nil)
	c.want(http.StatusNoContent, http.MethodPost, system+"/Actions/LogService.ClearLog", object{})
	if n := len(entries(system)); n != 0 {
		t.Errorf("%d entries after clearing", n)
	}
	rack.inject(t, fault.Spec{Kind: fault.NoUUID})
	if n := len(entries(manager)); n != 1 {
		t.Errorf("%d entries of the manager", n)
	}
}

func TestSeveralSystems(t *testing.T) {
	rack := startRack(t, Options{Servers: 2, SystemsPerBMC: 3, Vendors: []Vendor{Dell, AMI}})
	uuids := map[string]bool{}
	for i := range 2 {
		c := rack.client(t, i)
		for k, m := range rack.Machines(i) {
			r := c.want(http.StatusOK, http.MethodGet, m.systemURI(), nil)
			if r.body["UUID"] != m.UUID() {
				t.Errorf("%s: UUID %v", m.systemURI(), r.body["UUID"])
			}
			uuids[m.UUID()] = true
			c.want(http.StatusNoContent, http.MethodPost, m.systemURI()+"/Actions/ComputerSystem.Reset", object{"ResetType": "On"})
			for other, n := range rack.Machines(i) {
				if on := n.PowerState() != PowerOff; on != (other <= k) {
					t.Errorf("machine %d is %s after %d was turned on", other, n.PowerState(), k)
				}
			}
		}
	}
	if len(uuids) != 6 {
		t.Errorf("%d machines", len(uuids))
	}
}
