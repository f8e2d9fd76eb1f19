package adoption

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc/macprefix"
	"github.com/farrier-dev/farrier/internal/controller/bmcsecret"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	endpoints "github.com/farrier-dev/farrier/internal/controller/endpoint"
	"github.com/farrier-dev/farrier/internal/netboot/dhcp"
)

type lab struct {
	*controllertest.API
	*Reconciler
	t      *testing.T
	events *events.FakeRecorder
}

func newLab(t *testing.T, objects ...client.Object) *lab {
	t.Helper()
	own, err := macprefix.New(
		macprefix.Entry{Prefix: "02fa44", Manufacturer: "ACME", DefaultCredentials: []macprefix.Credential{{Username: "admin", Password: "factory"}}},
		macprefix.Entry{Prefix: "02fa45", Manufacturer: "Patchwork", Type: "switch"},
	)
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{API: controllertest.NewAPI(t, objects...), t: t, events: events.NewFakeRecorder(1000)}
	l.Reconciler = New(Config{
		Client: l.API, Prefixes: own.OverVendors(), Recorder: l.events, Clock: l.Clock, Logger: logr.Discard(),
		Adopts: func(s dhcp.Sighting) bool { return !netip.MustParsePrefix("203.0.113.0/24").Contains(s.Addr) },
	})
	return l
}

// see has DHCP report a client, and reconciles what it wakes.
func (l *lab) see(s dhcp.Sighting) reconcile.Result {
	l.t.Helper()
	l.Seen(s)
	result, err := l.Reconcile(l.t.Context(), requestOf(s))
	if err != nil {
		l.t.Fatal(err)
	}
	return result
}

func (l *lab) adopted() int {
	l.t.Helper()
	var all metalv1.EndpointList
	if err := l.API.List(l.t.Context(), &all, client.MatchingLabels{metalv1.LabelAdopted: metalv1.LabelAdoptedDHCP}); err != nil {
		l.t.Fatal(err)
	}
	return len(all.Items)
}

func client1(mac string, addrs ...netip.Addr) dhcp.Sighting {
	return dhcp.Sighting{Client: dhcp.Client{MAC: mac}, Addr: addrs[0], Held: addrs, Addresses: 1000}
}

// A BMC that is plugged in becomes an Endpoint, and with default credentials a BMC.
func TestABMCIsAdopted(t *testing.T) {
	l := newLab(t)
	s := client1("02:fa:44:00:00:01", here)
	s.Client.Host, s.Client.Vendor = "acme-17", "ACME BMC"
	l.see(s)
	e := controllertest.Read[metalv1.Endpoint](t, l.API, "bmc-02fa44000001")
	if e.Spec.MACAddress != "02:fa:44:00:00:01" || e.Spec.IP != here.String() || e.Labels[metalv1.LabelAdopted] != metalv1.LabelAdoptedDHCP {
		t.Errorf("made %+v %v", e.Spec, e.Labels)
	}
	if got := <-l.events.Events; !strings.HasPrefix(got, "Normal Adopted ") || !strings.Contains(got, "ACME") || !strings.Contains(got, `"acme-17"`) || !strings.Contains(got, `"ACME BMC"`) {
		t.Errorf("said %q", got)
	}
	l.Settle(t, &endpoints.Reconciler{Client: l.API, Prefixes: l.Prefixes, Begun: bmcsecret.NewBegun(), Clock: l.API.Clock}, e.Name)
	if bmc := controllertest.Read[metalv1.BMC](t, l.API, e.Name); bmc.Spec.EndpointRef == nil || bmc.Spec.EndpointRef.Name != e.Name {
		t.Errorf("the BMC refers to %+v", bmc.Spec)
	}
	l.ForgetWrites()
	l.see(s)
	if w := l.Writes(""); len(w) > 0 {
		t.Errorf("each renewal writes %v", w)
	}
	l.see(client1("02:fa:44:00:00:01", there))
	if e := controllertest.Read[metalv1.Endpoint](t, l.API, e.Name); e.Spec.IP != there.String() {
		t.Errorf("after its lease moved, the Endpoint is at %s", e.Spec.IP)
	}
	if got := <-l.events.Events; !strings.HasPrefix(got, "Normal Moved ") || !strings.Contains(got, there.String()) || !strings.Contains(got, here.String()) {
		t.Errorf("said %q", got)
	}
}

