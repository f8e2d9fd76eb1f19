package sim

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	testclock "k8s.io/utils/clock/testing"
)

// client is one that knows nothing of Redfish, as curl does.
type client struct {
	t        *testing.T
	base     string
	user     string
	password string
	token    string
	header   http.Header
}

func (r *Rack) client(t *testing.T, i int) *client {
	t.Helper()
	return &client{t: t, base: r.baseURL(i), user: DefaultUsername, password: DefaultPassword, header: http.Header{}}
}

type reply struct {
	status int
	header http.Header
	body   object
}

// messageID is that of the error a reply carries, without its registry.
func (r reply) messageID() string {
	e, _ := r.body["error"].(object)
	code, _ := e["code"].(string)
	return strings.TrimPrefix(code, baseRegistry)
}

func (c *client) do(method, path string, body any) reply {
	c.t.Helper()
	var reader io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		reader = strings.NewReader(b)
	default:
		text, err := json.Marshal(b)
		if err != nil {
			c.t.Fatal(err)
		}
		reader = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.base+path, reader)
	if err != nil {
		c.t.Fatal(err)
	}
	for name, values := range c.header {
		req.Header[name] = values
	}
	switch {
	case c.token != "":
		req.Header.Set("X-Auth-Token", c.token)
	case c.user != "":
		req.SetBasicAuth(c.user, c.password)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	out := reply{status: resp.StatusCode, header: resp.Header}
	if len(text) > 0 && strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
		if err := json.Unmarshal(text, &out.body); err != nil {
			c.t.Fatalf("%s %s: %v in %s", method, path, err, text)
		}
	}
	return out
}

func (c *client) want(status int, method, path string, body any) reply {
	c.t.Helper()
	r := c.do(method, path, body)
	if r.status != status {
		c.t.Fatalf("%s %s: HTTP %d %s, want %d", method, path, r.status, r.messageID(), status)
	}
	return r
}

// odataIDs are all links in a body, actions included, that are not fragments of
// a resource.
func odataIDs(value any) []string {
	var out []string
	switch v := value.(type) {
	case object:
		for name, member := range v {
			if uri, ok := member.(string); ok && name == "@odata.id" && !strings.Contains(uri, "#") {
				out = append(out, uri)
			}
			out = append(out, odataIDs(member)...)
		}
	case []any:
		for _, member := range v {
			out = append(out, odataIDs(member)...)
		}
	}
	return out
}

func TestWalk(t *testing.T) {
	const servers = 18
	rack := startRack(t, Options{Servers: servers, Vendors: Vendors()})
	seen := map[string]bool{}
	for i := range servers {
		m := rack.Machine(i)
		seen[m.name] = true
		c := rack.client(t, i)
		visited := map[string]bool{}
		queue := []string{"/redfish/v1"}
		for len(queue) > 0 {
			uri := queue[0]
			queue = queue[1:]
			if visited[uri] {
				continue
			}
			visited[uri] = true
			r := c.want(http.StatusOK, http.MethodGet, uri, nil)
			if got, _ := r.body["@odata.id"].(string); strings.TrimRight(got, "/") != strings.TrimRight(uri, "/") {
				t.Errorf("%s says it is %q", uri, got)
			}
			if kind, _ := r.body["@odata.type"].(string); !strings.HasPrefix(kind, "#") || r.body["Name"] == nil {
				t.Errorf("%s has type %q, name %v", uri, kind, r.body["Name"])
			}
			if etag, _ := r.body["@odata.etag"].(string); etag == "" || etag != r.header.Get("ETag") {
				t.Errorf("%s: ETag %q in the header, %q in the body", uri, r.header.Get("ETag"), etag)
			}
			queue = append(queue, odataIDs(r.body)...)
		}
		for _, uri := range []string{
			m.systemURI(), m.chassisURI(), m.storageURI(), m.biosURI(), m.biosURI() + "/" + m.bmc.quirks.settings, m.logURI() + "/Entries",
			m.bmc.managerURI(), m.bmc.logURI(), accountsURI + "/" + m.bmc.quirks.adminID, sessionsURI, firmwareURI + "/BIOS", subscriptionsURI,
			tasksURI, biosRegistryURI, metricReportsURI + "/" + metricReportID,
		} {
			if !visited[uri] {
				t.Errorf("%s: no link leads to %s", m.bmc.quirks.vendor, uri)
			}
		}
		if len(visited) < 50 {
			t.Errorf("%s: only %d resources", m.bmc.quirks.vendor, len(visited))
		}
	}
	if len(seen) != len(models) {
		t.Errorf("models %v: the seed gives all of them to %d servers", seen, servers)
	}
}

