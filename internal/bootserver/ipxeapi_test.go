package bootserver

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/farrier-dev/farrier/internal/ipxeapi/assignment"
	"github.com/farrier-dev/farrier/internal/ipxeapi/profile"
)

const (
	uuidS = "4c4c4544-0043-3510-8052-b7c04f4e4d40" // assigned, with configs
	uuidT = "4c4c4544-0043-3510-8052-b7c04f4e4d41" // assigned a profile that is not there
)

var idKey = []byte("key of the IDs")

func assigned(name string, selector map[string]string, to string) *assignment.Assignment {
	return &assignment.Assignment{Namespace: "ns", Name: name, Created: now, Selector: assignment.NewSelector(selector, nil), Profile: to}
}

// profiles is a view with one assignment of each sort.
func profiles(t *testing.T, signer *profile.Signer) *profile.View {
	t.Helper()
	v := profile.NewView(clocktesting.NewFakePassiveClock(now), signer)
	for _, source := range []profile.Source{
		{Namespace: "ns", Name: "flatcar", UID: "uid-1",
			Script:  "#!ipxe\nkernel http://images/vmlinuz ignition.config.url={{ .ignition }} host={{ .Subject.serial }}\ninitrd {{ notes }}\nboot\n",
			Configs: map[string]profile.Content{"ignition": {Bytes: []byte(`{"ignition":{"version":"3.4.0"}}`)}, "notes": {Bytes: []byte("plain\n")}}},
		{Namespace: "ns", Name: "shell", UID: "uid-2", Script: "#!ipxe\nshell\n"},
		{Namespace: "ns", Name: "rotten", UID: "uid-3", Script: "#!ipxe\nchain {{ .gone }}\n",
			Configs: map[string]profile.Content{"gone": {Err: "the Secret is not there"}}},
	} {
		p, err := profile.Compile(source, idKey)
		if err != nil {
			t.Fatal(err)
		}
		v.PutProfile(p)
	}
	for _, a := range []*assignment.Assignment{
		assigned("one", map[string]string{"uuid": uuidS}, "flatcar"),
		assigned("missing", map[string]string{"uuid": uuidT}, "nowhere"),
		assigned("rotten", map[string]string{"mac": "02:fa:44:00:01:01"}, "rotten"),
		assigned("configured", map[string]string{"uuid": uuidA}, "shell"),
		assigned("by-http", map[string]string{"uuid": uuidE}, "shell"),
		assigned("arch", map[string]string{"buildarch": "arm64"}, "shell"),
		assigned("product", map[string]string{"product": "A+B & C"}, "shell"),
	} {
		v.Put(a)
	}
	v.SetSynced(true)
	return v
}

func configID(name string) string { return profile.ConfigID(idKey, "uid-1", name) }

func errorBody(code, message string) string {
	return `{"code":"` + code + `","message":"` + message + "\"}\n"
}

