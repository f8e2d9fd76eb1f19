package sim

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	testclock "k8s.io/utils/clock/testing"
)

// What the Redfish specification (DSP0266) and the schemas (DSP0268) ask of every resource, looked for in every resource
// of every make and model.

// rules complain about a resource.
var conformance = map[string]func(uri string, r reply) []string{
	"headers": func(_ string, r reply) (wrong []string) {
		for name, want := range map[string]string{"OData-Version": "4.0", "Cache-Control": "no-cache", "Content-Type": "application/json;charset=utf-8"} {
			if got := r.header.Get(name); got != want {
				wrong = append(wrong, fmt.Sprintf("%s is %q, want %q", name, got, want))
			}
		}
		return wrong
	},
	"ETag": func(_ string, r reply) []string {
		if etag := r.header.Get("ETag"); etag == "" || r.body["@odata.etag"] != etag {
			return []string{fmt.Sprintf("ETag is %q in the header and %v in the body", etag, r.body["@odata.etag"])}
		}
		return nil
	},
	"described by a schema": func(_ string, r reply) []string {
		kind, _ := r.body["@odata.type"].(string)
		found := typePattern.FindStringSubmatch(kind)
		if found == nil {
			return []string{fmt.Sprintf("@odata.type is %q", kind)}
		}
		want := "/" + found[1] + found[2] + ".json>; rel=describedby"
		if link := r.header.Get("Link"); !strings.HasPrefix(link, "<") || !strings.HasSuffix(link, want) {
			return []string{fmt.Sprintf("Link is %q, want <…%s", link, want)}
		}
		return nil
	},
	"required properties": func(uri string, r reply) (wrong []string) {
		if id, _ := r.body["@odata.id"].(string); strings.TrimRight(id, "/") != strings.TrimRight(uri, "/") {
			wrong = append(wrong, fmt.Sprintf("@odata.id is %q", id))
		}
		required := []string{"Name", "Id"}
		if strings.Contains(fmt.Sprint(r.body["@odata.type"]), "Collection.") {
			required = []string{"Name", "Members", "Members@odata.count"}
		}
		for _, name := range required {
			if v, ok := r.body[name]; !ok || v == "" {
				wrong = append(wrong, name+" is missing")
			}
		}
		return wrong
	},
	"names and values": func(_ string, r reply) []string { return valuesIn("", r.body) },
}

var (
	typePattern = regexp.MustCompile(`^#([A-Z][A-Za-z0-9]*)(\.v\d+_\d+_\d+)?\.[A-Z][A-Za-z0-9]*$`)
	// A property, an annotation, or an annotation of a property.
	namePattern   = regexp.MustCompile(`^([A-Z][A-Za-z0-9]*)?(@[A-Za-z]+\.[A-Za-z][A-Za-z0-9]*)?$`)
	actionPattern = regexp.MustCompile(`^#[A-Z][A-Za-z0-9]*\.[A-Z][A-Za-z0-9]*$`)
	uuidPattern   = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	macPattern    = regexp.MustCompile(`^([0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}$`)
	// The forms of the DurableNames that there are here.
	durablePatterns = map[any]*regexp.Regexp{
		"UUID": uuidPattern,
		"EUI":  regexp.MustCompile(`^([0-9A-Fa-f]{2}[:-]){7}[0-9A-Fa-f]{2}$`),
		"NAA":  regexp.MustCompile(`^(([0-9A-Fa-f]{2}){8}){1,2}$`),
	}
	// Values by the name of their property. What is null is not known, which is allowed.
	valuePatterns = map[string]*regexp.Regexp{
		"UUID": uuidPattern, "ServiceEntryPointUUID": uuidPattern, "MACAddress": macPattern, "PermanentMACAddress": macPattern,
		"SystemId": regexp.MustCompile(`^[A-Za-z0-9]+$`), "RedfishVersion": regexp.MustCompile(`^\d+\.\d+\.\d+$`),
	}
	times = []string{"DateTime", "Created", "CreatedTime", "StartTime", "EndTime", "EventTimestamp", "Timestamp"}
)