func TestOpenResources(t *testing.T) {
	rack := startRack(t, Options{})
	c := rack.client(t, 0)
	c.user = ""
	for _, path := range []string{"/redfish", "/redfish/v1", "/redfish/v1/", "/redfish/v1/odata", "/redfish/v1/$metadata"} {
		if r := c.want(http.StatusOK, http.MethodGet, path, nil); r.header.Get("OData-Version") != "4.0" && path != "/redfish" {
			t.Errorf("%s: OData-Version %q", path, r.header.Get("OData-Version"))
		}
	}
	document := c.want(http.StatusOK, http.MethodGet, "/redfish/v1/odata", nil)
	c.user = DefaultUsername
	for _, member := range document.body["value"].([]any) {
		c.want(http.StatusOK, http.MethodGet, member.(object)["url"].(string), nil)
	}
}

func TestAuthentication(t *testing.T) {
	rack := startRack(t, Options{})
	c := rack.client(t, 0)
	for name, change := range map[string]func(*client){
		"nobody":         func(c *client) { c.user = "" },
		"wrong password": func(c *client) { c.password = "wrong" },
		"wrong user":     func(c *client) { c.user = "root" },
		"wrong token":    func(c *client) { c.token = "wrong" },
	} {
		other := *c
		change(&other)
		for _, path := range []string{systemURI, sessionsURI, accountsURI} {
			r := other.want(http.StatusUnauthorized, http.MethodGet, path, nil)
			if r.header.Get("WWW-Authenticate") == "" || r.messageID() != "NoValidSession" {
				t.Errorf("%s: %s: %v", name, path, r)
			}
		}
	}
	c.want(http.StatusOK, http.MethodGet, systemURI, nil)
	if s := rack.Stats(0); s.Refused != 12 || s.BasicLogins != 1 {
		t.Errorf("stats %+v", s)
	}
}

func (c *client) login() reply {
	c.t.Helper()
	return c.do(http.MethodPost, sessionsURI, object{"UserName": c.user, "Password": c.password, "Context": "a test"})
}

func TestSessions(t *testing.T) {
	clock := testclock.NewFakeClock(time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC))
	rack := startRack(t, Options{Clock: clock})
	basic := rack.client(t, 0)
	r := basic.login()
	location, token := r.header.Get("Location"), r.header.Get("X-Auth-Token")
	if r.status != http.StatusCreated || location == "" || token == "" || r.body["Context"] != "a test" {
		t.Fatalf("login: %+v", r)
	}
	c := &client{t: t, base: basic.base, token: token}
	c.want(http.StatusOK, http.MethodGet, systemURI, nil)
	if r := c.want(http.StatusOK, http.MethodGet, location, nil); r.body["UserName"] != DefaultUsername || r.body["Password"] != nil {
		t.Errorf("session %v", r.body)
	}
	// Used, it lives on; unused, it ends.
	for range 3 {
		clock.Step(defaultSessionSeconds*time.Second - time.Second)
		c.want(http.StatusOK, http.MethodGet, systemURI, nil)
	}
	clock.Step(defaultSessionSeconds * time.Second)
	c.want(http.StatusUnauthorized, http.MethodGet, systemURI, nil)

	c.token = basic.login().header.Get("X-Auth-Token")
	for range maxSessions - 1 {
		basic.login()
	}
	if r := basic.login(); r.status != http.StatusServiceUnavailable || r.messageID() != "SessionLimitExceeded" {
		t.Errorf("login to a full table: HTTP %d %s", r.status, r.messageID())
	}
	list := basic.want(http.StatusOK, http.MethodGet, sessionsURI, nil)
	if n := list.body["Members@odata.count"]; n != float64(maxSessions) {
		t.Errorf("%v sessions listed", n)
	}
	for _, uri := range odataIDs(list.body["Members"]) {
		basic.want(http.StatusNoContent, http.MethodDelete, uri, nil)
		basic.want(http.StatusNotFound, http.MethodDelete, uri, nil)
	}
	c.want(http.StatusUnauthorized, http.MethodGet, systemURI, nil)
	if s := rack.Stats(0); s.Logins != maxSessions+1 {
		t.Errorf("%d logins, want %d", s.Logins, maxSessions+1)
	}
}