func TestLabels(t *testing.T) {
	const shell = "#!ipxe\nshell\n"
	script := map[string]string{"Content-Type": "text/plain", "Cache-Control": "no-store"}
	wait := map[string]string{"Content-Type": "application/json", "Retry-After": "*", "Cache-Control": "no-store"}
	refused := map[string]string{"Content-Type": "application/json", "Retry-After": ""}

	ipxe := http.Header{"User-Agent": {"iPXE/1.0.0+git-20190125.36a4c85-5.1"}}
	unassigned := errorBody("NoAssignment", "Nothing is assigned to this machine yet; ask again.")
	broken := errorBody("AssignmentBroken", "What is assigned to this machine cannot be served now; ask again.")
	exchanges := []exchange{
		{name: "assigned", path: "/ipxe?uuid=" + strings.ToUpper(uuidS) + "&mac=02-fa-44-00-01-00&serial=S%201", status: 200, headers: script, want: "golden:assigned.ipxe"},
		{name: "attribute", path: "/ipxe?uuid=" + uuidX + "&buildarch=aarch64", status: 200, headers: script, want: shell},
		{name: "with a boot configuration", path: "/ipxe?uuid=" + uuidA, status: 200, headers: script, want: "golden:script-a.ipxe"},
		{name: "without UUID, boot configuration of its MAC", path: "/ipxe?mac=02-fa-44-00-00-0a", status: 200, headers: script, want: "golden:script-a.ipxe"},
		{name: "UUID of nobody, MAC of another", path: "/ipxe?uuid=" + uuidX + "&mac=02-fa-44-00-00-0a", status: 503, headers: wait, want: unassigned},
		{name: "configuration without script", path: "/ipxe?uuid=" + uuidE, status: 200, headers: script, want: shell},
		{name: "conflicting configurations", path: "/ipxe?uuid=" + uuidC, status: 409, want: textConflict},
		{name: "unassigned", path: "/ipxe?uuid=" + uuidX, status: 503, headers: wait, want: unassigned},
		{name: "no label at all", path: "/ipxe?uuid=&serial=To%20Be%20Filled%20By%20O.E.M.", status: 503, headers: wait, want: unassigned},
		{name: "profile missing", path: "/ipxe?uuid=" + uuidT + "&buildarch=arm64", status: 503, headers: wait, want: broken},
		{name: "content missing", path: "/ipxe?mac=02fa44000101", status: 503, headers: wait, want: broken},
		{name: "a key twice", path: "/ipxe?serial=a&serialNumber=b", status: 400, headers: refused, want: errorBody("BadRequest", `label \"serial\": given twice with different values`)},
		{name: "a newline", path: "/ipxe?serial=a%0ashell", status: 400, headers: refused, want: errorBody("BadRequest", `label \"serial\": it holds a control character`)},
		{name: "an escape that is none", path: "/ipxe?serial=%zz", status: 400, headers: refused, want: errorBody("BadRequest", `label \"serial\": the value is not escaped as a URL is`)},
		{name: "what iPXE leaves unescaped", path: "/ipxe?product=A+B%20&%20C&serial=", header: ipxe, status: 200, headers: script, want: shell},
		{name: "the same by anybody else", path: "/ipxe?product=A%2BB+%26+C", status: 200, headers: script, want: shell},
	}
	newSite(t, func(c *Config) { c.Profiles = profiles(t, nil) }).run(t, exchanges)
	newSite(t, func(c *Config) { c.Profiles, c.NoAssignment = profiles(t, nil), http.StatusNotFound }).run(t, []exchange{
		{name: "unassigned is 404", path: "/ipxe?uuid=" + uuidX, status: 404, headers: refused, want: errorBody("NoAssignment", "Nothing is assigned to this machine.")},
		{name: "broken waits all the same", path: "/ipxe?uuid=" + uuidT, status: 503, headers: wait, want: broken},
	})
	newSite(t, func(c *Config) { c.Profiles, c.BootURL = profiles(t, nil), "" }).run(t, []exchange{
		{name: "no boot URL", path: "/ipxe?uuid=" + uuidS, status: 503, headers: wait, want: errorBody("Disabled", "This boot server was not told at which URL machines reach it.")},
	})
	newSite(t, nil).run(t, []exchange{{name: "no profiles", path: "/ipxe?uuid=" + uuidX, status: 503, headers: wait, want: unassigned}})
}

func TestLabelsBeforeEverythingIsKnown(t *testing.T) {
	unsynced := errorBody("NotSynchronised", "Not synchronised yet; ask again.")
	wait := map[string]string{"Content-Type": "application/json", "Retry-After": "*"}
	v := profiles(t, nil)
	s := newSite(t, func(c *Config) { c.Profiles, c.NoAssignment = v, http.StatusNotFound })
	paths := []exchange{
		{name: "script", path: "/ipxe?uuid=" + uuidS, status: 503, headers: wait, want: unsynced},
		{name: "config", path: "/config/" + configID("notes"), status: 503, headers: wait, want: unsynced},
	}
	v.SetSynced(false)
	s.run(t, paths)
	v.SetSynced(true)
	s.view.SetSynced(false) // a boot configuration may be on its way
	s.run(t, paths[:1])
}

func TestBootstrap(t *testing.T) {
	script := map[string]string{"Content-Type": "text/plain", "Cache-Control": "no-store"}
	newSite(t, func(c *Config) { c.BootURL = "" }).run(t, []exchange{
		{name: "bootstrap", path: "/boot.ipxe", status: 200, headers: script, want: "golden:boot.ipxe"},
		{name: "as UEFI asks", path: "/boot.ipxe.0", status: 200, headers: script, want: "golden:boot.ipxe"},
	})
	newSite(t, func(c *Config) { c.NoAssignment = http.StatusNotFound }).run(t, []exchange{
		{name: "bootstrap that leaves", path: "/boot.ipxe", status: 200, headers: script, want: "golden:boot-leaving.ipxe"},
	})
	for _, secret := range []string{"${password", "${privkey", "${key", "${username", "${uuid:uristring"} {
		if strings.Contains(string(waitingBootstrap), secret) {
			t.Errorf("the bootstrap script sends %s", secret)
		}
	}
}