func TestWhoIsNotAdopted(t *testing.T) {
	machine := &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: "machine"}}
	machine.Status.NetworkInterfaces = []metalv1.NetworkInterface{{Name: "eth0", MACAddress: "D0-43-1E-00-00-02"}}
	inline := &metalv1.BMC{ObjectMeta: metav1.ObjectMeta{Name: "inline"}}
	inline.Spec.Access = &metalv1.InlineEndpoint{IP: there.String()}
	told := &metalv1.BMC{ObjectMeta: metav1.ObjectMeta{Name: "told"}}
	told.Spec.Access = &metalv1.InlineEndpoint{IP: "192.0.2.1"}
	told.Status.MACAddress = "d0:43:1e:00:00:03"
	direct := &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: "direct"}}
	direct.Spec.BMC = &metalv1.BMCAccess{Address: "192.0.2.9"}
	theirs := endpoint(func(e *metalv1.Endpoint) { e.Name, e.Labels, e.Spec.MACAddress = "theirs", nil, "D043.1E00.0004" })
	taken := endpoint(func(e *metalv1.Endpoint) { e.Name, e.Spec.MACAddress = "bmc-d0431e000005", "d0:43:1e:ff:ff:ff" })
	boots := client1(dell, here)
	boots.Machine = true
	for name, s := range map[string]dhcp.Sighting{
		"no BMC by its prefix":             client1("52:54:00:00:00:01", here),
		"of a prefix that is a switch's":   client1("02:fa:45:00:00:01", here),
		"on a network that is not adopted": client1(dell, netip.MustParseAddr("203.0.113.7")),
		"a machine that boots":             boots,
		"the network card of a Server":     client1("d0:43:1e:00:00:02", here),
		"at the address of a BMC":          client1(dell, there),
		"a BMC that told its MAC address":  client1("d0:43:1e:00:00:03", here),
		"at the address of a Server's BMC": client1(dell, netip.MustParseAddr("192.0.2.9")),
		"somebody else's Endpoint":         client1("d0:43:1e:00:00:04", there),
		"a name that is taken":             client1("d0:43:1e:00:00:05", there),
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, machine.DeepCopy(), inline.DeepCopy(), told.DeepCopy(), direct.DeepCopy(), theirs.DeepCopy(), taken.DeepCopy())
			result := l.see(s)
			if w := l.Writes(""); len(w) > 0 || result.RequeueAfter > 0 || l.waiting.len() > 0 {
				t.Errorf("wrote %v, comes again after %s", w, result.RequeueAfter)
			}
		})
	}
}

// Whoever deletes the Endpoint of a BMC that is still there gets it back, for its BMC has no address without it.
func TestAnEndpointComesBack(t *testing.T) {
	l := newLab(t)
	l.see(client1(dell, here))
	orphan := &metalv1.BMC{ObjectMeta: metav1.ObjectMeta{Name: nameOf(dell)}}
	orphan.Spec.EndpointRef = &metalv1.LocalObjectReference{Name: nameOf(dell)}
	l.Add(t, orphan)
	controllertest.ChangeStatus(t, l.API, nameOf(dell), func(b *metalv1.BMC) { b.Status.MACAddress = dell })
	l.Remove(t, controllertest.Read[metalv1.Endpoint](t, l.API, nameOf(dell)))
	l.see(client1(dell, there))
	if e := controllertest.Read[metalv1.Endpoint](t, l.API, nameOf(dell)); e.Spec.IP != there.String() {
		t.Errorf("back at %s", e.Spec.IP)
	}
}

// Who invents MAC addresses has a few Endpoints a minute, and no more of them than there are addresses.
func TestStrangersAreBounded(t *testing.T) {
	l := newLab(t)
	stranger := func(n int) dhcp.Sighting {
		s := client1(fmt.Sprintf("d0:43:1e:00:%02x:%02x", n>>8, n&255), netip.AddrFrom4([4]byte{10, 0, byte(n >> 8), byte(n)}))
		s.Addresses = writesAtOnce + 50
		return s
	}
	waiting := 0
	for n := range 300 {
		if l.see(stranger(n)).RequeueAfter > 0 {
			waiting++
		}
	}
	if n := l.adopted(); n != writesAtOnce || waiting != 300-writesAtOnce {
		t.Errorf("%d are adopted and %d wait, want %d and %d", n, waiting, writesAtOnce, 300-writesAtOnce)
	}
	l.Clock.Step(time.Minute)
	for n := range 300 { // some have their turn, and there is room for less
		l.Step(t, l.Reconciler, nameOf(stranger(n).Client.MAC))
	}
	if n := l.adopted(); n != writesAtOnce+50 || l.waiting.len() != 300-writesAtOnce-60*writesASecond {
		t.Errorf("%d are adopted and %d wait, want %d and %d", n, l.waiting.len(), writesAtOnce+50, 300-writesAtOnce-60*writesASecond)
	}
	for n := range 2 * maxWaiting {
		l.Seen(stranger(1000 + n))
	}
	if l.waiting.len() > maxWaiting {
		t.Errorf("%d wait", l.waiting.len())
	}
}

// A client that renews its lease while it waits is made where it is then, and neither sooner nor later.
func TestAClientKeepsItsTurn(t *testing.T) {
	l := newLab(t)
	for l.writes.Allow(allOf("")) {
	}
	first := l.see(client1(dell, there)).RequeueAfter
	l.Clock.Step(first / 2)
	if again := l.see(client1(dell, here)).RequeueAfter; again != first-first/2 || l.adopted() > 0 {
		t.Errorf("comes again after %s, and after half of that in %s", first, again)
	}
	l.Clock.Step(first - first/2)
	l.Step(t, l.Reconciler, nameOf(dell))
	if e := controllertest.Read[metalv1.Endpoint](t, l.API, nameOf(dell)); e.Spec.IP != here.String() {
		t.Errorf("made at %s", e.Spec.IP)
	}
}