func TestLoginIsChecked(t *testing.T) {
	c := startRack(t, Options{}).client(t, 0)
	c.user = ""
	for name, tc := range map[string]struct {
		body   any
		status int
	}{
		"wrong password": {object{"UserName": DefaultUsername, "Password": "x"}, 401},
		"no password":    {object{"UserName": DefaultUsername}, 400},
		"no text":        {object{"UserName": DefaultUsername, "Password": 7}, 400},
		"empty":          {nil, 400},
		"no JSON":        {"UserName=admin", 400},
		"an array":       {"[]", 400},
		"null":           {"null", 400},
		"too large":      {`{"UserName":"` + strings.Repeat("a", maxBody) + `"}`, 413},
	} {
		if r := c.do(http.MethodPost, sessionsURI, tc.body); r.status != tc.status || r.messageID() == "" {
			t.Errorf("%s: HTTP %d %s, want %d", name, r.status, r.messageID(), tc.status)
		}
	}
}

func TestSetPassword(t *testing.T) {
	rack := startRack(t, Options{Servers: 2})
	c := rack.client(t, 0)
	session := &client{t: t, base: c.base, token: c.login().header.Get("X-Auth-Token")}
	session.want(http.StatusOK, http.MethodGet, systemURI, nil)
	rack.SetPassword(0, "another one")
	session.want(http.StatusUnauthorized, http.MethodGet, systemURI, nil)
	c.want(http.StatusUnauthorized, http.MethodGet, systemURI, nil)
	c.password = "another one"
	c.want(http.StatusOK, http.MethodGet, systemURI, nil)
	rack.client(t, 1).want(http.StatusOK, http.MethodGet, systemURI, nil)
}

func TestAccounts(t *testing.T) {
	rack := startRack(t, Options{})
	admin := rack.client(t, 0)
	create := func(user, role string) string {
		r := admin.want(http.StatusCreated, http.MethodPost, accountsURI, object{"UserName": user, "Password": "long enough", "RoleId": role})
		return r.header.Get("Location")
	}
	viewerURI, operatorURI := create("viewer", roleReadOnly), create("operator", roleOperator)
	viewer, operator := *admin, *admin
	viewer.user, viewer.password = "viewer", "long enough"
	operator.user, operator.password = "operator", "long enough"

	viewer.want(http.StatusOK, http.MethodGet, systemURI, nil)
	viewer.want(http.StatusForbidden, http.MethodPost, resetURI, object{"ResetType": "On"})
	viewer.want(http.StatusForbidden, http.MethodPatch, systemURI, object{"AssetTag": "a"})
	viewer.want(http.StatusForbidden, http.MethodDelete, operatorURI, nil)
	viewer.want(http.StatusForbidden, http.MethodPatch, viewerURI, object{"RoleId": roleAdministrator})
	viewer.want(http.StatusOK, http.MethodPatch, viewerURI, object{"Password": "changed it"})
	viewer.want(http.StatusUnauthorized, http.MethodGet, systemURI, nil)

	operator.want(http.StatusNoContent, http.MethodPost, resetURI, object{"ResetType": "On"})
	operator.want(http.StatusForbidden, http.MethodPost, accountsURI, object{"UserName": "x", "Password": "long enough", "RoleId": roleReadOnly})

	for name, body := range map[string]object{
		"exists":         {"UserName": "viewer", "Password": "long enough", "RoleId": roleReadOnly},
		"short password": {"UserName": "new", "Password": "short", "RoleId": roleReadOnly},
		"no role":        {"UserName": "new", "Password": "long enough"},
		"unknown role":   {"UserName": "new", "Password": "long enough", "RoleId": "King"},
		"unknown":        {"UserName": "new", "Password": "long enough", "RoleId": roleReadOnly, "Shoe": 43},
	} {
		if r := admin.do(http.MethodPost, accountsURI, body); r.status != http.StatusBadRequest {
			t.Errorf("%s: HTTP %d", name, r.status)
		}
	}
	admin.want(http.StatusOK, http.MethodPatch, operatorURI, object{"Enabled": false})
	operator.want(http.StatusUnauthorized, http.MethodGet, systemURI, nil)
	admin.want(http.StatusNoContent, http.MethodDelete, viewerURI, nil)
	admin.want(http.StatusNotFound, http.MethodGet, viewerURI, nil)
	if r := admin.do(http.MethodDelete, accountsURI+"/1", nil); r.status != http.StatusMethodNotAllowed {
		t.Errorf("the last account can be deleted: HTTP %d", r.status)
	}
}