func TestConfigs(t *testing.T) {
	notes := map[string]string{"Content-Type": "text/plain; charset=utf-8", "Etag": "*", "Cache-Control": "no-store"}
	ignition := map[string]string{"Content-Type": "application/json", "Etag": "*"}
	gone := errorBody("NotFound", "There is no such config, or no longer.")
	none := map[string]string{"Content-Type": "application/json", "Etag": "", "Retry-After": ""}
	v := profiles(t, nil)
	p, _ := v.Profile("ns", "flatcar")
	newSite(t, func(c *Config) { c.Profiles = v }).run(t, []exchange{
		{name: "text", path: "/config/" + configID("notes"), status: 200, headers: notes, want: "plain\n"},
		{name: "content", path: "/content/" + strings.ToUpper(configID("notes")) + "?uuid=" + uuidS, status: 200, headers: notes, want: "plain\n"},
		{name: "ignition", path: "/config/" + configID("ignition") + "?uuid=" + uuidS + "&revision=" + p.Revision, status: 200, headers: ignition, want: `{"ignition":{"version":"3.4.0"}}`},
		{name: "another revision", path: "/config/" + configID("ignition") + "?revision=0", status: 404, headers: none, want: gone},
		{name: "unknown", path: "/config/" + uuidX, status: 404, headers: none, want: gone},
		{name: "nonsense", path: "/config/x/y", status: 404, headers: none, want: gone},
		{name: "a query that is none", path: "/config/" + configID("notes") + "?a=%zz", status: 400, headers: none, want: errorBody("BadRequest", `label \"a\": the value is not escaped as a URL is`)},
	})
	newSite(t, nil).run(t, []exchange{{name: "no profiles", path: "/config/" + uuidX, status: 404, want: gone}})
	signer := &profile.Signer{Key: []byte("k"), TTL: time.Minute}
	newSite(t, func(c *Config) { c.Profiles = profiles(t, signer) }).run(t, []exchange{
		{name: "unsigned", path: "/config/" + configID("notes"), status: 403, headers: none, want: errorBody("Forbidden", "The URL is not signed, or has expired.")},
	})
}

// Every URL in a script works exactly as it stands there.
func TestURLsOfScriptsWork(t *testing.T) {
	for name, signer := range map[string]*profile.Signer{"open": nil, "signed": {Key: []byte("k"), TTL: time.Minute}} {
		s := newSite(t, func(c *Config) { c.Profiles = profiles(t, signer) })
		script := s.do("GET", exchange{path: "/ipxe?uuid=" + uuidS + "&serial=S%201%20%26%2B"}).Body.String()
		_, after, _ := strings.Cut(script, "ignition.config.url="+bootURL)
		path, _, _ := strings.Cut(after, " ")
		if got := s.do("GET", exchange{path: path}); got.Code != http.StatusOK || got.Body.String() != `{"ignition":{"version":"3.4.0"}}` {
			t.Errorf("%s: %s: %d %s", name, path, got.Code, got.Body)
		}
	}
}

func TestAssignedDeliveries(t *testing.T) {
	s := newSite(t, func(c *Config) { c.Profiles = profiles(t, nil) })
	var sizes []int64
	for _, path := range []string{"/boot.ipxe", "/ipxe?uuid=" + strings.ToUpper(uuidS), "/config/" + configID("notes") + "?uuid=" + uuidS, "/ipxe?uuid=" + uuidA, "/ipxe?uuid=" + uuidX, "/ipxe?uuid=" + uuidT} {
		if w := s.do("GET", exchange{path: path}); w.Code == http.StatusOK {
			sizes = append(sizes, int64(w.Body.Len()))
		}
		s.do("HEAD", exchange{path: path})
	}
	if len(sizes) != 4 {
		t.Fatalf("%d answers, want 4", len(sizes))
	}
	want := []Delivery{
		{Kind: Chainload, Addr: stranger, Time: now, Status: 200, Bytes: sizes[0]},
		{Kind: Chainload, UUID: uuidS, Addr: stranger, Time: now, Status: 200, Bytes: sizes[0]},
		{Kind: Script, Entry: "Assignment/ns/one", UUID: uuidS, Addr: stranger, Time: now, Status: 200, Bytes: sizes[1]},
		{Kind: Ignition, Entry: "Profile/ns/flatcar", UUID: uuidS, Addr: stranger, Time: now, Status: 200, Bytes: sizes[2]},
		{Kind: Script, Entry: "IPXEBootConfig/ns/a", UUID: uuidA, Attempt: "attempt-a", Addr: stranger, Time: now, Status: 200, Bytes: sizes[3]},
		{Kind: Script, Entry: "Assignment/ns/missing", UUID: uuidT, Addr: stranger, Time: now, Status: 503},
	}
	if diff := cmp.Diff(want, s.takeDelivered()); diff != "" {
		t.Errorf("deliveries (-want +got):\n%s", diff)
	}
}