// valuesIn complains about the names and values in a body, at any depth. at is the JSON pointer of value.
func valuesIn(at string, value any) (wrong []string) {
	switch v := value.(type) {
	case []any:
		for i, member := range v {
			wrong = append(wrong, valuesIn(fmt.Sprintf("%s/%d", at, i), member)...)
		}
	case object:
		for name, member := range v {
			wrong = append(wrong, propertyIn(at, name, v)...)
			if name == "Attributes" && !isList(member) {
				continue // named by firmware
			}
			wrong = append(wrong, valuesIn(at+"/"+name, member)...)
		}
		if pattern := durablePatterns[v["DurableNameFormat"]]; v["DurableName"] != nil && (pattern == nil || !pattern.MatchString(fmt.Sprint(v["DurableName"]))) {
			wrong = append(wrong, fmt.Sprintf("%s: %v is no %v", at, v["DurableName"], v["DurableNameFormat"]))
		}
	}
	return wrong
}

func isList(value any) bool {
	_, ok := value.([]any)
	return ok
}

// propertyIn complains about one property of an object.
func propertyIn(at, name string, of object) (wrong []string) {
	complain := func(format string, args ...any) {
		wrong = append(wrong, at+"/"+name+": "+fmt.Sprintf(format, args...))
	}
	action := strings.HasSuffix(at, "/Actions") && actionPattern.MatchString(name) || name == "target" && strings.Contains(at, "/Actions/")
	if !action && !namePattern.MatchString(name) {
		complain("no name of a property")
	}
	value, isText := of[name].(string)
	if pattern := valuePatterns[name]; pattern != nil && isText && !pattern.MatchString(value) {
		complain("%q is not %s", value, pattern)
	}
	if slices.Contains(times, name) && isText {
		if _, err := time.Parse(time.RFC3339, value); err != nil {
			complain("%v", err)
		}
	}
	if list, ok := strings.CutSuffix(name, "@odata.count"); ok {
		if members, _ := of[list].([]any); fmt.Sprint(of[name]) != fmt.Sprint(len(members)) {
			complain("%v, for a list of %d", of[name], len(members))
		}
	}
	return wrong
}

// lived gives a BMC something of all that it can have, and returns its resources by URI.
func lived(t *testing.T, rack *Rack, i int) map[string]reply {
	t.Helper()
	c, m := rack.client(t, i), rack.Machine(i)
	c.want(http.StatusCreated, http.MethodPost, sessionsURI, object{"UserName": c.user, "Password": c.password})
	c.want(http.StatusCreated, http.MethodPost, subscriptionsURI, object{"Destination": "http://127.0.0.1:1/", "Protocol": "Redfish"})
	c.want(http.StatusAccepted, http.MethodPost, simpleUpdateURI, object{"ImageURI": "http://127.0.0.1:1/bios-9.9.bin"})
	eventually(t, "nobody has the image", func() bool { // until then the task changes by itself
		m.bmc.mu.Lock()
		defer m.bmc.mu.Unlock()
		return !slices.ContainsFunc(m.bmc.tasks, func(t task) bool { return !t.over() })
	})
	c.do(http.MethodPost, m.systemURI()+"/Actions/ComputerSystem.Reset", object{"ResetType": "On"})
	found := map[string]reply{}
	// The attribute registry is linked by its file.
	for queue := []string{rootURI, biosRegistryFile}; len(queue) > 0; queue = queue[1:] {
		uri := queue[0]
		if _, ok := found[uri]; ok || uri == rootURI+"/" {
			continue
		}
		found[uri] = c.want(http.StatusOK, http.MethodGet, uri, nil)
		queue = append(queue, odataIDs(found[uri].body)...)
	}
	return found
}

func TestConformance(t *testing.T) {
	const servers = 18 // all makes with all models
	// Time stands still: resources that tell it have another ETag each second.
	clock := testclock.NewFakeClock(time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC))
	rack := startRack(t, Options{Servers: servers, Vendors: Vendors(), Clock: clock})
	for i := range servers {
		m := rack.Machine(i)
		t.Run(fmt.Sprintf("%s %s", m.bmc.quirks.vendor, m.name), func(t *testing.T) {
			resources := lived(t, rack, i)
			for _, uri := range slices.Sorted(maps.Keys(resources)) {
				for name, rule := range conformance {
					for _, wrong := range rule(uri, resources[uri]) {
						t.Errorf("%s: %s: %s", uri, name, wrong)
					}
				}
			}
			if i < len(personalities) {
				conformingMethods(t, rack.client(t, i), resources)
			}
		})
	}
}