func TestPatchSystem(t *testing.T) {
	rack := startRack(t, Options{})
	c := rack.client(t, 0)
	before := c.want(http.StatusOK, http.MethodGet, systemURI, nil)
	etag := before.header.Get("ETag")
	c.header.Set("If-Match", etag)
	r := c.want(http.StatusOK, http.MethodPatch, systemURI, object{
		"Boot":         object{"BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": "UefiHttp", "BootSourceOverrideMode": "UEFI", "HttpBootUri": "http://boot/uki.efi"},
		"IndicatorLED": "Blinking", "AssetTag": "tag",
	})
	want := BootOverride{Enabled: "Once", Target: BootUEFIHTTP, Mode: "UEFI", HTTPURI: "http://boot/uki.efi"}
	if got := rack.Machine(0).BootOverride(); got != want {
		t.Errorf("override %+v", got)
	}
	if r.body["IndicatorLED"] != "Blinking" || r.body["LocationIndicatorActive"] != true || r.body["AssetTag"] != "tag" {
		t.Errorf("system %v", r.body)
	}
	if r := c.want(http.StatusPreconditionFailed, http.MethodPatch, systemURI, object{"AssetTag": "late"}); r.messageID() != "PreconditionFailed" {
		t.Errorf("message %q", r.messageID())
	}
	c.header.Set("If-Match", r.header.Get("ETag"))
	c.want(http.StatusOK, http.MethodPatch, systemURI, object{"Boot": object{"BootSourceOverrideTarget": "None"}})
	if got := rack.Machine(0).BootOverride(); got.Enabled != overrideDisabled {
		t.Errorf("override %+v without a target is not disabled", got)
	}
	c.header.Del("If-Match")
	c.header.Set("If-None-Match", c.want(http.StatusOK, http.MethodGet, systemURI, nil).header.Get("ETag"))
	c.want(http.StatusNotModified, http.MethodGet, systemURI, nil)
}