// TestAllocationsOfLabels holds the budget of 12, which is that of all answers, for what a bootstrap script really sends.
func TestAllocationsOfLabels(t *testing.T) {
	s := newSite(t, func(c *Config) { c.Deliver, c.Profiles = func(Delivery) {}, profiles(t, nil) })
	for path, budget := range map[string]float64{
		"/boot.ipxe": 2,
		"/ipxe?uuid=" + uuidS + "&mac=52-54-00-12-34-56&ip=10.0.2.15&serial=S1&asset=&board-serial=&manufacturer=Emulated&product=Soft%20Ware&hostname=&domain=" +
			"&buildarch=i386&cpuarch=x86_64&platform=pcbios&version=1.21.1&user-class=": 12,
		"/config/" + configID("ignition") + "?uuid=" + uuidS: 6,
	} {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.RemoteAddr = stranger + ":50000"
		w := &reused{header: http.Header{}}
		if got := testing.AllocsPerRun(200, func() { s.ServeHTTP(w, r) }); got > budget {
			t.Errorf("%s: %v allocations, want at most %v", path, got, budget)
		}
	}
}

func TestExplain(t *testing.T) {
	v := profiles(t, nil)
	s := newSite(t, func(c *Config) { c.Profiles = v })
	ask := func(method, query string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		Explain(s.view, v).ServeHTTP(w, httptest.NewRequest(method, "/explain?"+query, nil))
		return w
	}
	for _, tc := range []struct {
		name, query string
		status      int
		want        string
	}{
		{"two candidates", "uuid=" + uuidT + "&buildarch=arm64", 200, `{"labels":{"buildarch":"arm64","uuid":"` + uuidT + `"},"candidates":[` +
			`{"assignment":"ns/missing","profile":"nowhere","priority":0,"class":"hardware identity","selector":"uuid=` + uuidT + `","problem":"Profile nowhere does not exist or is not usable"},` +
			`{"assignment":"ns/arch","profile":"shell","priority":0,"class":"attribute","selector":"buildarch=arm64","rule":"class"}]}`},
		{"boot configuration", "uuid=" + uuidA, 200, `{"labels":{"uuid":"` + uuidA + `"},"bootConfiguration":"IPXEBootConfig/ns/a","candidates":[` +
			`{"assignment":"ns/configured","profile":"shell","priority":0,"class":"hardware identity","selector":"uuid=` + uuidA + `"}]}`},
		{"content missing", "mac=02:fa:44:00:01:01", 200, `{"labels":{"mac":"02:fa:44:00:01:01"},"candidates":[` +
			`{"assignment":"ns/rotten","profile":"rotten","priority":0,"class":"hardware identity","selector":"mac=02:fa:44:00:01:01","problem":"Profile rotten: config \"gone\": the Secret is not there"}]}`},
		{"nobody", "uuid=" + uuidX, 200, `{"labels":{"uuid":"` + uuidX + `"},"candidates":[]}`},
		{"bad", "serial=a&serial=b", 400, `{"code":"BadRequest","message":"label \"serial\": given twice with different values"}`},
	} {
		if got := ask(http.MethodGet, tc.query); got.Code != tc.status || got.Body.String() != tc.want+"\n" {
			t.Errorf("%s: %d\n%s\nwant %d\n%s", tc.name, got.Code, got.Body, tc.status, tc.want)
		}
	}
	if got := ask(http.MethodPost, ""); got.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", got.Code)
	}
	if got := s.do(http.MethodGet, exchange{path: "/explain?uuid=" + uuidA}); got.Code != http.StatusNotFound {
		t.Errorf("machines are answered /explain: %d", got.Code)
	}
	v.SetSynced(false)
	if got := ask(http.MethodGet, ""); got.Code != http.StatusServiceUnavailable || got.Header().Get("Retry-After") == "" {
		t.Errorf("not synchronised: %d", got.Code)
	}
}