// Somebody deletes an Endpoint of no device, and there is room again.
func TestRoomAgain(t *testing.T) {
	old := endpoint(func(e *metalv1.Endpoint) { e.Name, e.Spec.MACAddress = "bmc-d0431effffff", "d0:43:1e:ff:ff:ff" })
	l := newLab(t, &old)
	s := client1(dell, there)
	s.Addresses = 1
	l.see(s)
	if l.adopted() != 1 || !controllertest.Gone[metalv1.Endpoint](t, l.API, nameOf(dell)) {
		t.Error("more than there are addresses")
	}
	l.Remove(t, &old)
	l.Clock.Step(countEvery)
	l.see(s)
	if controllertest.Gone[metalv1.Endpoint](t, l.API, nameOf(dell)) {
		t.Error("there is room, and it is not adopted")
	}
}

// What the API refuses now is tried again, with what was seen last.
func TestAnAPIThatIsAway(t *testing.T) {
	l := newLab(t)
	away := errors.New("away")
	l.Fail = func(verb string, _ runtime.Object) error {
		if verb == controllertest.Create {
			return away
		}
		return nil
	}
	l.Seen(client1(dell, there))
	request := reconcile.Request{NamespacedName: controllertest.Key(nameOf(dell))}
	if _, err := l.Reconcile(t.Context(), request); !errors.Is(err, away) {
		t.Fatalf("got %v", err)
	}
	l.Seen(client1(dell, here))
	l.Fail = nil
	l.Step(t, l.Reconciler, nameOf(dell))
	if e := controllertest.Read[metalv1.Endpoint](t, l.API, nameOf(dell)); e.Spec.IP != here.String() {
		t.Errorf("made at %s", e.Spec.IP)
	}
}

// A second manager, or a cache that lags, finds the Endpoint there.
func TestAnEndpointThatTheCacheDoesNotShow(t *testing.T) {
	l := newLab(t)
	l.Reconciler.Client = l.Lagging(t, &metalv1.EndpointList{})
	l.see(client1(dell, here))
	l.ForgetWrites()
	if result := l.see(client1(dell, here)); result.RequeueAfter == 0 || len(l.Writes("")) > 0 {
		t.Errorf("wrote %v, comes again after %s", l.Writes(""), result.RequeueAfter)
	}
}

// ofSite is a client as a boot server of a site tells of it.
func ofSite(site, mac string, addrs ...netip.Addr) dhcp.Sighting {
	s := client1(mac, addrs...)
	s.Apart, s.Site = true, site
	return s
}

// What a boot server says of a BMC of another site moves it nowhere: it would be sent the password of that BMC.
func TestSitesHaveTheirOwnEndpoints(t *testing.T) {
	l := newLab(t)
	l.see(ofSite("north", dell, here))
	if e := controllertest.Read[metalv1.Endpoint](t, l.API, nameOf(dell)); e.Spec.IP != here.String() || e.Labels[metalv1.LabelSite] != "north" {
		t.Fatalf("made at %s with %v", e.Spec.IP, e.Labels)
	}
	for name, s := range map[string]dhcp.Sighting{
		"another site": ofSite("south", dell, there), "a boot server without a site": ofSite("", dell, there), "this process": client1(dell, there),
	} {
		if l.see(s); controllertest.Read[metalv1.Endpoint](t, l.API, nameOf(dell)).Spec.IP != here.String() {
			t.Errorf("%s has moved it", name)
		}
	}
	if l.see(ofSite("north", dell, there)); controllertest.Read[metalv1.Endpoint](t, l.API, nameOf(dell)).Spec.IP != there.String() {
		t.Error("its own site has not")
	}
}

// A boot server that invents clients keeps those of others neither waiting nor out.
func TestSitesAreBoundedEach(t *testing.T) {
	l := newLab(t)
	invented := func(n int) dhcp.Sighting {
		s := ofSite("north", fmt.Sprintf("d0:43:1e:01:%02x:%02x", n>>8, n&255), netip.AddrFrom4([4]byte{10, 1, byte(n >> 8), byte(n)}))
		s.Addresses = 1 << 30
		return s
	}
	for n := range writesAtOnce + 1 {
		l.see(invented(n))
	}
	for n := range 2 * maxWaiting {
		l.Seen(invented(1000 + n))
	}
	if n := l.adopted(); n != writesAtOnce || l.waiting.len() != maxWaiting {
		t.Errorf("%d are adopted and %d wait", n, l.waiting.len())
	}
	s := ofSite("south", dell, there)
	s.Addresses = 1
	if l.see(s); l.adopted() != writesAtOnce+1 {
		t.Error("the BMC of another site waits for them")
	}
	if l.see(client1("d0:43:1e:00:00:02", here)); l.adopted() != writesAtOnce+2 {
		t.Error("our own waits for them")
	}
	// One that both sites show waits for each.
	one, other := ofSite("north", "d0:43:1e:00:00:03", here), ofSite("south", "d0:43:1e:00:00:03", there)
	if requestOf(one) == requestOf(other) {
		t.Error("one takes the place of the other")
	}
}