func TestPatchSystemIsChecked(t *testing.T) {
	rack := startRack(t, Options{})
	c := rack.client(t, 0)
	for name, tc := range map[string]struct {
		body any
		id   string
	}{
		"empty":           {object{}, "EmptyJSON"},
		"unknown":         {object{"Shoe": 43}, "PropertyUnknown"},
		"read-only":       {object{"UUID": "x"}, "PropertyNotWritable"},
		"type":            {object{"IndicatorLED": 1}, "PropertyValueTypeError"},
		"value":           {object{"IndicatorLED": "Red"}, "PropertyValueNotInList"},
		"boot type":       {object{"Boot": "Pxe"}, "PropertyValueTypeError"},
		"boot target":     {object{"Boot": object{"BootSourceOverrideTarget": "Floppy"}}, "PropertyValueNotInList"},
		"boot unknown":    {object{"Boot": object{"Shoe": "Pxe"}}, "PropertyUnknown"},
		"boot order":      {object{"Boot": object{"BootOrder": []string{"Boot0001", "Boot0001"}}}, "PropertyValueNotInList"},
		"boot order part": {object{"Boot": object{"BootOrder": []string{"Boot0001"}}}, "PropertyValueTypeError"},
		"half":            {object{"AssetTag": "no", "IndicatorLED": "Red"}, "PropertyValueNotInList"},
	} {
		if r := c.do(http.MethodPatch, systemURI, tc.body); r.status != http.StatusBadRequest || r.messageID() != tc.id {
			t.Errorf("%s: HTTP %d %s, want %s", name, r.status, r.messageID(), tc.id)
		}
	}
	if r := c.want(http.StatusOK, http.MethodGet, systemURI, nil); r.body["AssetTag"] != "" {
		t.Error("half of a refused change was made")
	}
	order := rack.Machine(0).bootOrder
	slices.Reverse(order)
	c.want(http.StatusOK, http.MethodPatch, systemURI, object{"Boot": object{"BootOrder": order}})
}

func TestReset(t *testing.T) {
	rack := startRack(t, Options{Timing: Timing{POST: time.Hour}})
	c := rack.client(t, 0)
	reset := func(body any, status int, id string) {
		t.Helper()
		if r := c.do(http.MethodPost, resetURI, body); r.status != status || r.messageID() != id {
			t.Errorf("%v: HTTP %d %s, want %d %s", body, r.status, r.messageID(), status, id)
		}
	}
	reset(nil, 400, "ActionParameterMissing")
	reset(object{"ResetType": "Explode"}, 400, "ActionParameterValueNotInList")
	reset(object{"ResetType": 1}, 400, "ActionParameterValueNotInList")
	reset(object{"ResetType": "GracefulRestart"}, 409, "OperationFailed")
	reset(object{"ResetType": "ForceOff"}, 200, "NoOperation")
	reset(object{"ResetType": "On"}, 204, "")
	if r := c.want(200, http.MethodGet, systemURI, nil); r.body["PowerState"] != "PoweringOn" {
		t.Errorf("power %v", r.body["PowerState"])
	}
	reset(object{"ResetType": "ForceOff"}, 204, "")
	if r := c.want(200, http.MethodGet, systemURI, nil); r.body["PowerState"] != "Off" {
		t.Errorf("power %v", r.body["PowerState"])
	}
	if diff := cmp.Diff(map[string]int{"On": 1, "ForceOff": 2, "GracefulRestart": 1}, rack.Machine(0).Resets()); diff != "" {
		t.Errorf("resets (-want +got):\n%s", diff)
	}
}

func TestManagerResetForgetsSessions(t *testing.T) {
	c := startRack(t, Options{}).client(t, 0)
	session := &client{t: t, base: c.base, token: c.login().header.Get("X-Auth-Token")}
	session.want(http.StatusBadRequest, http.MethodPost, managerResetURI, object{"ResetType": "On"})
	session.want(http.StatusNoContent, http.MethodPost, managerResetURI, object{"ResetType": "GracefulRestart"})
	session.want(http.StatusUnauthorized, http.MethodGet, managerURI, nil)
}