// conformingMethods checks what is said of methods against what becomes of them.
func conformingMethods(t *testing.T, c *client, resources map[string]reply) {
	t.Helper()
	stranger := *c
	stranger.user = ""
	for uri, get := range resources {
		allowed := strings.Split(get.header.Get("Allow"), ", ")
		head := c.want(http.StatusOK, http.MethodHead, uri, nil)
		for _, name := range []string{"Allow", "Link", "ETag", "Content-Type"} {
			if got := head.header.Get(name); got != get.header.Get(name) {
				t.Errorf("HEAD %s: %s is %q, and %q with GET", uri, name, got, get.header.Get(name))
			}
		}
		for _, method := range []string{http.MethodPut, http.MethodPost, http.MethodPatch, http.MethodDelete} {
			if method == http.MethodDelete && slices.Contains(allowed, method) {
				continue // it would be gone
			}
			r := c.do(method, uri, object{})
			if refused := r.status == http.StatusMethodNotAllowed; refused == slices.Contains(allowed, method) {
				t.Errorf("%s %s: HTTP %d; Allow is %q", method, uri, r.status, allowed)
			}
			if want := strings.Join(allowed, ", "); r.status == http.StatusMethodNotAllowed && r.header.Get("Allow") != want {
				t.Errorf("%s %s: Allow is %q, want %q", method, uri, r.header.Get("Allow"), want)
			}
		}
		if !slices.Contains(allowed, http.MethodGet) || !slices.Contains(allowed, http.MethodHead) {
			t.Errorf("%s: Allow is %q", uri, allowed)
		}
		if open := uri == rootURI; !open {
			r := stranger.want(http.StatusUnauthorized, http.MethodGet, uri, nil)
			if r.header.Get("WWW-Authenticate") == "" || r.messageID() == "" {
				t.Errorf("%s: nobody is told how to log in: %v", uri, r.body)
			}
		}
	}
}

// TestConformingDocuments looks at what is no resource.
func TestConformingDocuments(t *testing.T) {
	rack := startRack(t, Options{})
	c := rack.client(t, 0)
	c.user = ""
	for _, uri := range []string{"/redfish", rootURI + "/odata", rootURI + "/$metadata"} {
		r := c.want(http.StatusOK, http.MethodGet, uri, nil)
		if got := r.header.Get("Allow"); got != "GET, HEAD" {
			t.Errorf("%s: Allow is %q", uri, got)
		}
		if r.header.Get("ETag") != "" || r.body["@odata.etag"] != nil || r.header.Get("Link") != "" {
			t.Errorf("%s has what resources have: %v, %v", uri, r.header, r.body)
		}
	}
	if diff := cmp.Diff(object{"v1": "/redfish/v1/"}, c.want(http.StatusOK, http.MethodGet, "/redfish", nil).body); diff != "" {
		t.Errorf("/redfish (-want +got):\n%s", diff)
	}
}

// TestPostToMembers: what is added to a collection may be added to its Members as well, with the same rights.
func TestPostToMembers(t *testing.T) {
	rack := startRack(t, Options{})
	c := rack.client(t, 0)
	stranger := *c
	stranger.user = ""
	login := stranger.want(http.StatusCreated, http.MethodPost, sessionsURI+"/Members", object{"UserName": c.user, "Password": c.password})
	if login.header.Get("X-Auth-Token") == "" {
		t.Error("a session without a token")
	}
	c.want(http.StatusOK, http.MethodGet, login.header.Get("Location"), nil)
	for uri, body := range map[string]object{
		accountsURI:      {"UserName": "new", "Password": "long enough", "RoleId": roleOperator},
		subscriptionsURI: {"Destination": "http://127.0.0.1:1/", "Protocol": "Redfish"},
	} {
		stranger.want(http.StatusUnauthorized, http.MethodPost, uri+"/Members", body)
		made := c.want(http.StatusCreated, http.MethodPost, uri+"/Members", body)
		if location := made.header.Get("Location"); !strings.HasPrefix(location, uri+"/") {
			t.Errorf("%s: made at %q", uri, location)
		}
	}
	if r := c.want(http.StatusMethodNotAllowed, http.MethodPost, systemsURI+"/Members", object{}); r.header.Get("Allow") != "GET, HEAD" {
		t.Errorf("Systems: Allow is %q", r.header.Get("Allow"))
	}
	c.want(http.StatusNotFound, http.MethodGet, accountsURI+"/Members", nil)
}