func TestProtocol(t *testing.T) {
	c := startRack(t, Options{}).client(t, 0)
	if r := c.want(http.StatusMethodNotAllowed, http.MethodPut, systemURI, nil); r.header.Get("Allow") != "GET, HEAD, PATCH" {
		t.Errorf("Allow %q", r.header.Get("Allow"))
	}
	if r := c.want(http.StatusMethodNotAllowed, http.MethodGet, resetURI, nil); r.header.Get("Allow") != "POST" {
		t.Errorf("Allow %q", r.header.Get("Allow"))
	}
	c.want(http.StatusOK, http.MethodHead, systemURI, nil)
	c.want(http.StatusOK, http.MethodGet, systemURI+"/", nil)
	c.want(http.StatusOK, http.MethodGet, systemURI+"?only", nil)
	if r := c.want(http.StatusNotImplemented, http.MethodGet, systemURI+"?$select=Id", nil); r.messageID() != "QueryNotSupported" {
		t.Errorf("message %q", r.messageID())
	}
	for _, path := range []string{"/", "/redfish/v2", systemsURI + "/2", processorsURI + "/CPU9", drivesURI + "/Disk0", firmwareURI + "/x", rolesURI + "/x", managerNICsURI + "/eth1", volumesURI + "/9"} {
		if r := c.want(http.StatusNotFound, http.MethodGet, path, nil); r.messageID() != "ResourceMissingAtURI" {
			t.Errorf("%s: message %q", path, r.messageID())
		}
	}
	c.header.Set("OData-Version", "3.0")
	c.want(http.StatusPreconditionFailed, http.MethodGet, systemURI, nil)
	c.header.Set("OData-Version", "4.0")
	c.header.Set("Content-Type", "text/plain")
	c.want(http.StatusUnsupportedMediaType, http.MethodPatch, systemURI, object{"AssetTag": "a"})
}

func TestInventoryIsDeterministic(t *testing.T) {
	const servers = 500
	macs, uuids, serials := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for i := range servers {
		inv := newInventory(3, i)
		if diff := cmp.Diff(inv, newInventory(3, i), cmp.AllowUnexported(inventory{}, model{}, processorModel{}, diskModel{})); diff != "" {
			t.Fatalf("server %d differs from itself: %s", i, diff)
		}
		if !strings.HasPrefix(inv.mac, MACPrefix+":") {
			t.Fatalf("MAC %s", inv.mac)
		}
		uuids[inv.uuid], serials[inv.serial], macs[inv.mac] = true, true, true
		for port := range maxPorts {
			macs[inv.portMAC(port)] = true
		}
	}
	if len(uuids) != servers || len(serials) != servers || len(macs) != servers*(maxPorts+1) {
		t.Errorf("%d UUIDs, %d serials, %d MACs for %d servers", len(uuids), len(serials), len(macs), servers)
	}
	if newInventory(3, 0).uuid == newInventory(4, 0).uuid || newInventory(3, 0).mac == newInventory(4, 0).mac {
		t.Error("another seed gives the same server")
	}
}

func TestBMCsAreTheirOwn(t *testing.T) {
	rack := startRack(t, Options{Servers: 3, Seed: 1})
	infos := rack.BMCs()
	for i, info := range infos {
		c := rack.client(t, i)
		if r := c.want(200, http.MethodGet, systemURI, nil); r.body["UUID"] != info.UUID {
			t.Errorf("BMC %d answers for %v", i, r.body["UUID"])
		}
		if r := c.want(200, http.MethodGet, managerNICsURI+"/eth0", nil); r.body["MACAddress"] != info.MAC {
			t.Errorf("BMC %d has MAC %v, not %s", i, r.body["MACAddress"], info.MAC)
		}
	}
	if rack.shared {
		if infos[0].IP.String() != "127.64.0.1" || infos[2].IP.String() != "127.64.0.3" || infos[0].Port != rack.Port() || infos[2].Port != rack.Port() {
			t.Errorf("BMCs %+v", infos)
		}
		c := rack.client(t, 0)
		c.base = "http://127.0.0.1:" + strings.Split(c.base, ":")[2]
		c.want(http.StatusNotFound, http.MethodGet, "/redfish/v1", nil)
	}
}

func TestPortEach(t *testing.T) {
	rack := startRack(t, Options{Servers: 3, Address: "127.0.0.1:0"})
	ports := map[int]bool{}
	for i, info := range rack.BMCs() {
		ports[info.Port] = true
		if r := rack.client(t, i).want(200, http.MethodGet, systemURI, nil); r.body["UUID"] != info.UUID {
			t.Errorf("BMC %d answers for %v", i, r.body["UUID"])
		}
	}
	if len(ports) != 3 {
		t.Errorf("ports %v", ports)
	}
	site := newBootSite(t)
	site.setIgnition(plainIgnition)
	rack.opts.BootURL = site.bootURL
	orderNetworkBoot(t, rack.Machine(1))
	if r := settled(t, rack.Machine(1)); r.Outcome != OutcomeInstalled {
		t.Errorf("outcome %q: %s", r.Outcome, r.Why)
	}
}

func TestStartIsChecked(t *testing.T) {
	for name, tc := range map[string]struct {
		opts Options
		want string
	}{
		"no servers":      {Options{Servers: -1}, "servers"},
		"address":         {Options{Servers: 1, Address: "nonsense"}, `address "nonsense"`},
		"port":            {Options{Servers: 1, Address: "127.0.0.1:many"}, "port"},
		"foreign address": {Options{Servers: 1, Address: "192.0.2.1:0"}, "192.0.2.1"},
		"network":         {Options{Servers: 1, Network: mustPrefix("10.0.0.0/8")}, "127.0.0.0/8"},
		"network too low": {Options{Servers: 8, Network: mustPrefix("127.1.0.0/28")}, "room for 7 servers"},
	} {
		if _, err := Start(t.Context(), tc.opts); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	rack := startRack(t, Options{Address: "127.0.0.1:0"})
	if _, err := Start(t.Context(), Options{Servers: 1, Address: rack.bmcs[0].at.String()}); err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("a taken port: error %v", err)
	}
}

func TestFaults(t *testing.T) {
	rack := startRack(t, Options{})
	c := rack.client(t, 0)
	rack.SetFault(0, RefusePassword)
	c.want(http.StatusUnauthorized, http.MethodGet, systemURI, nil)
	c.want(http.StatusUnauthorized, http.MethodPost, sessionsURI, object{"UserName": c.user, "Password": c.password})
	c.want(http.StatusOK, http.MethodGet, rootURI, nil)

	rack.SetFault(0, Drop)
	if resp, err := http.Get(c.base + rootURI); err == nil {
		_ = resp.Body.Close()
		t.Error("a dropped request was answered")
	}
	rack.SetFault(0, Hang)
	impatient := &http.Client{Timeout: 50 * time.Millisecond}
	resp, err := impatient.Get(c.base + rootURI)
	if err == nil {
		_ = resp.Body.Close()
	}
	if timeout := interface{ Timeout() bool }(nil); !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("a hanging request ended with %v", err)
	}
	rack.SetFault(0, nil)
	c.want(http.StatusOK, http.MethodGet, systemURI, nil)
	eventually(t, "the hanging connection is gone", func() bool { return rack.Stats(0).OpenConnections <= 1 })
}

// TestStatsCountWhatIsSimultaneous holds requests at the same time in a fault.
func TestStatsCountWhatIsSimultaneous(t *testing.T) {
	const n = 3
	rack := startRack(t, Options{})
	var inside, done sync.WaitGroup
	inside.Add(n)
	rack.SetFault(0, FaultFunc(func(*http.Request) Effect {
		inside.Done()
		inside.Wait()
		return EffectNone
	}))
	c := rack.client(t, 0)
	for range n {
		done.Go(func() {
			resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get(c.base + rootURI)
			if err != nil {
				t.Error(err)
				return
			}
			_ = resp.Body.Close()
		})
	}
	done.Wait()
	if s := rack.Stats(0); s.Requests != n || s.MaxRequests != n || s.MaxConnections != n || s.Connections != n {
		t.Errorf("stats %+v, want %d of each", s, n)
	}
}

func TestLatency(t *testing.T) {
	clock := testclock.NewFakeClock(time.Now())
	rack := startRack(t, Options{Clock: clock, Timing: Timing{Latency: 50 * time.Millisecond}})
	done := make(chan struct{})
	go func() {
		defer close(done)
		rack.client(t, 0).want(http.StatusOK, http.MethodGet, rootURI, nil)
	}()
	eventually(t, "the answer waits", clock.HasWaiters)
	clock.Step(50 * time.Millisecond)
	<-done
}
